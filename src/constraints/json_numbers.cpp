#include "constraints/json_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/json.h"

namespace wattn {
namespace {

constexpr std::int32_t kMostDigits = 21, kMostDecimals = 25;
constexpr std::int32_t kMostWithFraction = 15;  // digits before the point of a number that has a fraction

// The digits of a number above 0, and where the point is: 0.digits * 10^point.
struct Decimal {
  std::string digits;
  int point = 0;
};

Decimal decimal_of(double number) {
  const std::string text = json_text(std::abs(number));
  Decimal out;
  int exponent = 0;
  bool after_point = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 'e' || text[i] == 'E') {
      const bool minus = text[i + 1] == '-';
      for (std::size_t j = i + 1; j < text.size(); ++j)
        if (text[j] >= '0' && text[j] <= '9') exponent = 10 * exponent + (text[j] - '0');
      if (minus) exponent = -exponent;
      break;
    }
    if (text[i] == '.')
      after_point = true;
    else {
      out.digits += text[i];
      if (!after_point) ++out.point;
    }
  }
  out.point += exponent;
  const std::size_t zeros = std::min(out.digits.find_first_not_of('0'), out.digits.size());
  out.digits.erase(0, zeros);
  out.point -= static_cast<int>(zeros);
  while (!out.digits.empty() && out.digits.back() == '0') out.digits.pop_back();
  if (out.digits.empty()) out.point = 0;
  return out;
}

class Numbers {
 public:
  explicit Numbers(Regexes& regexes) : r(regexes) {}

  RegexId digit(char from, char to) {
    return from > to ? Regexes::kNothing : r.range(static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to));
  }
  RegexId digits(std::int32_t min, std::int32_t max) { return r.repeat(digit('0', '9'), min, max); }
  RegexId decimals() { return r.concat(digits(0, kMostDecimals - 1), digit('1', '9')); }
  RegexId fraction() { return r.concat(r.text("."), decimals()); }
  RegexId whole() { return r.concat(digit('1', '9'), digits(0, kMostDigits - 1)); }
  RegexId maybe(RegexId each) { return r.either({each, Regexes::kEmpty}); }
  // Below 10^-6, above 0: 1e-7, 1.5e-12, down to 10^-307.
  RegexId small() {
    const RegexId exponent = r.either({digit('7', '9'), r.concat(digit('1', '9'), digits(1, 1)),
                                       r.concat(digit('1', '2'), digits(2, 2)), r.concat(r.text("30"), digit('0', '7'))});
    const RegexId more = r.concat({r.text("."), digits(0, 16), digit('1', '9')});
    return r.concat({digit('1', '9'), maybe(more), r.text("e-"), exponent});
  }
  // Numbers of at least 10^-6 in plain digits.
  RegexId plain() {
    const RegexId short_whole = r.concat(digit('1', '9'), digits(0, kMostWithFraction - 1));
    return r.either({whole(), r.concat(short_whole, fraction()),
                     r.concat(r.text("0."), r.concat(r.repeat(r.text("0"), 0, 5), r.concat(digit('1', '9'), maybe(decimals()))))});
  }
  RegexId positive() { return r.either({plain(), small()}); }
  RegexId signed_all(RegexId positives) { return r.either({r.text("0"), positives, r.concat(r.text("-"), positives)}); }

  // Digits of the same length that are larger, or those digits and then rest.
  RegexId from_digits(std::string_view bound, RegexId rest, RegexId any_rest) {
    if (bound.empty()) return rest;
    const auto left = static_cast<std::int32_t>(bound.size()) - 1;
    const RegexId larger = r.concat({digit(static_cast<char>(bound[0] + 1), '9'), digits(left, left), any_rest});
    return r.either({larger, r.concat(r.text(bound.substr(0, 1)), from_digits(bound.substr(1), rest, any_rest))});
  }
  // Digits after the point of at least those.
  RegexId from_fraction(std::string_view bound) {
    if (bound.empty()) return digits(0, kMostDecimals);
    return r.either({r.concat(digit(static_cast<char>(bound[0] + 1), '9'), digits(0, kMostDecimals)),
                     r.concat(r.text(bound.substr(0, 1)), from_fraction(bound.substr(1)))});
  }
  // Positive numbers of at least the bound, which is positive.
  RegexId at_least(double bound) {
    const Decimal decimal = decimal_of(bound);
    const int point = decimal.point;
    std::string before = point <= 0 ? "0" : decimal.digits.substr(0, static_cast<std::size_t>(point));
    if (point > 0) before.resize(static_cast<std::size_t>(point), '0');
    std::string after = point <= 0 ? std::string(static_cast<std::size_t>(-point), '0') + decimal.digits
                                   : decimal.digits.substr(std::min(static_cast<std::size_t>(point), decimal.digits.size()));
    const RegexId any_after = maybe(r.concat(r.text("."), digits(1, kMostDecimals)));
    const RegexId rest = after.empty() ? any_after : r.concat(r.text("."), from_fraction(after));
    const auto length = static_cast<std::int32_t>(before.size());
    const RegexId longer = r.concat({digit('1', '9'), digits(length, kMostDigits), any_after});
    return r.both({plain(), r.either({longer, from_digits(before, rest, any_after)})});
  }
  // Positive numbers of at most the bound, which is positive.
  RegexId at_most(double bound) {
    const RegexId above = at_least(bound);
    return r.both({positive(), r.either({r.no(above), r.text(number_text(bound))})});
  }
  RegexId minus(RegexId positives) { return r.concat(r.text("-"), positives); }

  Regexes& r;
};

}  // namespace

