// build: -Oz
#include "tokenizer/component.h"

namespace wattn {

Result<std::string_view> read_component_type(JsonRef json, int depth, std::string_view stage) {
  if (!json.is_object()) return json.mismatch("a " + std::string(stage) + " (an object)");
  if (depth > kDeepestSequence) return model_format_error(json.where() + ": components nested too deeply");
  return json["type"].as_string();
}

Error unknown_component(JsonRef json, std::string_view stage, const std::string& known) {
  return unsupported_error(json["type"].where() + ": unknown " + std::string(stage) + " " + json["type"].describe() +
                           "; expected one of " + known);
}

}  // namespace wattn
