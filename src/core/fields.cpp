// build: -Oz
#include "core/fields.h"

#include <algorithm>

#include "core/utf.h"

namespace wattn {
namespace {

std::string whole_number(std::int64_t least, std::int64_t most) {
  return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

Result<std::int32_t> read_id(JsonRef json) {
  const Result<std::int64_t> id = json.as_int();
  if (!id.ok()) return id.error();
  if (id.value() < 0 || id.value() > INT32_MAX) return json.mismatch("a number between 0 and 2^31 - 1");
  return static_cast<std::int32_t>(id.value());
}

Fields::Fields(JsonRef json) : json_(json) {
  if (!json.is_object()) fail(json.mismatch("an object"));
}

Fields::Fields(JsonRef json, std::initializer_list<std::string_view> keys) : Fields(json) {
  for (const auto& [key, value] : json.members()) {
    if (key == "type" || std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    fail(unsupported_error(value.where() + ": unknown field"));
    return;
  }
}

void Fields::fail(Error error) {
  if (ok()) error_ = std::move(error);
}

void Fields::unsupported(std::string_view key, std::string_view expected) {
  if (ok()) fail(unsupported_error(json_[key].mismatch(expected).message));
}

char32_t Fields::character(std::string_view key) {
  const std::u32string text = to_utf32(string(key));
  if (ok() && text.size() != 1) mismatch(key, "one character");
  return text.size() == 1 ? text[0] : U' ';
}

std::int64_t Fields::size(std::string_view key, std::int64_t most) {
  const std::int64_t size = take(json_[key].as_int());
  if (ok() && (size < 1 || size > most)) mismatch(key, whole_number(1, most));
  return size;
}

std::int64_t Fields::integer_or(std::string_view key, std::int64_t fallback, std::int64_t least, std::int64_t most) {
  const std::int64_t value = take(json_[key].as_int_or(fallback));
  if (ok() && has(key) && (value < least || value > most)) mismatch(key, whole_number(least, most));
  return value;
}

double Fields::number_or(std::string_view key, double fallback, double most) {
  const double number = take(json_[key].as_number_or(fallback));
  if (ok() && has(key) && !(number > 0 && number <= most)) mismatch(key, "a number above 0, at most " + json_text(most));
  return number;
}

JsonRef Fields::array(std::string_view key) {
  const JsonRef value = json_[key];
  if (value.is_array()) return value;
  fail(value.mismatch("an array"));
  return {};
}

std::size_t Fields::index_of(std::string_view key, std::span<const std::string_view> words, std::string_view fallback_word) {
  const std::string_view word = fallback_word.empty() ? string(key) : string_or(key, fallback_word);
  if (!ok()) return 0;
  std::string known;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return i;
    known += (known.empty() ? "\"" : ", \"") + std::string(words[i]) + "\"";
  }
  unsupported(key, "one of " + known);
  return 0;
}

void Fields::expect(std::string_view key, bool only) {
  if (take(json_[key].as_bool_or(only)) != only) unsupported(key, only ? "true" : "false");
}

void Fields::expect(std::string_view key, std::int64_t only) {
  const auto number = static_cast<double>(only);
  if (take(json_[key].as_number_or(number)) != number) unsupported(key, std::to_string(only));
}

void Fields::expect(std::string_view key, const char* only) {
  if (take(json_[key].as_string_or(only)) != only) unsupported(key, "\"" + std::string(only) + "\"");
}

void Fields::absent(std::string_view key) {
  const JsonRef value = json_[key];
  if (value.is_null() || (value.size() == 0 && (value.is_object() || value.is_array()))) return;
  unsupported(key, "nothing (not supported)");
}

}  // namespace wattn
