#include "nn/optimizer.h"

#include <algorithm>
#include <cmath>

#include "learn/optim.h"

namespace wattn::nn {
namespace {

float read_least(Options& options, const char* name, double fallback) {
  const double value = options.number(name, fallback);
  if (!(value >= 0 && value < HUGE_VAL))
    options.fail("option '" + std::string(name) + "': expected a number from 0 on, found " + std::to_string(value));
  return static_cast<float>(value);
}

float read_finite(Options& options, const char* name, double fallback) {
  const double value = options.number(name, fallback);
  if (!std::isfinite(value))
    options.fail("option '" + std::string(name) + "': expected a finite number, found " + std::to_string(value));
  return static_cast<float>(value);
}

Sgd read_sgd(Options& options) {
  Sgd out{.lr = read_least(options, "lr", 1e-3),
          .momentum = read_least(options, "momentum", 0),
          .dampening = read_finite(options, "dampening", 0),
          .weight_decay = read_least(options, "weight_decay", 0),
          .nesterov = options.yes("nesterov", false)};
  if (out.nesterov && (out.momentum == 0 || out.dampening != 0))
    options.fail("option 'nesterov': expected a momentum above 0 and a dampening of 0");
  return out;
}

Adam read_adam(Options& options, bool decoupled) {
  Adam out{.lr = read_least(options, "lr", 1e-3),
           .beta1 = options.number("beta1", 0.9),
           .beta2 = options.number("beta2", 0.999),
           .eps = read_least(options, "eps", 1e-8),
           .weight_decay = read_least(options, "weight_decay", decoupled ? 1e-2 : 0),
           .decoupled = decoupled};
  for (const double beta : {out.beta1, out.beta2}) {
    if (!(beta >= 0 && beta < 1)) options.fail("option 'betas': expected numbers from 0 to below 1, found " + std::to_string(beta));
  }
  return out;
}

}  // namespace

Result<Optimizer> Optimizer::make(std::string_view kind) {
  if (kind == "SGD") return Optimizer(Kind::kSgd);
  if (kind == "Adam") return Optimizer(Kind::kAdam);
  if (kind == "AdamW") return Optimizer(Kind::kAdamW);
  return input_error("nn.optim: expected SGD, Adam or AdamW, found '" + std::string(kind) + "'");
}

Result<void> Optimizer::check(Options options) const {
  if (kind_ == Kind::kSgd) {
    read_sgd(options);
  } else {
    read_adam(options, kind_ == Kind::kAdamW);
  }
  return options.finish();
}

Result<void> Optimizer::add_group(const std::vector<ParameterPtr>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterPtr& parameter = parameters[i];
    const bool here = std::find(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(i), parameter) !=
                      parameters.begin() + static_cast<std::ptrdiff_t>(i);
    if (here || std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.parameter == parameter; })) {
      return input_error("nn.optim: expected each parameter once, found parameter " + std::to_string(i) + " of a group twice");
    }
  }
  for (const ParameterPtr& parameter : parameters) slots_.push_back({parameter, groups_, 0, {}, {}});
  ++groups_;
  return {};
}

template <class F>
Result<void> Optimizer::step_all(std::vector<Options>& options, const F& read, const auto& apply) {
  std::vector<decltype(read(options[0]))> groups;
  for (Options& group : options) {
    groups.push_back(read(group));
    if (const auto end = group.finish(); !end.ok()) return end;
  }
  for (Slot& slot : slots_) {
    const std::span<float> gradient = slot.parameter->grad();
    if (gradient.empty()) continue;
    ++slot.step;
    apply(groups[slot.group], slot, gradient.data());
  }
  return {};
}

Result<void> Optimizer::step(std::vector<Options> options) {
  if (options.size() != groups_) return input_error("nn.optim: expected options of " + std::to_string(groups_) + " groups");
  if (kind_ == Kind::kSgd) {
    return step_all(options, read_sgd, [](const Sgd& sgd, Slot& slot, const float* gradient) {
      if (sgd.momentum != 0) slot.first.resize(slot.parameter->value().data.size());
      sgd_step(sgd, slot.step, slot.parameter->change(), gradient, sgd.momentum != 0 ? slot.first.data() : nullptr);
    });
  }
  const auto read = [&](Options& group) { return read_adam(group, kind_ == Kind::kAdamW); };
  return step_all(options, read, [](const Adam& adam, Slot& slot, const float* gradient) {
    const std::size_t size = slot.parameter->value().data.size();
    slot.first.resize(size);
    slot.second.resize(size);
    adam_step(adam, slot.step, slot.parameter->change(), gradient, slot.first.data(), slot.second.data());
  });
}

std::vector<std::vector<Tensor>> Optimizer::state() const {
  std::vector<std::vector<Tensor>> out;
  for (const Slot& slot : slots_) {
    std::vector<Tensor>& tensors = out.emplace_back();
    if (slot.step == 0) continue;
    tensors.push_back(Tensor::of({}, {static_cast<float>(slot.step)}));
    for (const std::vector<float>* moment : {&slot.first, &slot.second}) {
      if (!moment->empty()) tensors.push_back(Tensor::of(slot.parameter->value().dims, *moment));
    }
  }
  return out;
}

Result<void> Optimizer::load(const std::vector<std::vector<Tensor>>& state) {
  if (state.size() != slots_.size()) {
    return input_error("nn.optim.load_state_dict: expected the state of " + std::to_string(slots_.size()) + " parameters, found " +
                       std::to_string(state.size()));
  }
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Shape& dims = slots_[i].parameter->value().dims;
    for (std::size_t j = 0; j < state[i].size(); ++j) {
      const Shape expected = j == 0 ? Shape{} : dims;
      if (state[i][j].dims != expected || j > 2) {
        return wrong_shape("nn.optim.load_state_dict", "the state of parameter " + std::to_string(i), to_string(expected),
                           state[i][j].dims);
      }
    }
  }
  for (std::size_t i = 0; i < state.size(); ++i) {
    const auto moment = [&](std::size_t j) { return j < state[i].size() ? state[i][j].data : std::vector<float>(); };
    slots_[i].step = state[i].empty() ? 0 : static_cast<std::int64_t>(state[i][0].data[0]);
    slots_[i].first = moment(1);
    slots_[i].second = moment(2);
  }
  return {};
}

double clip_grad_norm(const std::vector<ParameterPtr>& parameters, double max_norm) {
  std::vector<std::span<float>> gradients;
  gradients.reserve(parameters.size());
  for (const ParameterPtr& parameter : parameters) gradients.push_back(parameter->grad());
  return wattn::clip_grad_norm(gradients, max_norm);
}

}  // namespace wattn::nn
