// The keywords of numbers, strings, arrays and objects.
#include <algorithm>
#include <cmath>
#include <utility>

#include "constraints/code_points.h"
#include "constraints/formats.h"
#include "constraints/json_numbers.h"
#include "constraints/pattern.h"
#include "constraints/schema_reader.h"

namespace wattn {

void SchemaReader::read_numbers(const std::string& pointer, JsonRef schema, Form& form) {
  using Bound = RegexId (*)(Regexes&, double, bool);
  const struct {
    std::string_view keyword;
    Bound bound;
    bool exclusive;
  } kBounds[] = {{"minimum", numbers_from, false},
                 {"exclusiveMinimum", numbers_from, true},
                 {"maximum", numbers_to, false},
                 {"exclusiveMaximum", numbers_to, true}};
  for (const auto& [keyword, bound, exclusive] : kBounds) {
    const JsonRef value = schema[keyword];
    if (!value.exists()) continue;
    if (!value.is_number()) {
      wrong(pointer, keyword, "a number", value);
      return;
    }
    if (form.number == Regexes::kNothing) continue;
    const double number = value.as_number().value();
    if (!is_plain_number(number)) return refuse(pointer, keyword, "a bound of 10^21 or more, or below 10^-6");
    form.number = regexes_.both({form.number, bound(regexes_, number, exclusive)});
  }
  const JsonRef divisor = schema["multipleOf"];
  if (!divisor.exists()) return;
  if (!divisor.is_number() || !(divisor.as_number().value() > 0)) {
    return wrong(pointer, "multipleOf", "a number above 0", divisor);
  }
  if (form.number == Regexes::kNothing) return;
  const RegexId multiples = multiples_of(regexes_, divisor.as_number().value());
  if (multiples == Regexes::kNothing) return refuse(pointer, "multipleOf", "a number with more than 7 digits");
  form.number = regexes_.both({form.number, multiples});
}

std::int32_t SchemaReader::count(const std::string& pointer, JsonRef schema, std::string_view keyword, std::int32_t otherwise) {
  const JsonRef value = schema[keyword];
  if (!value.exists()) return otherwise;
  const double number = value.is_number() ? value.as_number().value() : -1;
  if (number < 0 || number != std::floor(number)) {
    wrong(pointer, keyword, "a whole number", value);
    return otherwise;
  }
  if (number > kMostCount) refuse(pointer, keyword, "a count above 100000");
  return static_cast<std::int32_t>(std::min<double>(number, kMostCount));
}

void SchemaReader::read_strings(const std::string& pointer, JsonRef schema, Form& form) {
  const RegexId quote = regexes_.text("\"");
  const auto narrow = [&](RegexId content) {
    form.string = regexes_.both({form.string, regexes_.concat({quote, content, quote})});
  };
  const auto min = count(pointer, schema, "minLength", 0), max = count(pointer, schema, "maxLength", Regexes::kNoLimit);
  if (form.string == Regexes::kNothing) return;
  if (min > 0 || max != Regexes::kNoLimit) {
    const RegexId each = any_character(regexes_, Writing::kJson);
    const RegexId sized = max != Regexes::kNoLimit && max < min ? Regexes::kNothing : regexes_.repeat(each, min, max);
    if (form.string == any_string())
      form.string = regexes_.concat({quote, sized, quote});
    else
      narrow(sized);
  }
  const auto use = [&](std::string_view keyword, std::string_view pattern, bool whole) {
    const auto read = read_pattern(regexes_, pattern, whole, Writing::kJson);
    if (!read.ok())
      return fail(
          Error{read.error().code, "schema, '#" + pointer + "': keyword '" + std::string(keyword) + "': " + read.error().message});
    const RegexId own = regexes_.concat({quote, read.value(), quote});
    form.string = form.string == any_string() ? own : regexes_.both({form.string, own});
  };
  const JsonRef pattern = schema["pattern"], format = schema["format"];
  if (pattern.exists() && !pattern.is_string()) return wrong(pointer, "pattern", "a text", pattern);
  if (pattern.exists()) use("pattern", pattern.as_string().value(), false);
  if (!format.exists()) return;
  const std::string_view name = format.is_string() ? format.as_string().value() : std::string_view();
  const std::string own = format_pattern(name);
  if (own.empty()) return refuse(pointer, "format", "the format " + format.describe());
  use("format", own, true);
}

void SchemaReader::read_arrays(const std::string& pointer, JsonRef schema, Form& form) {
  ArrayForm own;
  own.min = count(pointer, schema, "minItems", 0);
  own.max = count(pointer, schema, "maxItems", Regexes::kNoLimit);
  JsonRef prefix = schema["prefixItems"], items = schema["items"];
  std::string_view prefix_keyword = "prefixItems", items_keyword = "items";
  if (items.is_array()) {  // draft 7
    prefix = items;
    prefix_keyword = "items";
    items = schema["additionalItems"];
    items_keyword = "additionalItems";
  }
  if (prefix.exists())
    own.prefix = prefix.is_array() && prefix.size() == 0 ? std::vector<SchemaId>() : nodes_of(pointer, prefix_keyword, prefix);
  if (items.exists()) own.items = node(pointer + pointer_part(items_keyword));
  const bool has_contains = schema["contains"].exists();
  ArrayForm::Contains contains;
  contains.min = count(pointer, schema, "minContains", 1);
  contains.max = count(pointer, schema, "maxContains", Regexes::kNoLimit);
  if (has_contains) {
    contains.value = node(pointer + "/contains");
    if (contains.min > 0 || contains.max != Regexes::kNoLimit) own.contains.push_back(contains);
  }
  const JsonRef unique = schema["uniqueItems"];
  own.is_unique = unique.is_bool() && unique.as_bool().value();
  const JsonRef unevaluated = schema["unevaluatedItems"];
  if (unevaluated.exists() && !form.arrays.empty()) {
    for (const std::string_view other :
         {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "contains"}) {
      if (schema[other].exists()) return refuse(pointer, "unevaluatedItems", "together with '" + std::string(other) + "'");
    }
    if (!items.exists()) own.items = node(pointer + "/unevaluatedItems");
  }
  if (own.max != Regexes::kNoLimit && own.max < own.min) form.arrays.clear();
  if (!form.arrays.empty()) form.arrays = {own};
}

void SchemaReader::read_objects(const std::string& pointer, JsonRef schema, Form& form) {
  ObjectForm own;
  own.min = count(pointer, schema, "minProperties", 0);
  own.max = count(pointer, schema, "maxProperties", Regexes::kNoLimit);
  const JsonRef properties = schema["properties"], patterns = schema["patternProperties"], others = schema["additionalProperties"];
  KeyRules rules;
  if (properties.exists() && !properties.is_object()) return wrong(pointer, "properties", "an object", properties);
  for (const auto& [key, value] : properties.members()) {
    const std::string name(key);
    order_.emplace(name, static_cast<std::int32_t>(order_.size()));
    rules.names.emplace(name, node(pointer + "/properties" + pointer_part(key)));
  }
  if (patterns.exists() && !patterns.is_object()) return wrong(pointer, "patternProperties", "an object", patterns);
  const RegexId quote = regexes_.text("\"");
  for (const auto& [own_pattern, value] : patterns.members()) {
    const auto read = read_pattern(regexes_, own_pattern, false, Writing::kJson);
    if (!read.ok())
      return fail(Error{read.error().code, "schema, '#" + pointer + "': keyword 'patternProperties': " + read.error().message});
    rules.patterns.push_back(
        {regexes_.concat({quote, read.value(), quote}), node(pointer + "/patternProperties" + pointer_part(own_pattern))});
  }
  if (others.exists()) rules.others = node(pointer + "/additionalProperties");
  const JsonRef unevaluated = schema["unevaluatedProperties"];
  if (unevaluated.exists() && !form.objects.empty()) {
    for (const std::string_view other : {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"}) {
      if (schema[other].exists()) return refuse(pointer, "unevaluatedProperties", "together with '" + std::string(other) + "'");
    }
    if (!others.exists()) rules.others = node(pointer + "/unevaluatedProperties");
  }
  if (!rules.names.empty() || !rules.patterns.empty() || rules.others != kAllValues) own.rules.push_back(std::move(rules));
  const JsonRef required = schema["required"];
  if (required.exists() && !required.is_array()) return wrong(pointer, "required", "a list of texts", required);
  for (std::size_t i = 0; i < required.size(); ++i) {
    if (!required[i].is_string()) return wrong(pointer, "required", "a list of texts", required);
    own.required.emplace(required[i].as_string().value());
  }
  for (const std::string_view keyword : {"dependentRequired", "dependencies"}) {
    for (const auto& [key, value] : schema[keyword].members()) {
      if (!value.is_array()) continue;  // a schema, which read_combined reads
      auto& needs = own.needs[std::string(key)];
      for (std::size_t i = 0; i < value.size(); ++i)
        if (value[i].is_string()) needs.emplace(value[i].as_string().value());
    }
  }
  const JsonRef names = schema["propertyNames"];
  if (names.exists() && !form.objects.empty()) own.keys = Form(this->form(node(pointer + "/propertyNames"))).string;
  if (own.max != Regexes::kNoLimit && own.max < own.min) form.objects.clear();
  if (!form.objects.empty()) form.objects = {own};
}

}  // namespace wattn
