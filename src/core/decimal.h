// The double nearest to a decimal number.
#pragma once

#include <string_view>

namespace wattn {

// text: a number in JSON's grammar. Ties go to the even double, as IEEE 754 has it; too large: infinity. Not strtod, which computes
// in soft 128-bit floats in WebAssembly: 5 kB more (brotli).
double nearest_double(std::string_view text);

}  // namespace wattn
