// build: -Oz
#include "core/decimal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wattn {
namespace {

// A natural number in words of 32 bits, the lowest first, without zeros at the top.
class Natural {
 public:
  explicit Natural(std::uint32_t value) : words_(value > 0 ? 1 : 0, value) {}

  // this = this * factor + summand
  void multiply_add(std::uint32_t factor, std::uint32_t summand) {
    std::uint64_t carry = summand;
    for (std::uint32_t& word : words_) {
      carry += std::uint64_t{word} * factor;
      word = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry > 0) words_.push_back(static_cast<std::uint32_t>(carry));
  }
  void shift_left(int bits) {
    for (; bits >= 32; bits -= 32) words_.insert(words_.begin(), 0);
    multiply_add(std::uint32_t{1} << bits, 0);
  }
  // Requires other <= *this.
  void subtract(const Natural& other) {
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      borrow += static_cast<std::int64_t>(words_[i]) - (i < other.words_.size() ? other.words_[i] : 0);
      words_[i] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }
  bool operator<(const Natural& other) const {
    if (words_.size() != other.words_.size()) return words_.size() < other.words_.size();
    return std::lexicographical_compare(words_.rbegin(), words_.rend(), other.words_.rbegin(), other.words_.rend());
  }
  int bits() const { return words_.empty() ? 0 : 32 * static_cast<int>(words_.size()) - std::countl_zero(words_.back()); }

 private:
  std::vector<std::uint32_t> words_;
};

// (quotient + a part below 1 that is not 0 if inexact) * 2^exponent, rounded. The quotient has at least 63 bits.
double rounded(std::uint64_t quotient, bool inexact, int exponent) {
  const int drop = std::max(static_cast<int>(std::bit_width(quotient)) - 53, -1074 - exponent);  // bits below those of the double
  if (drop > 64) return 0;
  const std::uint64_t kept = drop == 64 ? 0 : quotient >> drop, half = std::uint64_t{1} << (drop - 1);
  const std::uint64_t rest = quotient & (2 * half - 1);
  const bool up = rest > half || (rest == half && (inexact || kept % 2 == 1));
  return std::ldexp(static_cast<double>(kept + up), exponent + drop);
}

// above / below. Both are natural numbers; below is not 0.
double ratio(Natural above, Natural below) {
  if (above.bits() == 0) return 0;
  const int shift = 63 - above.bits() + below.bits();  // the quotient gets 63 or 64 bits
  above.shift_left(std::max(shift, 0));
  below.shift_left(std::max(-shift, 0) + 63);
  std::uint64_t quotient = 0;
  for (int bit = 0; bit < 64; ++bit) {
    quotient <<= 1;
    if (!(above < below)) {
      above.subtract(below);
      ++quotient;
    }
    above.shift_left(1);
  }
  return rounded(quotient, above.bits() > 0, -shift);
}

// digits * 10^exponent
double from_digits(const std::string& digits, int exponent) {
  Natural above(0), below(1);
  for (const char c : digits) above.multiply_add(10, static_cast<std::uint32_t>(c - '0'));
  for (int i = 0; i < exponent; ++i) above.multiply_add(10, 0);
  for (int i = exponent; i < 0; ++i) below.multiply_add(10, 0);
  return ratio(std::move(above), std::move(below));
}

__extension__ using Wide = unsigned __int128;

// digits * 10^exponent, where both numbers of the ratio fit into a word.
std::optional<double> from_few_digits(const std::string& digits, int exponent) {
  constexpr int kMostDigits = 19;  // 10^19 < 2^64
  if (digits.size() > kMostDigits || exponent > 0 || exponent < -kMostDigits) return std::nullopt;
  std::uint64_t above = 0, below = 1;
  for (const char c : digits) above = 10 * above + static_cast<std::uint64_t>(c - '0');
  for (int i = exponent; i < 0; ++i) below *= 10;
  // Both are exact, as every power of ten up to 10^22 is.
  if (above < std::uint64_t{1} << 53) return static_cast<double>(above) / static_cast<double>(below);
  const int shift = 63 + std::countl_zero(above) - std::countl_zero(below);
  const Wide shifted = Wide{above} << shift;
  const auto quotient = static_cast<std::uint64_t>(shifted / below);
  return rounded(quotient, Wide{quotient} * below != shifted, -shift);
}

}  // namespace

double nearest_double(std::string_view text) {
  constexpr int kMostDigits = 800;  // no tie between two doubles has more than 767; what follows them only tells a tie from none
  constexpr int kFar = 100'000;     // beyond every exponent that matters
  const bool negative = text.starts_with('-');
  std::string digits;
  int exponent = 0;
  bool after_point = false, tail = false;
  std::size_t at = negative ? 1 : 0;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    const char c = text[at];
    if (c == '.') {
      after_point = true;
      continue;
    }
    const bool fits = digits.size() < kMostDigits;
    if (fits && !(digits.empty() && c == '0')) digits += c;
    if (!fits && c != '0') tail = true;
    exponent += (fits ? 0 : 1) - (after_point ? 1 : 0);
  }
  if (at < text.size()) {
    const bool down = text[++at] == '-';
    at += text[at] == '-' || text[at] == '+';
    int power = 0;
    for (; at < text.size(); ++at) power = std::min(10 * power + (text[at] - '0'), kFar);
    exponent += down ? -power : power;
  }
  if (tail) {
    digits += '1';
    --exponent;
  }
  const int size = digits.empty() ? 0 : static_cast<int>(digits.size()) + exponent;  // the value is below 10^size
  double out = 0;
  if (size > 310) {
    out = std::numeric_limits<double>::infinity();
  } else if (!digits.empty() && size > -330) {
    const auto few = from_few_digits(digits, exponent);
    out = few ? *few : from_digits(digits, exponent);
  }
  return negative ? -out : out;
}

}  // namespace wattn
