// The formats of JSON Schema that are regular languages.
#pragma once

#include <string>
#include <string_view>

namespace wattn {

// A pattern (read_pattern) of whole texts; empty for an unknown format.
std::string format_pattern(std::string_view name);

}  // namespace wattn
