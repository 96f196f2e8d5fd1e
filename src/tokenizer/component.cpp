#include "tokenizer/component.h"

#include <algorithm>

namespace wattn {

Error unknown_component(JsonRef json, std::string_view stage, std::string_view type, const std::string& known) {
  return unsupported_error(json["type"].where() + ": unknown " + std::string(stage) + " \"" + std::string(type) + "\"; known are " +
                           known);
}

Result<void> allow_only(JsonRef json, std::initializer_list<std::string_view> keys) {
  for (const auto& [key, value] : json.members()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return unsupported_error(value.where() + ": unknown field");
    }
  }
  return {};
}

Result<std::int32_t> read_id(JsonRef json) {
  const Result<std::int64_t> id = json.as_int();
  if (!id.ok()) return id.error();
  if (id.value() < 0 || id.value() > INT32_MAX) return json.mismatch("a token id between 0 and 2^31 - 1");
  return static_cast<std::int32_t>(id.value());
}

}  // namespace wattn
