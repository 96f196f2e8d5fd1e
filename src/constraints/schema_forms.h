// A schema as its rules for each type of value. Nested schemas (of members and elements) are referred to by id, not read.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "constraints/byte_regex.h"

namespace wattn {

// A schema, or one that is combined from others; see SchemaReader.
using SchemaId = std::int32_t;

// Which schemas apply to the value of a key, by one schema: that of its name and of each matching pattern, otherwise `others`. The
// special member functions are defined in schema_forms.cpp: generated at each use, they took a fifth of the module.
struct KeyRules {
  KeyRules();
  KeyRules(const KeyRules&);
  KeyRules(KeyRules&&) noexcept;
  KeyRules& operator=(const KeyRules&);
  KeyRules& operator=(KeyRules&&) noexcept;
  ~KeyRules();

  std::map<std::string, SchemaId> names{};
  struct Pattern {
    RegexId key = 0;  // as JSON, with quotes
    SchemaId value = 0;
    bool operator==(const Pattern&) const = default;
  };
  std::vector<Pattern> patterns{};
  SchemaId others = 0;
  bool operator==(const KeyRules& other) const;
};

struct ObjectForm {
  ObjectForm();
  ObjectForm(const ObjectForm&);
  ObjectForm(ObjectForm&&) noexcept;
  ObjectForm& operator=(const ObjectForm&);
  ObjectForm& operator=(ObjectForm&&) noexcept;
  ~ObjectForm();

  std::vector<KeyRules> rules{};  // of all of them
  std::set<std::string> required{};
  std::map<std::string, std::set<std::string>> needs{};
  RegexId keys = Regexes::kAnything;  // all of them match it
  std::int32_t min = 0, max = Regexes::kNoLimit;
};

struct ArrayForm {
  ArrayForm();
  ArrayForm(const ArrayForm&);
  ArrayForm(ArrayForm&&) noexcept;
  ArrayForm& operator=(const ArrayForm&);
  ArrayForm& operator=(ArrayForm&&) noexcept;
  ~ArrayForm();

  std::vector<SchemaId> prefix{};
  SchemaId items = 0;
  std::int32_t min = 0, max = Regexes::kNoLimit;
  struct Contains {
    SchemaId value = 0;
    std::int32_t min = 1, max = Regexes::kNoLimit;
    bool operator==(const Contains&) const = default;
  };
  std::vector<Contains> contains{};
  bool is_unique = false;

  SchemaId at(std::size_t i) const { return i < prefix.size() ? prefix[i] : items; }
};

// The values of a schema: the union of its parts.
struct Form {
  Form();
  Form(const Form&);
  Form(Form&&) noexcept;
  Form& operator=(const Form&);
  Form& operator=(Form&&) noexcept;
  ~Form();

  bool has_null = false, has_false = false, has_true = false;
  RegexId number = Regexes::kNothing, string = Regexes::kNothing;  // as JSON
  std::vector<ArrayForm> arrays{};
  std::vector<ObjectForm> objects{};
};

}  // namespace wattn
