// inspect() of every architecture counts exactly the parameters that its checkpoint holds.
#include "tasks/inspect.h"

#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "native/support/models.h"

namespace wattn {
namespace {

using test::golden;
using test::load_model;
using test::read_file;

std::int64_t parameters_in(const std::string& path) {
  const std::string bytes = read_file(path);
  const std::uint64_t length = safetensors_header_bytes(std::string_view(bytes).substr(0, 8), bytes.size(), path).value();
  const auto tensors = parse_safetensors_header(std::string_view(bytes).substr(8, length), bytes.size(), path);
  std::int64_t count = 0;
  for (const TensorInfo& tensor : tensors.value()) count += num_elements(tensor.shape).value();
  return count;
}

TEST(Inspect, CountsTheParametersOfTheCheckpoint) {
  const auto cases = Json::parse(read_file(golden("architectures/cases.json")), "cases.json");
  for (std::size_t i = 0; i < cases.value().root().size(); ++i) {
    const std::string folder = golden("architectures/") + std::string(cases.value().root()[i].as_string().value());
    SCOPED_TRACE(folder);
    const std::vector<NamedFile> files = {{"config.json", read_file(folder + "/config.json")},
                                          {"tokenizer.json", read_file(golden("bert-tiny/model/tokenizer.json"))}};
    const auto model = load_model(files, folder);
    ASSERT_TRUE(model.ok()) << model.error().message;
    std::int64_t parameters = 0;
    for (const SummaryRow& row : inspect(*model.value(), 8)) parameters += row.parameters;
    EXPECT_EQ(parameters, parameters_in(folder + "/model.safetensors"));
  }
}

}  // namespace
}  // namespace wattn
