// A grammar made of parts, for texts that are JSON only here and there, such as calls of tools.
#pragma once

#include <string_view>

#include "constraints/grammar.h"
#include "constraints/json_schema.h"

namespace wattn {

// Reads parts, as JSON, into a grammar and finishes it. A part is a text as it is; a list of parts that follow each other; {"any":
// parts}, one of them; {"many": part}, once or more; {"regex": pattern}; {"json": schema}. The errors are those of schemas and
// patterns.
Result<void> read_parts(Grammar& grammar, std::string_view parts, const JsonSchemaOptions& options);

}  // namespace wattn
