// torch.optim over parameters: groups with their own options, and the state kept between steps for each parameter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/module.h"

namespace wattn::nn {

class Optimizer {
 public:
  // kind: "SGD", "Adam" or "AdamW".
  static Result<Optimizer> make(std::string_view kind);

  // Whether step() will take these options of a group: torch's constructors check them.
  Result<void> check(Options options) const;
  // A parameter may be in one group only.
  Result<void> add_group(const std::vector<ParameterPtr>& parameters);
  // One step of all parameters that have a gradient. options: torch's, of each group; nothing changes if one is wrong.
  Result<void> step(std::vector<Options> options);

  // What is kept for each parameter in the order of the groups: [step], then moments or a velocity, as long as the parameter; empty
  // before its first step.
  std::vector<std::vector<Tensor>> state() const;
  Result<void> load(const std::vector<std::vector<Tensor>>& state);

 private:
  enum class Kind : std::uint8_t { kSgd, kAdam, kAdamW };
  struct Slot {
    ParameterPtr parameter;
    std::size_t group = 0;
    std::int64_t step = 0;
    std::vector<float> first, second;
  };
  explicit Optimizer(Kind kind) : kind_(kind) {}
  template <class F>
  Result<void> step_all(std::vector<Options>& options, const F& read, const auto& apply);

  Kind kind_;
  std::size_t groups_ = 0;
  std::vector<Slot> slots_;
};

// torch.nn.utils.clip_grad_norm_: the norm of all gradients before.
double clip_grad_norm(const std::vector<ParameterPtr>& parameters, double max_norm);

}  // namespace wattn::nn
