#include "plan/print.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "native/support/plans.h"

namespace wattn {
namespace {

// `WATTN_WRITE_PLANS=1 build/native-debug/tests/wattn_test_plan` writes the texts.
TEST(PlanText, IsThatBesideEveryGolden) {
  const bool writes = std::getenv("WATTN_WRITE_PLANS") != nullptr;
  for (const auto& [name, config] : test::golden_stacks()) {
    const auto transformer = test::empty_transformer(config);
    ASSERT_TRUE(transformer.ok()) << name << ": " << transformer.error().message;
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', '-');
    const std::string path = test::golden("plans/" + file + ".txt"), text = to_text(transformer.value().plan());
    if (writes) std::ofstream(path) << text;
    EXPECT_EQ(text, test::read_file(path)) << path;
  }
}

// The table of HACKING.md's promise: BERT's layer reads beside the paper.
TEST(PlanText, BertsLayerHasAtMostSixteenLines) {
  const std::string text = test::read_file(test::golden("plans/bert-tiny-model.txt"));
  const std::size_t begin = text.find("layers 0");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_LE(std::count(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), '\n') - 1, 16);
}

}  // namespace
}  // namespace wattn
