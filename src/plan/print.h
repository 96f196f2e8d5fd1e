// A plan as text, one line a step.
#pragma once

#include <string>

#include "plan/plan.h"

namespace wattn {

// `wattn inspect --plan`, and the files plan.txt beside the goldens. A line is "result = op(what it reads; weight [shape];
// constants)". Results have the names of their taps; x is what the section reads.
std::string to_text(const Plan& plan);

// The words of that text.
const char* name_of(Op op);
const char* variant_of(const Step& step);  // "": the op has none, or this one needs no word

}  // namespace wattn
