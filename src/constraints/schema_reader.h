// Reads schemas as forms, and combines forms exactly: and, or, not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "constraints/interner.h"
#include "constraints/schema_forms.h"
#include "constraints/schema_source.h"
#include "core/result.h"

namespace wattn {

class SchemaReader {
 public:
  static constexpr SchemaId kAllValues = 0, kNoValue = 1;

  SchemaReader(Regexes& regexes, JsonRef root);

  SchemaId root() { return node(""); }
  SchemaId all(std::vector<SchemaId> list);
  SchemaId any(std::vector<SchemaId> list);
  SchemaId no(SchemaId other);
  // The values of a schema. After an error, nothing.
  const Form& form(SchemaId id);
  // The schema of the value of a key.
  SchemaId value_of(const KeyRules& rules, const std::string& name);
  bool may_be_empty_of(const Form& form) { return is_empty(form, kMostLooks); }
  // Names in the order in which properties were read.
  std::int32_t order_of(const std::string& name) const;
  // The place of a schema, for messages.
  std::string where(SchemaId id) const;

  Regexes& regexes() { return regexes_; }
  const std::optional<Error>& error() const { return error_; }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  void refuse(const std::string& pointer, std::string_view keyword, std::string_view why = {});

  void wrong(const std::string& pointer, std::string_view keyword, std::string_view expected, JsonRef found);

  RegexId any_string();
  RegexId string_text(std::string_view text);  // as JSON

 private:
  enum Kind : std::int32_t { kAllKind, kNoKind, kNode, kValue, kAnd, kOr, kNot };
  static constexpr int kMostLooks = 3;
  static constexpr std::size_t kMostForms = 200;  // objects, or arrays, of one schema
  static constexpr std::int32_t kMostCount = 100'000;

  SchemaId node(const std::string& pointer);  // true and false are kAllValues and kNoValue
  SchemaId place(Kind kind, const std::string& pointer);
  SchemaId list(Kind kind, std::vector<SchemaId> ids);

  Form everything();
  Form read_node(const std::string& pointer);
  Form value_form(const std::string& pointer);
  Form typed(const std::string& pointer, JsonRef type);
  void read_numbers(const std::string& pointer, JsonRef schema, Form& form);
  void read_strings(const std::string& pointer, JsonRef schema, Form& form);
  void read_arrays(const std::string& pointer, JsonRef schema, Form& form);
  void read_objects(const std::string& pointer, JsonRef schema, Form& form);
  Form read_combined(const std::string& pointer, JsonRef schema, Form form);
  Form one_of(const std::string& pointer, JsonRef list);
  Form reference(const std::string& pointer, std::string_view keyword, JsonRef value);
  void check_keywords(const std::string& pointer, JsonRef schema);
  std::int32_t count(const std::string& pointer, JsonRef schema, std::string_view keyword, std::int32_t otherwise);
  std::vector<SchemaId> nodes_of(const std::string& pointer, std::string_view keyword, JsonRef list);

  Form both(const Form& a, const Form& b);
  Form either(const Form& a, const Form& b);
  Form opposite(const Form& form);
  std::vector<ObjectForm> opposites(const ObjectForm& object);
  std::vector<ArrayForm> opposites(const ArrayForm& array);
  bool is_empty(const Form& form, int looks);
  bool is_empty(SchemaId id, int looks);
  bool is_empty(const ObjectForm& object, int looks);
  bool is_empty(const ArrayForm& array, int looks);

  Regexes& regexes_;
  SchemaSource source_;
  Interner ids_;
  std::vector<std::string> places_;  // JSON pointers
  std::map<std::string, std::int32_t> place_ids_;
  std::map<std::string, std::int32_t> order_;  // of properties
  std::map<SchemaId, Form> forms_;
  std::vector<SchemaId> open_;  // being read
  std::optional<Error> error_;
  std::string at_;        // the schema being combined, for messages
  std::string_view how_;  // by which keyword
};

}  // namespace wattn
