// Regular expressions as JavaScript writes them (ECMA-262, with the flag u) as expressions over bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "constraints/byte_regex.h"
#include "constraints/code_points.h"
#include "core/result.h"

namespace wattn {

// What \p{name} matches from now on: [first, last] of each range, in order. JavaScript engines know the properties, so the module
// needs no tables of them.
void define_property(std::string_view name, std::span<const std::int32_t> ranges);

// whole: the whole text must match the pattern; otherwise some part of the text must, as with "pattern" in JSON Schema. An
// UnsupportedError names what is not a regular language or has no meaning here (backreferences, lookbehind, undefined properties);
// an InputError names what is malformed.
Result<RegexId> read_pattern(Regexes& regexes, std::string_view pattern, bool whole, Writing writing);

}  // namespace wattn
