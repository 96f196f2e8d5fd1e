#include "nn/module.h"

#include <algorithm>
#include <cmath>

#include "ops/linear.h"

namespace wattn::nn {

Result<Outputs> Module::forward(const Arguments& arguments, std::string_view name) const {
  if (!arguments.input) return input_error(where() + ": expected an input, found none");
  if (arguments.observer) arguments.observer->before(*this, name.empty() ? type_ : name, *arguments.input);
  auto out = run(arguments);
  if (arguments.observer && out.ok()) arguments.observer->after(*this, out.value());
  return out;
}

Result<Tensor> Module::operator()(const Tensor& x) const {
  Arguments arguments;
  arguments.input = &x;
  auto out = forward(arguments);
  if (!out.ok()) return out.error();
  return std::move(out.value().output);
}

Shape Module::kernel_shape() const {
  for (const Named& named : own_) {
    if (named.name == "weight") return named.parameter->value().dims;
  }
  return {};
}

void Module::collect(const std::string& prefix, std::vector<Named>& out) const {
  for (const Named& named : own_) out.push_back({prefix + named.name, named.parameter, named.draw, named.is_buffer});
  for (const Child& child : children_) child.module->collect(prefix + child.name + ".", out);
}

std::vector<Module::Named> Module::state() const {
  std::vector<Named> out;
  collect("", out);
  return out;
}

Result<void> Module::load(std::string_view name, Tensor value) const {
  for (const Named& named : state()) {
    if (named.name != name) continue;
    if (value.dims != named.parameter->value().dims) {
      return wrong_shape(where() + ".load_state_dict", "'" + named.name + "'", to_string(named.parameter->value().dims),
                         value.dims);
    }
    named.parameter->set(std::move(value));
    return {};
  }
  return input_error(where() + ".load_state_dict: unknown parameter '" + std::string(name) + "'");
}

void Module::draw(std::uint64_t seed) const {
  Generator generator(seed);
  std::vector<const Parameter*> done;
  for (const Named& named : state()) {
    if (std::find(done.begin(), done.end(), named.parameter.get()) != done.end()) continue;  // tied
    done.push_back(named.parameter.get());
    Tensor value = named.parameter->value();
    for (float& x : value.data) {
      switch (named.draw.kind) {
        case Draw::Kind::kUniform:
          x = static_cast<float>(generator.uniform(-named.draw.size, named.draw.size));
          break;
        case Draw::Kind::kNormal:
          x = static_cast<float>(named.draw.size * generator.normal());
          break;
        case Draw::Kind::kConstant:
          x = static_cast<float>(named.draw.size);
          break;
      }
    }
    named.parameter->set(std::move(value));
  }
}

void Module::each_part(const std::function<void(const Module&)>& visit) const {
  visit(*this);
  for (const Child& child : children_) child.module->each_part(visit);
}

void Module::train(bool yes) const {
  each_part([&](const Module& part) {
    part.training_ = yes;
    for (const Named& named : part.own_) {
      if (yes && !named.is_buffer) named.parameter->track();
    }
  });
}

std::vector<bool> Module::modes() const {
  std::vector<bool> out;
  each_part([&](const Module& part) { out.push_back(part.training_); });
  return out;
}

void Module::set_modes(const std::vector<bool>& modes) const {
  std::size_t i = 0;
  each_part([&](const Module& part) { part.training_ = modes[i++]; });
}

ParameterPtr Module::add_parameter(std::string name, const Shape& dims, Draw draw, bool is_buffer) {
  auto value = Tensor::zeros(dims);  // make_module reports a failure
  auto parameter = std::make_shared<Parameter>(value.ok() ? std::move(value).value() : Tensor{});
  own_.push_back({std::move(name), parameter, draw, is_buffer});
  return parameter;
}

void Module::replace_own(std::string_view name, const ParameterPtr& parameter) {
  for (Named& named : own_) {
    if (named.name == name) named.parameter = parameter;
  }
}

Result<Tensor> PackedLinear::apply(const Tensor& x, const Parameter& weight, const Parameter* bias, std::int64_t begin,
                                   std::int64_t count) const {
  const Tensor& w = weight.value();
  const std::int64_t in = w.dim(1);
  if (x.rank() == 0 || x.dim(-1) != in) return wrong_shape("nn.Linear", "the input", "[..., " + std::to_string(in) + "]", x.dims);
  wattn::LinearWeights layer{.in = in, .out = count};
  if (of_ != &weight || version_ != weight.version()) {
    Arena measure;
    take_linear(measure, compute().kernels, WeightType::kF32, in, count, false);
    auto arena = Arena::with_zeros(measure.used(), "the weights of a Linear");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
    layer = take_linear(*arena_, compute().kernels, WeightType::kF32, in, count, false);
    for (std::int64_t j = 0; j < count; ++j) set_weight_row(layer, j, w.at((begin + j) * in));
    packed_ = layer.weight;
    of_ = &weight;
    version_ = weight.version();
  }
  layer.weight = packed_;
  std::vector<float> shift;
  if (bias) shift.assign(bias->value().at(begin), bias->value().at(begin) + count);
  layer.bias = bias ? shift.data() : nullptr;
  Shape dims = x.dims;
  dims.back() = count;
  auto out = Tensor::zeros(dims);
  if (!out.ok()) return out;
  wattn::linear(compute(), layer, x.at(0), x.rows(), Activation::kNone, {}, out.value().at(0));
  record(out.value(), {&x, &w, bias ? &bias->value() : nullptr}, [&] {
    const std::shared_ptr<const Parameter> matrix = weight.shared_from_this();
    return [x = x.data, matrix, in, begin, count, rows = x.rows()](const Flow& flow) {
      LinearGradient gradient{.in = in,
                              .out = count,
                              .tokens = rows,
                              .weight = matrix->value().at(begin * in),
                              .x = x.data(),
                              .dy = flow.dy,
                              .dx = nullptr,
                              .d_weight = flow.wants(1) ? flow.to(1) + begin * in : nullptr,
                              .d_bias = flow.wants(2) ? flow.to(2) + begin : nullptr};
      std::vector<float> scratch(static_cast<std::size_t>(linear_backward_scratch(in, count, rows, compute().team.threads())));
      if (!flow.wants(0)) return linear_backward(compute(), gradient, scratch.data());
      flow.add(0, [&](float* dx) {
        gradient.dx = dx;
        linear_backward(compute(), gradient, scratch.data());
      });
    };
  });
  if (out.value().node) out.value().node->reads.emplace_back(weight.shared_from_this(), weight.version());
  return out;
}

}  // namespace wattn::nn