bool is_plain_number(double number) { return number == 0 || (std::abs(number) < 1e21 && std::abs(number) >= 1e-6); }

std::string number_text(double number) {
  if (number == 0) return "0";
  const Decimal decimal = decimal_of(number);
  std::string out = number < 0 ? "-" : "";
  const auto count = static_cast<int>(decimal.digits.size());
  if (decimal.point > kMostDigits || decimal.point < -5) {
    out += decimal.digits[0];
    if (count > 1) out += "." + decimal.digits.substr(1);
    return out + (decimal.point > 0 ? "e+" : "e-") + std::to_string(std::abs(decimal.point - 1));
  }
  if (decimal.point <= 0) return out + "0." + std::string(static_cast<std::size_t>(-decimal.point), '0') + decimal.digits;
  if (decimal.point >= count) return out + decimal.digits + std::string(static_cast<std::size_t>(decimal.point - count), '0');
  const auto point = static_cast<std::size_t>(decimal.point);
  return out + decimal.digits.substr(0, point) + "." + decimal.digits.substr(point);
}

RegexId any_number(Regexes& regexes) {
  Numbers n(regexes);
  return n.signed_all(n.positive());
}

RegexId any_integer(Regexes& regexes) {
  Numbers n(regexes);
  return n.signed_all(n.whole());
}

RegexId numbers_from(Regexes& regexes, double bound, bool exclusive) {
  Numbers n(regexes);
  const RegexId zero = regexes.text("0");
  // Beside 0, the next double's text: a longer one could be read as the bound itself.
  if (exclusive && bound != 0) bound = std::nextafter(bound, std::numeric_limits<double>::infinity());
  if (bound == 0) return exclusive ? n.positive() : regexes.either({zero, n.positive()});
  if (bound > 0) return n.at_least(bound);
  return regexes.either({zero, n.positive(), n.minus(n.at_most(-bound))});
}

RegexId numbers_to(Regexes& regexes, double bound, bool exclusive) {
  Numbers n(regexes);
  const RegexId zero = regexes.text("0");
  if (exclusive && bound != 0) bound = std::nextafter(bound, -std::numeric_limits<double>::infinity());
  if (bound == 0) return exclusive ? n.minus(n.positive()) : regexes.either({zero, n.minus(n.positive())});
  if (bound < 0) return n.minus(n.at_least(-bound));
  return regexes.either({zero, n.minus(n.positive()), n.at_most(bound)});
}

RegexId multiples_of(Regexes& regexes, double divisor) {
  constexpr std::int32_t kMost = 1'000'000, kMostDigitsOfAll = 15;
  const Decimal decimal = decimal_of(divisor);
  const int decimals = std::max(0, static_cast<int>(decimal.digits.size()) - decimal.point);
  std::string digits = decimal.digits;
  if (decimal.point > static_cast<int>(digits.size())) digits.resize(static_cast<std::size_t>(std::min(decimal.point, 9)), '0');
  if (decimals > 9 || digits.size() > 7 || decimal.point > 7) return Regexes::kNothing;
  std::int32_t value = 0;
  for (const char digit : digits) value = 10 * value + (digit - '0');
  if (value > kMost) return Regexes::kNothing;
  Numbers n(regexes);
  // More digits would be rounded when they are read.
  const RegexId few =
      regexes.either({n.digits(1, kMostDigitsOfAll),
                      regexes.concat({n.digits(1, kMostDigitsOfAll - decimals), regexes.text("."), n.digits(1, kMostDecimals)})});
  const RegexId own = regexes.both({n.signed_all(n.plain()), regexes.concat(n.maybe(regexes.text("-")), few)});
  return regexes.both({own, regexes.concat(n.maybe(regexes.text("-")), regexes.multiple(value, decimals))});
}

}  // namespace wattn
