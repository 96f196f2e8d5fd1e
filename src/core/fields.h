// Fields: typed reads of the members of one JSON object, with one error for all of them. Every configuration goes through it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

// A token id or type id: a whole number from 0 to 2^31 - 1.
Result<std::int32_t> read_id(JsonRef json);

// Reads never fail at once: the first error is kept, later reads return defaults, and the caller checks ok() once before it uses
// the values. Errors name the file, the path, what was expected and what was found.
class Fields {
 public:
  // Any members are allowed: config.json carries many that mean nothing to inference.
  explicit Fields(JsonRef json);
  // A member that is neither "type" nor one of the keys is an UnsupportedError.
  Fields(JsonRef json, std::initializer_list<std::string_view> keys);

  bool ok() const { return error_.code == ErrorCode::kOk; }
  const Error& error() const { return error_; }
  Result<void> result() const { return ok() ? Result<void>() : Result<void>(error_); }
  void fail(Error error);
  // A ModelFormatError: "<path of key>: expected <expected>, found <value>".
  void mismatch(std::string_view key, std::string_view expected) { fail(json_[key].mismatch(expected)); }
  // The same as an UnsupportedError.
  void unsupported(std::string_view key, std::string_view expected);

  JsonRef json() const { return json_; }
  JsonRef operator[](std::string_view key) const { return json_[key]; }
  bool has(std::string_view key) const { return !json_[key].is_null(); }  // absent and null alike mean no

  bool boolean(std::string_view key) { return take(json_[key].as_bool()); }
  bool boolean_or(std::string_view key, bool fallback) { return take(json_[key].as_bool_or(fallback)); }
  std::string_view string(std::string_view key) { return take(json_[key].as_string()); }
  std::string_view string_or(std::string_view key, std::string_view fallback) { return take(json_[key].as_string_or(fallback)); }
  char32_t character(std::string_view key);  // a string of one code point
  // A whole number in [1, most]; the second form returns fallback if the member is absent or null.
  std::int64_t size(std::string_view key, std::int64_t most);
  std::int64_t size_or(std::string_view key, std::int64_t most, std::int64_t fallback) {
    return integer_or(key, fallback, 1, most);
  }
  // A whole number in [least, most]; fallback if it is absent or null.
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t least, std::int64_t most);
  // A number in (0, most]; fallback if it is absent or null.
  double number_or(std::string_view key, double fallback, double most);
  std::int32_t id(std::string_view key) { return id(json_[key]); }
  std::int32_t id(JsonRef value) { return take(read_id(value)); }
  JsonRef array(std::string_view key);  // empty if the member is not an array
  // Calls visit(element) for the elements of an array until something fails. Each failure searches the whole document for its
  // place.
  template <class Visit>
  void each(JsonRef list, Visit visit) {
    for (std::size_t i = 0; list.is_array() && i < list.size() && ok(); ++i) visit(list[i]);
  }

  // One of the table's words: {{"gelu", Activation::kGelu}, ...}. An absent member counts as fallback_word unless that is empty.
  template <class T, std::size_t kRows>
  T choice(std::string_view key, const std::pair<std::string_view, T> (&table)[kRows], std::string_view fallback_word = {}) {
    std::string_view words[kRows];
    for (std::size_t i = 0; i < kRows; ++i) words[i] = table[i].first;
    return table[index_of(key, words, fallback_word)].second;
  }

  // An UnsupportedError unless the member is absent, null or this value.
  void expect(std::string_view key, bool only);
  void expect(std::string_view key, std::int64_t only);
  void expect(std::string_view key, int only) { expect(key, static_cast<std::int64_t>(only)); }
  void expect(std::string_view key, const char* only);
  // An UnsupportedError unless the member is absent, null, or an empty object or array.
  void absent(std::string_view key);

  // The value of a result, or a default one when it is an error.
  template <class T>
  T take(Result<T> result) {
    if (result.ok()) return std::move(result).value();
    fail(result.error());
    return T{};
  }

 private:
  // The place of the member's word; 0, which counts for nothing, if it is none of them.
  std::size_t index_of(std::string_view key, std::span<const std::string_view> words, std::string_view fallback_word);

  JsonRef json_;
  Error error_;
};

}  // namespace wattn
