#include "constraints/schema_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "constraints/code_points.h"
#include "constraints/json_numbers.h"
#include "constraints/sort.h"

namespace wattn {
namespace {

// Keywords that do not constrain values.
constexpr std::string_view kNotes[] = {
    "$schema",     "$id",       "$anchor",         "$dynamicAnchor",   "$comment",     "$defs",   "definitions",
    "$vocabulary", "title",     "description",     "default",          "examples",     "example", "deprecated",
    "readOnly",    "writeOnly", "contentEncoding", "contentMediaType", "contentSchema"};
constexpr std::string_view kRead[] = {"$ref",
                                      "$dynamicRef",
                                      "type",
                                      "enum",
                                      "const",
                                      "allOf",
                                      "anyOf",
                                      "oneOf",
                                      "not",
                                      "if",
                                      "then",
                                      "else",
                                      "minimum",
                                      "maximum",
                                      "exclusiveMinimum",
                                      "exclusiveMaximum",
                                      "multipleOf",
                                      "minLength",
                                      "maxLength",
                                      "pattern",
                                      "format",
                                      "prefixItems",
                                      "items",
                                      "additionalItems",
                                      "contains",
                                      "minContains",
                                      "maxContains",
                                      "minItems",
                                      "maxItems",
                                      "uniqueItems",
                                      "properties",
                                      "patternProperties",
                                      "additionalProperties",
                                      "propertyNames",
                                      "required",
                                      "minProperties",
                                      "maxProperties",
                                      "dependentRequired",
                                      "dependentSchemas",
                                      "dependencies",
                                      "unevaluatedProperties",
                                      "unevaluatedItems"};

}  // namespace

SchemaReader::SchemaReader(Regexes& regexes, JsonRef root) : regexes_(regexes), source_(root) {
  ids_.id(std::array<std::int32_t, 1>{kAllKind});
  ids_.id(std::array<std::int32_t, 1>{kNoKind});
}

void SchemaReader::refuse(const std::string& pointer, std::string_view keyword, std::string_view why) {
  std::string message = "schema, '" + (pointer.empty() ? "#" : "#" + pointer) + "': keyword '" + std::string(keyword) + "' ";
  message += why.empty() ? "is not supported" : "is not supported: " + std::string(why);
  fail(unsupported_error(std::move(message)));
}

void SchemaReader::wrong(const std::string& pointer, std::string_view keyword, std::string_view expected, JsonRef found) {
  std::string message = "schema, '#" + pointer + "': keyword '";
  ((message += keyword) += "': expected ") += expected;
  fail(input_error(message + ", found " + found.describe()));
}

SchemaId SchemaReader::place(Kind kind, const std::string& pointer) {
  const auto [found, is_new] = place_ids_.emplace(pointer, static_cast<std::int32_t>(places_.size()));
  if (is_new) places_.push_back(pointer);
  return ids_.id(std::array<std::int32_t, 2>{kind, found->second});
}

SchemaId SchemaReader::node(const std::string& pointer) {
  const JsonRef schema = source_.at(pointer);
  if (schema.is_bool()) return schema.as_bool().value() ? kAllValues : kNoValue;
  return place(kNode, pointer);
}

std::int32_t SchemaReader::order_of(const std::string& name) const {
  const auto found = order_.find(name);
  return found == order_.end() ? static_cast<std::int32_t>(order_.size()) : found->second;
}

std::string SchemaReader::where(SchemaId id) const {
  const auto words = ids_.words(id);
  if (words[0] == kNode || words[0] == kValue) return "#" + places_[static_cast<std::size_t>(words[1])];
  return words.size() > 1 ? where(words[1]) : "#";
}

SchemaId SchemaReader::list(Kind kind, std::vector<SchemaId> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto words = ids_.words(ids[i]);
    if (words[0] == kind) {
      ids.insert(ids.end(), words.begin() + 1, words.end());
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  }
  sort_unique(ids);
  if (ids.size() == 1) return ids[0];
  ids.insert(ids.begin(), kind);
  return ids_.id(ids);
}

SchemaId SchemaReader::all(std::vector<SchemaId> ids) {
  if (std::find(ids.begin(), ids.end(), kNoValue) != ids.end()) return kNoValue;
  std::erase(ids, kAllValues);
  return ids.empty() ? kAllValues : list(kAnd, std::move(ids));
}

SchemaId SchemaReader::any(std::vector<SchemaId> ids) {
  if (std::find(ids.begin(), ids.end(), kAllValues) != ids.end()) return kAllValues;
  std::erase(ids, kNoValue);
  return ids.empty() ? kNoValue : list(kOr, std::move(ids));
}

SchemaId SchemaReader::no(SchemaId other) {
  if (other <= kNoValue) return 1 - other;
  const auto words = ids_.words(other);
  return words[0] == kNot ? words[1] : ids_.id(std::array<std::int32_t, 2>{kNot, other});
}

RegexId SchemaReader::any_string() {
  const RegexId quote = regexes_.text("\"");
  return regexes_.concat({quote, regexes_.repeat(any_character(regexes_, Writing::kJson), 0, Regexes::kNoLimit), quote});
}

RegexId SchemaReader::string_text(std::string_view text) {
  const RegexId quote = regexes_.text("\"");
  return regexes_.concat({quote, to_regex(regexes_, text, Writing::kJson), quote});
}

Form SchemaReader::everything() {
  Form out;
  out.has_null = out.has_false = out.has_true = true;
  out.number = any_number(regexes_);
  out.string = any_string();
  out.arrays.resize(1);  // with the schema kAllValues, 0
  out.objects.resize(1);
  return out;
}

const Form& SchemaReader::form(SchemaId id) {
  if (const auto found = forms_.find(id); found != forms_.end()) return found->second;
  static const Form kNone{};
  if (error_) return kNone;
  const auto found = ids_.words(id);
  const std::vector<std::int32_t> words(found.begin(), found.end());
  if (std::find(open_.begin(), open_.end(), id) != open_.end() || open_.size() > 300) {
    refuse(words.size() > 1 && (words[0] == kNode) ? places_[static_cast<std::size_t>(words[1])] : "", "$ref",
           "a schema that refers to itself with no value in between");
    return kNone;
  }
  open_.push_back(id);
  Form out;
  switch (words[0]) {
    case kAllKind:
      out = everything();
      break;
    case kNode:
      out = read_node(std::string(places_[static_cast<std::size_t>(words[1])]));  // a copy, as places_ grows
      break;
    case kValue:
      out = value_form(std::string(places_[static_cast<std::size_t>(words[1])]));
      break;
    case kAnd:
      out = form(words[1]);
      for (std::size_t i = 2; i < words.size(); ++i) out = both(out, Form(form(words[i])));
      break;
    case kOr:
      for (std::size_t i = 1; i < words.size(); ++i) out = either(out, Form(form(words[i])));
      break;
    case kNot:
      out = opposite(Form(form(words[1])));
      break;
    default:
      break;
  }
  open_.pop_back();
  return forms_.insert_or_assign(id, std::move(out)).first->second;
}

Form SchemaReader::value_form(const std::string& pointer) {
  const JsonRef value = source_.at(pointer);
  Form out;
  if (value.is_null())
    out.has_null = true;
  else if (value.is_bool())
    (value.as_bool().value() ? out.has_true : out.has_false) = true;
  else if (value.is_string())
    out.string = string_text(value.as_string().value());
  else if (value.is_number()) {
    const double number = value.as_number().value();
    if (std::abs(number) < 1e21) out.number = regexes_.text(number_text(number));
  } else if (value.is_array()) {
    ArrayForm array;
    array.items = kNoValue;
    array.min = array.max = static_cast<std::int32_t>(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) array.prefix.push_back(place(kValue, pointer + "/" + std::to_string(i)));
    out.arrays.push_back(std::move(array));
  } else {
    ObjectForm object;
    KeyRules rules;
    rules.others = kNoValue;
    for (const auto& [key, member] : value.members()) {
      rules.names.emplace(std::string(key), place(kValue, pointer + pointer_part(key)));
      object.required.emplace(key);
    }
    object.rules.push_back(std::move(rules));
    out.objects.push_back(std::move(object));
  }
  return out;
}

void SchemaReader::check_keywords(const std::string& pointer, JsonRef schema) {
  for (const auto& [key, value] : schema.members()) {
    const auto is = [own = key](std::string_view name) { return name == own; };
    if (key.starts_with("x-") || std::any_of(std::begin(kNotes), std::end(kNotes), is)) continue;
    if (std::none_of(std::begin(kRead), std::end(kRead), is)) refuse(pointer, key);
  }
}

Form SchemaReader::typed(const std::string& pointer, JsonRef type) {
  if (!type.exists()) return everything();
  const Form all = everything();
  Form out;
  const auto add = [&](JsonRef name) {
    const std::string_view own = name.is_string() ? name.as_string().value() : std::string_view();
    if (own == "null")
      out.has_null = true;
    else if (own == "boolean")
      out.has_false = out.has_true = true;
    else if (own == "number")
      out.number = all.number;
    else if (own == "integer")
      out.number = out.number == all.number ? all.number : any_integer(regexes_);
    else if (own == "string")
      out.string = all.string;
    else if (own == "array")
      out.arrays = all.arrays;
    else if (own == "object")
      out.objects = all.objects;
    else
      wrong(pointer, "type", "the name of a type", name);
  };
  if (type.is_array())
    for (std::size_t i = 0; i < type.size(); ++i) add(type[i]);
  else
    add(type);
  return out;
}

std::vector<SchemaId> SchemaReader::nodes_of(const std::string& pointer, std::string_view keyword, JsonRef list) {
  std::vector<SchemaId> out;
  if (!list.is_array() || list.size() == 0) {
    wrong(pointer, keyword, "a list of schemas", list);
  }
  out.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) out.push_back(node(pointer + pointer_part(keyword) + "/" + std::to_string(i)));
  return out;
}

