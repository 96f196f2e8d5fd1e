// Options: the scalars of a call by their names, as JS has them: numbers (also yes and no, as 1 and 0), lists of numbers, words.
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

  // Each says what it read; reads that fail keep the first error and give the fallback, so that a maker reads all it wants
  // and asks once, at the end, what went wrong.
  std::int64_t whole(std::string_view name, std::int64_t fallback, std::int64_t least = 0);
  std::int64_t needed_whole(std::string_view name, std::int64_t least = 1);
  double number(std::string_view name, double fallback);
  bool yes(std::string_view name, bool fallback) { return number(name, fallback ? 1 : 0) != 0; }
  std::vector<std::int64_t> wholes(std::string_view name, std::int64_t least = 0);  // empty: not given
  // One of the words, by its place; the fallback's place when not given.
  int choice(std::string_view name, const std::vector<std::string_view>& words, int fallback = 0);

  bool has(std::string_view name);
  void fail(const std::string& message);  // "where: message"
  // The first error. An option that nobody asked for is one: its message lists those that were asked for.
  Result<void> finish() const;
  const std::string& where() const { return where_; }

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
