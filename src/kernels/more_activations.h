// Activations that few models use: is_more(). They run as a separate pass, so that a program contains each of them once.
#pragma once

#include <span>
#include <string_view>

#include "core/part.h"
#include "kernels/kernels.h"

namespace wattn {

struct NamedActivation {
  std::string_view name;   // in transformers' ACT2FN; empty: none
  std::string_view torch;  // its class in torch.nn, made without arguments; empty: none
  Activation activation;
};

struct MoreActivations {
  std::span<const NamedActivation> named;
  // As activate() of the kernel table.
  void (*run)(Activation activation, const float* x, float* out, std::int64_t n);
};
extern const MoreActivations kMoreActivations;

inline std::span<const NamedActivation> more_activations() {
  const auto* more = Part<MoreActivations>::get();
  return more ? more->named : std::span<const NamedActivation>();
}

}  // namespace wattn
