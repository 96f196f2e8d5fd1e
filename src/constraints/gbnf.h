// GBNF, the grammars of llama.cpp (its grammars/README.md).
#pragma once

#include <string_view>

#include "constraints/grammar.h"

namespace wattn {

// Reads the rules into a grammar and finishes it; "root" is the whole text. An InputError says where it is malformed.
Result<void> read_gbnf(Grammar& grammar, std::string_view text);

}  // namespace wattn
