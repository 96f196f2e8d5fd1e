#include "tokenizer/component.h"

#include <algorithm>

#include "core/utf.h"

namespace wattn {

Result<std::string_view> read_component_type(JsonRef json, int depth, std::string_view stage) {
  if (!json.is_object()) return json.mismatch("a " + std::string(stage) + " (an object)");
  if (depth > kDeepestSequence) return model_format_error(json.where() + ": components nested too deeply");
  return json["type"].as_string();
}

Error unknown_component(JsonRef json, std::string_view stage, const std::string& known) {
  return unsupported_error(json["type"].where() + ": unknown " + std::string(stage) + " " + json["type"].describe() +
                           "; known are " + known);
}

Fields::Fields(JsonRef json, std::initializer_list<std::string_view> keys) : json_(json) {
  if (!json.is_object()) fail(json.mismatch("an object"));
  for (const auto& [key, value] : json.members()) {
    if (key != "type" && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail(unsupported_error(value.where() + ": unknown field"));
    }
  }
}

void Fields::fail(Error error) {
  if (ok()) error_ = std::move(error);
}

char32_t Fields::character(std::string_view key) {
  const std::u32string text = to_utf32(string(key));
  if (ok() && text.size() != 1) fail(json_[key].mismatch("one character"));
  return text.size() == 1 ? text[0] : U' ';
}

std::int32_t Fields::id(JsonRef value) { return take(read_id(value)); }

JsonRef Fields::array(std::string_view key) {
  const JsonRef value = json_[key];
  if (value.is_array()) return value;
  fail(value.mismatch("an array"));
  return {};
}

Result<std::int32_t> read_id(JsonRef json) {
  const Result<std::int64_t> id = json.as_int();
  if (!id.ok()) return id.error();
  if (id.value() < 0 || id.value() > INT32_MAX) return json.mismatch("a number between 0 and 2^31 - 1");
  return static_cast<std::int32_t>(id.value());
}

}  // namespace wattn
