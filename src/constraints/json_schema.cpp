#include "constraints/json_schema.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "constraints/schema_reader.h"
#include "constraints/sort.h"
#include "core/json.h"

namespace wattn {
namespace {

// Makes a rule of each schema, with those of its members and elements, which may name it again.
class SchemaRules {
 public:
  SchemaRules(Grammar& grammar, SchemaReader& reader) : grammar_(grammar), reader_(reader), regexes_(grammar.regexes()) {}

  RuleId rule(SchemaId schema) {
    const auto [found, is_new] = rules_.emplace(schema, 0);
    if (is_new) {
      found->second = grammar_.add_rule();
      left_.push_back(schema);
    }
    return found->second;
  }
  void make_all() {
    constexpr std::size_t kMostRules = 20'000;
    while (!left_.empty() && !reader_.error()) {
      const SchemaId schema = left_.back();
      left_.pop_back();
      schema_ = schema;
      grammar_.set_rule(rules_.at(schema), body(reader_.form(schema)));
      if (rules_.size() > kMostRules) reader_.refuse("", "$ref", "more than 20000 different schemas");
    }
  }

 private:
  ExprId body(const Form& form) {
    std::vector<ExprId> out;
    if (form.has_null) out.push_back(grammar_.text("null"));
    if (form.has_false) out.push_back(grammar_.text("false"));
    if (form.has_true) out.push_back(grammar_.text("true"));
    out.push_back(grammar_.regex(form.number));
    out.push_back(grammar_.regex(form.string));
    if (regexes_.gave_up()) reader_.refuse(place(), "pattern", "its automaton is too large");
    const std::vector<ArrayForm> arrays = form.arrays;
    const std::vector<ObjectForm> objects = form.objects;
    for (const ArrayForm& each : arrays) out.push_back(array(each));
    for (const ObjectForm& each : objects) out.push_back(object(each));
    return grammar_.either(std::move(out));
  }
  std::string place() const { return reader_.where(schema_).substr(1); }

  // Elements that are no arrays or objects are written in one way each, so different texts are different values.
  ExprId unique_array(const ArrayForm& form) {
    const Form items = reader_.form(form.items);
    if (!form.prefix.empty() || !form.contains.empty()) {
      reader_.refuse(place(), "uniqueItems", "together with 'prefixItems' or 'contains'");
    } else if (!items.arrays.empty() || !items.objects.empty()) {
      reader_.refuse(place(), "uniqueItems", "for elements that may be objects or arrays");
    }
    std::vector<RegexId> values{items.number, items.string};
    if (items.has_null) values.push_back(regexes_.text("null"));
    if (items.has_false) values.push_back(regexes_.text("false"));
    if (items.has_true) values.push_back(regexes_.text("true"));
    ArraySpec spec;
    spec.min = form.min;
    spec.max = form.max;
    spec.unique = regexes_.either(std::move(values));
    if (!regexes_.is_possible(spec.unique)) return form.min > 0 ? Grammar::kNever : grammar_.text("[]");
    if (form.max != Regexes::kNoLimit && form.max < form.min) return Grammar::kNever;
    return grammar_.array(std::move(spec));
  }
  ExprId array(const ArrayForm& form) {
    if (form.is_unique && !(form.max != Regexes::kNoLimit && form.max <= 1)) return unique_array(form);
    if (form.contains.size() > 1) reader_.refuse(place(), "contains", "more than one for the same array");
    ArraySpec spec;
    spec.min = form.min;
    spec.max = form.max;
    const std::size_t count =
        form.max == Regexes::kNoLimit ? form.prefix.size() : std::min(form.prefix.size(), static_cast<std::size_t>(form.max));
    const auto without = [&](SchemaId value) {
      const bool is_limited = !form.contains.empty() && form.contains[0].max != Regexes::kNoLimit;
      return rule(is_limited ? reader_.all({value, reader_.no(form.contains[0].value)}) : value);
    };
    for (std::size_t i = 0; i < count; ++i) spec.prefix.push_back(without(form.prefix[i]));
    spec.items = without(form.items);
    if (!form.contains.empty()) {
      const auto& [value, min, max] = form.contains[0];
      spec.min_found = min;
      spec.max_found = max;
      if (max != Regexes::kNoLimit && max < min) return Grammar::kNever;
      for (std::size_t i = 0; i < count; ++i) spec.found_prefix.push_back(rule(reader_.all({form.prefix[i], value})));
      spec.found_items = rule(reader_.all({form.items, value}));
    } else {
      spec.found_prefix = spec.prefix;
      spec.found_items = spec.items;
    }
    return grammar_.array(std::move(spec));
  }

