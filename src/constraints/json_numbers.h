// JSON's numbers as JavaScript writes them: each number in one way, below 10^21.
#pragma once

#include <string>

#include "constraints/byte_regex.h"

namespace wattn {

RegexId any_number(Regexes& regexes);
RegexId any_integer(Regexes& regexes);
// Numbers of at least or at most a bound, which has at most 21 digits before the point and is 0 or at least 10^-6.
RegexId numbers_from(Regexes& regexes, double bound, bool exclusive);
RegexId numbers_to(Regexes& regexes, double bound, bool exclusive);
bool is_plain_number(double number);
// kNothing if it has too many digits for an automaton.
RegexId multiples_of(Regexes& regexes, double divisor);
// As JSON.stringify() writes it.
std::string number_text(double number);

}  // namespace wattn
