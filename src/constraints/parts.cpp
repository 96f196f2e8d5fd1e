#include "constraints/parts.h"

#include <utility>
#include <vector>

#include "constraints/pattern.h"
#include "core/json.h"

namespace wattn {
namespace {

Result<ExprId> expression(Grammar& grammar, JsonRef part, const JsonSchemaOptions& options) {
  if (part.is_string()) return grammar.text(part.as_string().value());
  if (const JsonRef schema = part["json"]; part.is_object() && !schema.is_null()) return add_json_schema(grammar, schema, options);
  if (const JsonRef regex = part["regex"]; regex.is_string()) {
    const auto read = read_pattern(grammar.regexes(), regex.as_string().value(), true, Writing::kPlain);
    if (!read.ok()) return read.error();
    return grammar.regex(read.value());
  }
  if (const JsonRef each = part["many"]; !each.is_null()) {
    const auto own = expression(grammar, each, options);
    if (!own.ok()) return own.error();
    return grammar.repeat(own.value(), 1, Grammar::kNoLimit);
  }
  const JsonRef any = part["any"];
  const JsonRef list = any.is_array() ? any : part;
  if (!list.is_array()) return input_error("parts: expected a part, found " + part.describe());
  std::vector<ExprId> all;
  all.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto own = expression(grammar, list[i], options);
    if (!own.ok()) return own.error();
    all.push_back(own.value());
  }
  if (any.is_array()) return grammar.either(std::move(all));
  ExprId out = grammar.regex(Regexes::kEmpty);
  for (std::size_t i = all.size(); i-- > 0;) out = grammar.sequence(all[i], out);
  return out;
}

}  // namespace

Result<void> read_parts(Grammar& grammar, std::string_view parts, const JsonSchemaOptions& options) {
  const auto json = Json::parse(parts, "parts");
  if (!json.ok()) return input_error(json.error().message);
  const auto root = expression(grammar, json.value().root(), options);
  if (!root.ok()) return root.error();
  return grammar.finish(root.value(), {});
}

}  // namespace wattn