  ExprId object(const ObjectForm& form) {
    std::map<std::string, std::int32_t> names;  // and their numbers
    const auto add = [&](const std::string& name) { names.emplace(name, 0); };
    for (const KeyRules& rules : form.rules)
      for (const auto& [name, value] : rules.names) add(name);
    for (const std::string& name : form.required) add(name);
    for (const auto& [name, needs] : form.needs) {
      add(name);
      for (const std::string& need : needs) add(need);
    }
    ObjectSpec spec;
    spec.min = form.min;
    spec.max = form.max;
    std::vector<RegexId> literal;
    std::vector<std::pair<std::int32_t, std::string>> ordered;
    ordered.reserve(names.size());
    for (const auto& [name, own] : names) ordered.emplace_back(reader_.order_of(name), name);
    sort_small(ordered);
    std::int32_t number = 0;
    for (const auto& [order, name] : ordered) names[name] = number++;
    for (const auto& [order, name] : ordered) {
      KeySpec key;
      std::vector<SchemaId> values;
      values.reserve(form.rules.size());
      for (const KeyRules& rules : form.rules) values.push_back(reader_.value_of(rules, name));
      const RegexId text = reader_.string_text(name);
      literal.push_back(text);
      key.key = regexes_.both({text, form.keys});
      key.value = rule(regexes_.is_possible(key.key) ? reader_.all(std::move(values)) : SchemaReader::kNoValue);
      key.key = text;
      key.is_required = form.required.contains(name);
      if (const auto needs = form.needs.find(name); needs != form.needs.end())
        for (const std::string& need : needs->second) key.needs.push_back(names.at(need));
      spec.keys.push_back(std::move(key));
    }
    add_open_keys(form, literal, spec);
    const bool is_open = std::any_of(spec.keys.begin(), spec.keys.end(), [](const KeySpec& key) { return key.is_open; });
    // A key that is written twice counts once when it is read, so only what is sure to differ can be counted.
    if (is_open && spec.min > std::max<std::int32_t>(1, static_cast<std::int32_t>(form.required.size())))
      reader_.refuse(place(), "minProperties", "values above 1 if the object may have keys that 'properties' does not name");
    return grammar_.object(std::move(spec));
  }

  // Keys that the schema does not name: for each set of patterns that they match, those that match no other.
  void add_open_keys(const ObjectForm& form, const std::vector<RegexId>& literal, ObjectSpec& spec) {
    constexpr std::size_t kMostPatterns = 6;
    std::vector<RegexId> patterns;
    for (const KeyRules& rules : form.rules)
      for (const auto& [key, value] : rules.patterns) patterns.push_back(key);
    sort_unique(patterns);
    if (patterns.size() > kMostPatterns) return reader_.refuse(place(), "patternProperties", "more than 6 patterns for one object");
    const RegexId named = regexes_.either(literal), all = reader_.any_string();
    for (std::size_t chosen = 0; chosen < std::size_t{1} << patterns.size(); ++chosen) {
      std::vector<RegexId> keys{form.keys};
      if (named != Regexes::kNothing) keys.push_back(regexes_.no(named));
      std::vector<SchemaId> values;
      for (std::size_t i = 0; i < patterns.size(); ++i) keys.push_back(chosen >> i & 1 ? patterns[i] : regexes_.no(patterns[i]));
      for (const KeyRules& rules : form.rules) {
        bool any = false;
        for (const auto& [key, value] : rules.patterns) {
          const auto i = static_cast<std::size_t>(std::find(patterns.begin(), patterns.end(), key) - patterns.begin());
          if (!(chosen >> i & 1)) continue;
          any = true;
          values.push_back(value);
        }
        if (!any) values.push_back(rules.others);
      }
      const SchemaId value = reader_.all(std::move(values));
      if (value == SchemaReader::kNoValue) continue;
      keys.push_back(all);
      const RegexId own = regexes_.both(std::move(keys));
      if (regexes_.is_possible(own)) spec.keys.push_back({.key = own, .value = rule(value), .is_open = true});
    }
    if (regexes_.gave_up()) reader_.refuse(place(), "patternProperties", "its automaton is too large");
  }

  Grammar& grammar_;
  SchemaReader& reader_;
  Regexes& regexes_;
  std::map<SchemaId, RuleId> rules_;
  std::vector<SchemaId> left_;
  SchemaId schema_ = 0;
};

}  // namespace

Result<ExprId> add_json_schema(Grammar& grammar, JsonRef schema, const JsonSchemaOptions& options) {
  if (options.spaces) grammar.allow_spaces();
  if (options.in_order) grammar.keep_order();
  SchemaReader reader(grammar.regexes(), schema);
  SchemaRules rules(grammar, reader);
  const RuleId root = rules.rule(reader.root());
  rules.make_all();
  if (reader.error()) return *reader.error();
  return grammar.rule(root);
}

Result<void> read_json_schema(Grammar& grammar, std::string_view schema, const JsonSchemaOptions& options) {
  const auto json = Json::parse(schema, "schema");
  if (!json.ok()) return input_error(json.error().message);
  const auto root = add_json_schema(grammar, json.value().root(), options);
  if (!root.ok()) return root.error();
  const auto finished = grammar.finish(root.value(), {});
  if (!finished.ok()) return Error{finished.error().code, "schema: " + finished.error().message};
  return {};
}

}  // namespace wattn
