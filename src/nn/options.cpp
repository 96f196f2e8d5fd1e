#include "nn/options.h"

#include <algorithm>
#include <cmath>

namespace wattn::nn {
namespace {

constexpr double kLargestWhole = 9007199254740992.0;  // 2^53

std::string text_of(double number) {
  if (std::isfinite(number) && number == std::floor(number) && std::abs(number) < kLargestWhole) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return std::to_string(number);
}

}  // namespace

Options& Options::set(std::string name, std::vector<double> numbers) {
  options_.push_back({.name = std::move(name), .numbers = std::move(numbers), .word = {}});
  return *this;
}

Options& Options::set_word(std::string name, std::string word) {
  options_.push_back({.name = std::move(name), .numbers = {}, .word = std::move(word), .is_word = true});
  return *this;
}

Options::Option* Options::find(std::string_view name) {
  for (Option& option : options_) {
    if (option.name != name) continue;
    option.was_read = true;
    return &option;
  }
  return nullptr;
}

bool Options::has(std::string_view name) const {
  return std::any_of(options_.begin(), options_.end(), [&](const Option& option) { return option.name == name; });
}

void Options::fail(std::string message) {
  if (error_.empty()) error_ = where_ + ": " + message;
}

double Options::number(std::string_view name, double fallback) {
  const Option* option = find(name);
  if (!option) return fallback;
  if (!option->is_word && option->numbers.size() == 1) return option->numbers[0];
  fail("option '" + std::string(name) + "': expected a number, found " +
       (option->is_word ? "'" + option->word + "'" : std::to_string(option->numbers.size()) + " numbers"));
  return fallback;
}

std::int64_t Options::whole(std::string_view name, std::int64_t fallback, std::int64_t least) {
  if (!has(name)) return fallback;
  const double value = number(name, static_cast<double>(fallback));
  if (value == std::floor(value) && value >= static_cast<double>(least) && value < 2147483648.0)
    return static_cast<std::int64_t>(value);
  fail("option '" + std::string(name) + "': expected a whole number from " + std::to_string(least) + " on, found " +
       text_of(value));
  return fallback;
}

std::int64_t Options::needed_whole(std::string_view name, std::int64_t least) {
  if (!has(name))
    fail("option '" + std::string(name) + "' is missing: expected a whole number from " + std::to_string(least) + " on");
  return whole(name, least, least);
}

std::vector<std::int64_t> Options::wholes(std::string_view name, std::int64_t least) {
  const Option* option = find(name);
  if (!option) return {};
  if (option->is_word) fail("option '" + std::string(name) + "': expected whole numbers, found '" + option->word + "'");
  std::vector<std::int64_t> out;
  for (const double value : option->numbers) {
    if (!(value == std::floor(value) && value >= static_cast<double>(least) && value < 2147483648.0)) {
      fail("option '" + std::string(name) + "': expected whole numbers from " + std::to_string(least) + " on, found " +
           text_of(value));
      return {};
    }
    out.push_back(static_cast<std::int64_t>(value));
  }
  return out;
}

int Options::choice(std::string_view name, const std::vector<std::string_view>& words, int fallback) {
  const Option* option = find(name);
  if (!option) return fallback;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (option->is_word && option->word == words[i]) return static_cast<int>(i);
  }
  std::string expected;
  for (const std::string_view word : words) expected.append(expected.empty() ? "'" : ", '").append(word).append("'");
  fail("option '" + std::string(name) + "': expected one of " + expected + ", found " +
       (option->is_word ? "'" + option->word + "'" : "a number"));
  return fallback;
}

Result<void> Options::finish() const {
  if (!error_.empty()) return input_error(error_);
  for (const Option& option : options_) {
    if (!option.was_read) return input_error(where_ + ": unknown option '" + option.name + "'");
  }
  return {};
}

}  // namespace wattn::nn
