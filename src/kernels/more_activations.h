// Activations that few models have: is_more(). They are a pass of their own, so that each is in a program once. A program that
// defines these functions itself, with no names, has only the common ones.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernels.h"

namespace wattn {

struct NamedActivation {
  std::string_view name;   // in transformers' ACT2FN; empty: none
  std::string_view torch;  // its class in torch.nn, made without arguments; empty: none
  Activation activation;
};
std::span<const NamedActivation> more_activations();

// As activate() of the kernel table.
void activate_more(Activation activation, const float* x, float* out, std::int64_t n);

}  // namespace wattn
