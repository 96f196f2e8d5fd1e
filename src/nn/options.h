// Options: named scalars of a call from JS: numbers (booleans are 1 and 0), lists of numbers, words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn::nn {

class Options {
 public:
  Options() = default;
  explicit Options(std::string where) : where_(std::move(where)) {}  // where: "nn.Linear", for messages

  Options& set(std::string name, double number) { return set(std::move(name), std::vector<double>{number}); }
  Options& set(std::string name, std::vector<double> numbers);
  Options& set_word(std::string name, std::string word);

  // Reads that fail keep the first error and return the fallback, so that a caller reads everything and asks finish() once.
  std::int64_t whole(std::string_view name, std::int64_t fallback, std::int64_t least = 0);
  std::int64_t needed_whole(std::string_view name, std::int64_t least = 1);
  double number(std::string_view name, double fallback);
  bool yes(std::string_view name, bool fallback) { return number(name, fallback ? 1 : 0) != 0; }
  std::vector<std::int64_t> wholes(std::string_view name, std::int64_t least = 0);  // empty: not given
  // The index of the word.
  int choice(std::string_view name, const std::vector<std::string_view>& words, int fallback = 0);
  // The value of the word.
  template <class T, std::size_t kRows>
  T choice(std::string_view name, const std::pair<std::string_view, T> (&table)[kRows], T fallback) {
    std::vector<std::string_view> words;
    for (const auto& [word, value] : table) words.push_back(word);
    const int index = choice(name, words, -1);
    return index < 0 ? fallback : table[index].second;
  }

  bool has(std::string_view name);
  void fail(const std::string& message);  // "where: message"
  // The first error. An option that was never read is an error, and its message lists the options that were.
  Result<void> finish() const;

 private:
  struct Option {
    std::string name;
    std::vector<double> numbers;
    std::string word;
    bool is_word = false;
    bool was_read = false;
  };
  Option* find(std::string_view name);

  std::string where_ = "nn";
  std::vector<Option> options_;
  std::vector<std::string> known_;  // names that were asked for, in that order
  std::string error_;
};

}  // namespace wattn::nn
