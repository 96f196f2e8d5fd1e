#include "nn/options.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wattn::nn {
namespace {

constexpr double kLargestWhole = 9007199254740992.0;  // 2^53

std::string number_text(double number) {
  if (std::isfinite(number) && number == std::floor(number) && std::abs(number) < kLargestWhole) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return std::to_string(number);
}

// Edits (Levenshtein) that turn one name into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j + 1] + 1, row[j] + 1}));
    }
  }
  return row[b.size()];
}

// The text of web/core/options.ts.
std::string unknown_option(const std::string& where, const std::string& name, const std::vector<std::string>& known) {
  std::string list, nearest;
  std::size_t least = name.size() / 3 + 1;  // farther names are no suggestion
  for (const std::string& each : known) {
    list.append(list.empty() ? " known options: " : ", ").append(each);
    const std::size_t edits = distance(name, each);
    if (edits >= least) continue;
    least = edits;
    nearest = " did you mean '" + each + "'?";
  }
  return where + ": unknown option '" + name + "';" + nearest + (list.empty() ? " it takes no options" : list);
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
  if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.emplace_back(name);
  for (Option& option : options_) {
    if (option.name != name) continue;
    option.was_read = true;
    return &option;
  }
  return nullptr;
}

bool Options::has(std::string_view name) { return find(name) != nullptr; }

void Options::fail(const std::string& message) {
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
       number_text(value));
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
           number_text(value));
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
    if (!option.was_read) return input_error(unknown_option(where_, option.name, known_));
  }
  return {};
}

}  // namespace wattn::nn