Form SchemaReader::read_node(const std::string& pointer) {
  const JsonRef schema = source_.at(pointer);
  if (!schema.is_object()) {
    fail(input_error("schema, '#" + pointer + "': expected an object, true or false, found " + schema.describe()));
    return {};
  }
  check_keywords(pointer, schema);
  if (error_) return {};
  Form out = typed(pointer, schema["type"]);
  read_numbers(pointer, schema, out);
  read_strings(pointer, schema, out);
  read_arrays(pointer, schema, out);
  read_objects(pointer, schema, out);
  return error_ ? Form{} : read_combined(pointer, schema, std::move(out));
}

Form SchemaReader::reference(const std::string& pointer, std::string_view keyword, JsonRef value) {
  std::string found;
  const std::string_view target = value.is_string() ? value.as_string().value() : std::string_view();
  bool known = value.is_string() && source_.resolve(pointer, target, found);
  if (known && keyword == "$dynamicRef" && target.find('#') != std::string_view::npos) {
    // The dynamic scope matters only where several schemas have the anchor.
    const std::string_view name = target.substr(target.find('#') + 1);
    const JsonRef anchor = source_.at(found)["$dynamicAnchor"];
    if (anchor.is_string() && anchor.as_string().value() == name) known = source_.only_dynamic_anchor(name, found);
  }
  if (!known) {
    refuse(pointer, keyword, "this document has no schema " + value.describe());
    return {};
  }
  return form(node(found));
}

