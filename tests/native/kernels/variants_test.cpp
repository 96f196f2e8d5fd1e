// Which variants a program has. The programs of the wasm build differ in the kernels they are linked to, and are named after them.
#include <gtest/gtest.h>

#include <string>

#include "kernels/kernels.h"

namespace wattn {
namespace {

TEST(KernelVariants, AreThoseOfTheProgram) {
  const std::string program = testing::internal::GetArgvs().front();
  const std::string fast = fast_kernels().name;
  if (program.find("wattn_test_scalar_") != program.npos) {
    EXPECT_EQ(fast, "scalar");
    EXPECT_EQ(kernel_variants().size(), 1);
  } else if (program.find("wattn_test_relaxed_") != program.npos) {
    EXPECT_TRUE(fast.starts_with("relaxed")) << fast;
  } else {
    EXPECT_FALSE(fast.starts_with("relaxed")) << fast;
    EXPECT_EQ(kernel_variants().size(), 2);
  }
}

}  // namespace
}  // namespace wattn
