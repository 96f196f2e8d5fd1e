// And, or and not of forms.
#include <algorithm>
#include <utility>

#include "constraints/schema_reader.h"

namespace wattn {
namespace {

std::int32_t less_limit(std::int32_t a, std::int32_t b) {
  if (a == Regexes::kNoLimit) return b;
  return b == Regexes::kNoLimit ? a : std::min(a, b);
}

void add_rules(std::vector<KeyRules>& to, const std::vector<KeyRules>& from) {
  for (const KeyRules& rules : from)
    if (std::find(to.begin(), to.end(), rules) == to.end()) to.push_back(rules);
}

}  // namespace

SchemaId SchemaReader::value_of(const KeyRules& rules, const std::string& name) {
  std::vector<SchemaId> out;
  if (const auto found = rules.names.find(name); found != rules.names.end()) out.push_back(found->second);
  if (!rules.patterns.empty()) {
    // The text of the name as JSON is the only one that its expression matches.
    std::string text;
    RegexId left = string_text(name);
    while (left != Regexes::kEmpty) {
      unsigned byte = 0;
      while (byte < 255 && regexes_.after(left, static_cast<std::uint8_t>(byte)) == Regexes::kNothing) ++byte;
      text += static_cast<char>(byte);
      left = regexes_.after(left, static_cast<std::uint8_t>(byte));
      if (left == Regexes::kNothing) break;
    }
    for (const auto& [key, value] : rules.patterns)
      if (regexes_.matches(key, text)) out.push_back(value);
  }
  return out.empty() ? rules.others : all(std::move(out));
}

Form SchemaReader::both(const Form& a, const Form& b) {
  Form out;
  out.has_null = a.has_null && b.has_null;
  out.has_false = a.has_false && b.has_false;
  out.has_true = a.has_true && b.has_true;
  out.number = regexes_.both({a.number, b.number});
  out.string = regexes_.both({a.string, b.string});
  // All values of a type, as they come from every schema that does not mention it, are dropped at once.
  const RegexId strings = any_string();
  if (a.string == strings) out.string = b.string;
  if (b.string == strings) out.string = a.string;
  for (const ArrayForm& x : a.arrays) {
    for (const ArrayForm& y : b.arrays) {
      ArrayForm& both = out.arrays.emplace_back();
      for (std::size_t i = 0; i < std::max(x.prefix.size(), y.prefix.size()); ++i) both.prefix.push_back(all({x.at(i), y.at(i)}));
      both.items = all({x.items, y.items});
      both.min = std::max(x.min, y.min);
      both.max = less_limit(x.max, y.max);
      both.contains = x.contains;
      for (const auto& each : y.contains)
        if (std::find(both.contains.begin(), both.contains.end(), each) == both.contains.end()) both.contains.push_back(each);
      both.is_unique = x.is_unique || y.is_unique;
      if (is_empty(both, kMostLooks)) out.arrays.pop_back();
    }
  }
  for (const ObjectForm& x : a.objects) {
    for (const ObjectForm& y : b.objects) {
      ObjectForm& both = out.objects.emplace_back(x);
      add_rules(both.rules, y.rules);
      both.required.insert(y.required.begin(), y.required.end());
      for (const auto& [key, needs] : y.needs) both.needs[key].insert(needs.begin(), needs.end());
      both.keys = regexes_.both({x.keys, y.keys});
      both.min = std::max(x.min, y.min);
      both.max = less_limit(x.max, y.max);
      if (is_empty(both, kMostLooks)) out.objects.pop_back();
    }
  }
  if (out.arrays.size() > kMostForms || out.objects.size() > kMostForms) refuse(at_, how_, "too many combinations");
  return out;
}

Form SchemaReader::either(const Form& a, const Form& b) {
  Form out = a;
  out.has_null = a.has_null || b.has_null;
  out.has_false = a.has_false || b.has_false;
  out.has_true = a.has_true || b.has_true;
  out.number = regexes_.either({a.number, b.number});
  out.string = regexes_.either({a.string, b.string});
  out.arrays.insert(out.arrays.end(), b.arrays.begin(), b.arrays.end());
  out.objects.insert(out.objects.end(), b.objects.begin(), b.objects.end());
  if (out.arrays.size() > kMostForms || out.objects.size() > kMostForms) refuse(at_, how_, "too many combinations");
  return out;
}

// De Morgan: what one of the statements about an object does not hold for.
std::vector<ObjectForm> SchemaReader::opposites(const ObjectForm& object) {
  std::vector<ObjectForm> out;
  const auto with = [&](const std::string& name, SchemaId value, bool required) -> ObjectForm& {
    ObjectForm& each = out.emplace_back();
    each.rules.emplace_back().names.emplace(name, value);
    if (required) each.required.insert(name);
    return each;
  };
  for (const std::string& name : object.required) with(name, kNoValue, false);
  for (const KeyRules& rules : object.rules) {
    if (!rules.patterns.empty()) refuse(at_, how_, "with a schema that has 'patternProperties'");
    if (rules.others != kAllValues) refuse(at_, how_, "with a schema that has 'additionalProperties', if others overlap");
    for (const auto& [name, value] : rules.names)
      if (value != kAllValues) with(name, no(value), true);
  }
  for (const auto& [key, needs] : object.needs) {
    for (const std::string& need : needs) {
      ObjectForm& each = with(need, kNoValue, false);
      each.required.insert(key);
    }
  }
  if (object.keys != Regexes::kAnything) refuse(at_, how_, "with a schema that has 'propertyNames'");
  if (object.min > 0) out.emplace_back().max = object.min - 1;
  if (object.max != Regexes::kNoLimit) out.emplace_back().min = object.max + 1;
  return out;
}

std::vector<ArrayForm> SchemaReader::opposites(const ArrayForm& array) {
  std::vector<ArrayForm> out;
  for (std::size_t i = 0; i < array.prefix.size(); ++i) {
    if (array.prefix[i] == kAllValues) continue;
    ArrayForm& each = out.emplace_back();
    each.prefix.assign(i, kAllValues);
    each.prefix.push_back(no(array.prefix[i]));
    each.min = static_cast<std::int32_t>(i) + 1;
  }
  if (array.items != kAllValues) {
    if (array.prefix.empty())
      out.emplace_back().contains.push_back({.value = no(array.items)});
    else if (array.items == kNoValue)
      out.emplace_back().min = static_cast<std::int32_t>(array.prefix.size()) + 1;
    else
      refuse(at_, how_, "with a schema that has 'items' after 'prefixItems'");
  }
  for (const auto& [value, min, max] : array.contains) {
    if (min > 0) out.emplace_back().contains.push_back({.value = value, .min = 0, .max = min - 1});
    if (max != Regexes::kNoLimit) out.emplace_back().contains.push_back({.value = value, .min = max + 1});
  }
  if (array.is_unique) refuse(at_, how_, "with a schema that has 'uniqueItems'");
  if (array.min > 0) out.emplace_back().max = array.min - 1;
  if (array.max != Regexes::kNoLimit) out.emplace_back().min = array.max + 1;
  return out;
}

Form SchemaReader::opposite(const Form& form) {
  Form out = everything();
  out.has_null = !form.has_null;
  out.has_false = !form.has_false;
  out.has_true = !form.has_true;
  out.number = form.number == out.number ? Regexes::kNothing : regexes_.both({out.number, regexes_.no(form.number)});
  out.string = form.string == out.string ? Regexes::kNothing : regexes_.both({out.string, regexes_.no(form.string)});
  Form each = out;
  const std::vector<ArrayForm> arrays = out.arrays;
  for (const ArrayForm& array : form.arrays) {
    each.arrays = opposites(array);
    out = both(out, each);
  }
  each.arrays = arrays;
  for (const ObjectForm& object : form.objects) {
    each.objects = opposites(object);
    out = both(out, each);
  }
  return out;
}

bool SchemaReader::is_empty(SchemaId id, int looks) {
  if (id <= kNoValue) return id == kNoValue;
  if (looks == 0 || error_ || std::find(open_.begin(), open_.end(), id) != open_.end()) return false;
  // A schema that is being read may be named by what is in it; whether it is empty is found with the whole grammar then.
  const auto before = open_.size();
  const bool out = before > 40 ? false : is_empty(Form(form(id)), looks - 1);
  return out;
}

bool SchemaReader::is_empty(const ObjectForm& object, int looks) {
  if (object.max != Regexes::kNoLimit &&
      (object.min > object.max || static_cast<std::int32_t>(object.required.size()) > object.max))
    return true;
  for (const std::string& name : object.required) {
    std::vector<SchemaId> values;
    values.reserve(object.rules.size());
    for (const KeyRules& rules : object.rules) values.push_back(value_of(rules, name));
    if (is_empty(all(std::move(values)), looks)) return true;
  }
  return false;
}

bool SchemaReader::is_empty(const ArrayForm& array, int looks) {
  if (array.max != Regexes::kNoLimit && array.min > array.max) return true;
  for (std::int32_t i = 0; i < std::min(array.min, static_cast<std::int32_t>(array.prefix.size()) + 1); ++i) {
    if (is_empty(array.at(static_cast<std::size_t>(i)), looks)) return true;
  }
  return false;
}

bool SchemaReader::is_empty(const Form& form, int looks) {
  if (form.has_null || form.has_false || form.has_true || regexes_.is_possible(form.number) || regexes_.is_possible(form.string))
    return false;
  const auto empty = [&](const auto& each) { return is_empty(each, looks); };
  return std::all_of(form.arrays.begin(), form.arrays.end(), empty) && std::all_of(form.objects.begin(), form.objects.end(), empty);
}

}  // namespace wattn