Form SchemaReader::one_of(const std::string& pointer, JsonRef list) {
  const std::vector<SchemaId> ids = nodes_of(pointer, "oneOf", list);
  std::vector<Form> forms;
  forms.reserve(ids.size());
  for (const SchemaId id : ids) forms.push_back(form(id));
  Form out;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    Form own = forms[i];
    for (std::size_t j = 0; j < forms.size() && !error_; ++j) {
      if (i == j || is_empty(both(forms[i], forms[j]), kMostLooks)) continue;
      own = both(own, opposite(forms[j]));
    }
    out = either(out, own);
  }
  return out;
}

Form SchemaReader::read_combined(const std::string& pointer, JsonRef schema, Form form) {
  const auto with = [&](std::string_view keyword, auto&& make) {
    if (!schema[keyword].exists() || error_) return;
    const auto outer = std::pair(std::exchange(at_, pointer), std::exchange(how_, keyword));
    form = both(form, Form(make(schema[keyword])));
    std::tie(at_, how_) = outer;
  };
  with("$ref", [&](JsonRef value) { return reference(pointer, "$ref", value); });
  with("$dynamicRef", [&](JsonRef value) { return reference(pointer, "$dynamicRef", value); });
  with("const", [&](JsonRef) { return this->form(place(kValue, pointer + "/const")); });
  with("enum", [&](JsonRef value) {
    Form out;
    std::vector<RegexId> numbers, strings;
    if (!value.is_array()) wrong(pointer, "enum", "a list", value);
    for (std::size_t i = 0; i < value.size(); ++i) {
      Form own = this->form(place(kValue, pointer + "/enum/" + std::to_string(i)));
      if (own.number != Regexes::kNothing) numbers.push_back(std::exchange(own.number, Regexes::kNothing));
      if (own.string != Regexes::kNothing) strings.push_back(std::exchange(own.string, Regexes::kNothing));
      out = either(out, own);
    }
    out.number = regexes_.either(std::move(numbers));
    out.string = regexes_.either(std::move(strings));
    return out;
  });
  with("allOf", [&](JsonRef value) { return this->form(all(nodes_of(pointer, "allOf", value))); });
  with("anyOf", [&](JsonRef value) { return this->form(any(nodes_of(pointer, "anyOf", value))); });
  with("oneOf", [&](JsonRef value) { return one_of(pointer, value); });
  with("not", [&](JsonRef) { return this->form(no(node(pointer + "/not"))); });
  if (schema["then"].exists() || schema["else"].exists()) {
    with("if", [&](JsonRef) {
      const SchemaId condition = node(pointer + "/if");
      const SchemaId then = schema["then"].exists() ? node(pointer + "/then") : kAllValues;
      const SchemaId otherwise = schema["else"].exists() ? node(pointer + "/else") : kAllValues;
      return this->form(any({all({condition, then}), all({no(condition), otherwise})}));
    });
  }
  for (const std::string_view keyword : {"dependentSchemas", "dependencies"}) {
    with(keyword, [&](JsonRef value) {
      Form out = everything();
      for (const auto& [key, member] : value.members()) {
        if (member.is_array()) continue;
        Form without = everything(), has = everything();
        without.objects[0].rules.emplace_back().names.emplace(std::string(key), kNoValue);
        has.has_null = has.has_false = has.has_true = false;
        has.number = has.string = Regexes::kNothing;
        has.arrays.clear();
        has.objects[0].required.emplace(key);
        const Form own = this->form(node(pointer + pointer_part(keyword) + pointer_part(key)));
        out = both(out, either(without, both(has, own)));
      }
      return out;
    });
  }
  return form;
}

}  // namespace wattn
