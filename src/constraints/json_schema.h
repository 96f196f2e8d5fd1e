// JSON Schema (2020-12, and what draft 7 and 2019-09 write in other words) as a grammar of the JSON that satisfies it.
#pragma once

#include <string_view>

#include "constraints/grammar.h"
#include "core/json.h"

namespace wattn {

struct JsonSchemaOptions {
  bool in_order = false;  // keys come in the order in which the schema names them
  bool spaces = false;    // allows spaces and line ends between the marks of JSON
};

// Reads a schema into a grammar and finishes it. The grammar matches JSON as JSON.stringify() writes it, with numbers below 10^21.
// An UnsupportedError names the keyword and where it is (a JSON pointer); an InputError says what is malformed, or that no text
// satisfies the schema.
Result<void> read_json_schema(Grammar& grammar, std::string_view schema, const JsonSchemaOptions& options);
// The same, as a part of a grammar that is not finished yet.
Result<ExprId> add_json_schema(Grammar& grammar, JsonRef schema, const JsonSchemaOptions& options);

}  // namespace wattn
