// TextCursor: a place in a text, and the quantifiers that regular expressions and grammars share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "constraints/byte_regex.h"

namespace wattn {

// The reader decides what an error says.
class TextCursor {
 protected:
  static constexpr std::int32_t kMostRepeats = 100'000;
  static constexpr int kMostDepth = 200;

  explicit TextCursor(std::string_view text) : text_(text) {}
  ~TextCursor() = default;

  // Stops reading with an error, unless it has stopped already. what: is expected here and missing.
  virtual void expected(std::string_view what) = 0;
  virtual void too_many_repeats() = 0;
  // Skips spaces inside a quantifier, if the syntax allows them.
  virtual void skip_spaces() {}

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view sign) {
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  struct Repeats {
    std::int32_t min, max;
  };
  // "*", "+", "?", "{2}", "{2,}" or "{2,3}"; empty: there is no quantifier here.
  std::optional<Repeats> repeats() {
    constexpr std::int32_t kUnlimited = Regexes::kNoLimit;
    if (take("*")) return Repeats{0, kUnlimited};
    if (take("+")) return Repeats{1, kUnlimited};
    if (take("?")) return Repeats{0, 1};
    if (!take("{")) return {};
    skip_spaces();
    Repeats out{.min = number(), .max = 0};
    skip_spaces();
    out.max = out.min;
    if (take(",")) {
      skip_spaces();
      out.max = peek() == '}' ? kUnlimited : number();
      skip_spaces();
    }
    if (!take("}")) expected("'}'");
    if (out.max != kUnlimited && out.max < out.min) expected("a range in ascending order");
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;

 private:
  std::int32_t number() {
    std::int32_t out = 0;
    if (peek() < '0' || peek() > '9') expected("a number");
    while (peek() >= '0' && peek() <= '9' && out <= kMostRepeats) out = 10 * out + (text_[at_++] - '0');
    if (out > kMostRepeats) too_many_repeats();
    return out;
  }
};

}  // namespace wattn
