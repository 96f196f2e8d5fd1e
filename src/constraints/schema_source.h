// A schema's document: where its parts are, and what its references name.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/json.h"

namespace wattn {

class SchemaSource {
 public:
  explicit SchemaSource(JsonRef root);

  // Sets `found` to the pointer of what `reference` names, as used in the schema at `pointer`. False if there is no such schema.
  bool resolve(const std::string& pointer, std::string_view reference, std::string& found) const;
  // The value at a JSON pointer.
  JsonRef at(std::string_view pointer) const;
  // The same for the only $dynamicAnchor of a name; false if there are several or none.
  bool only_dynamic_anchor(std::string_view name, std::string& found) const;

 private:
  void collect(JsonRef value, const std::string& pointer, std::string base);
  std::string base_of(const std::string& pointer) const;

  JsonRef root_;
  std::map<std::string, std::string> bases_;    // pointers with an $id, and their address
  std::map<std::string, std::string> places_;   // addresses, with "#anchor" where it is one, and their pointers
  std::map<std::string, std::string> dynamic_;  // names, and their pointer; "?" for several
};

// A JSON pointer's next part.
std::string pointer_part(std::string_view key);

}  // namespace wattn
