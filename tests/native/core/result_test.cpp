#include "core/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace wattn {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> value = 7;
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value.value(), 7);
  const Result<int> error = input_error("no");
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, ErrorCode::kInput);
  EXPECT_EQ(error.error().message, "no");
}

TEST(Result, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<std::string>> result = std::make_unique<std::string>("moved");
  const std::unique_ptr<std::string> value = std::move(result).value();
  EXPECT_EQ(*value, "moved");
}

TEST(Result, OfVoidIsOkUntilItHasAnError) {
  Result<void> result;
  EXPECT_TRUE(result.ok());
  result = unsupported_error("what");
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
}

TEST(Result, EveryErrorHasItsCode) {
  EXPECT_EQ(model_format_error("").code, ErrorCode::kModelFormat);
  EXPECT_EQ(unsupported_error("").code, ErrorCode::kUnsupported);
  EXPECT_EQ(input_error("").code, ErrorCode::kInput);
  EXPECT_EQ(out_of_memory_error("").code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(static_cast<int>(ErrorCode::kOk), 0);  // the numbers cross to JS
  EXPECT_EQ(static_cast<int>(ErrorCode::kModelFormat), 1);
}

}  // namespace
}  // namespace wattn
