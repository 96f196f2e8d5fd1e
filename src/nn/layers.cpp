#include "nn/layers.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "nn/elementwise.h"
#include "nn/functional.h"

namespace wattn::nn {
namespace {

Draw uniform(double bound) { return {Draw::Kind::kUniform, bound}; }
Draw constant(double value) { return {Draw::Kind::kConstant, value}; }

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias) : Module("Linear"), out_(out) {
  const Draw draw = uniform(1 / std::sqrt(static_cast<double>(in)));
  weight = add_parameter("weight", {out, in}, draw);
  if (with_bias) bias = add_parameter("bias", {out}, draw);
}

void Linear::tie(const ParameterPtr& other) {
  weight = other;
  replace_own("weight", other);
}

Result<Outputs> Linear::run(const Arguments& arguments) const {
  arguments.count_macs(arguments.input->rows() * weight->value().size());
  return to_outputs(apply(*arguments.input));
}

Embedding::Embedding(std::int64_t count, std::int64_t dim) : Module("Embedding") {
  weight = add_parameter("weight", {count, dim}, {Draw::Kind::kNormal, 1});
}

Result<Outputs> Embedding::run(const Arguments& arguments) const {
  return to_outputs(embedding(*arguments.input, weight->value()));
}

Norm::Norm(std::string type, NormKind kind, Shape shape, float eps, bool affine, bool with_bias, EpsilonForm form, int rank,
           double momentum)
    : Module(std::move(type)), kind_(kind), shape_(std::move(shape)), eps_(eps), form_(form), rank_(rank), momentum_(momentum) {
  if (affine) weight = add_parameter("weight", shape_, constant(1));
  if (affine && with_bias && kind != NormKind::kRms) bias = add_parameter("bias", shape_, constant(0));
  if (kind != NormKind::kBatch) return;
  mean = add_parameter("running_mean", shape_, constant(0), true);
  variance = add_parameter("running_var", shape_, constant(1), true);
}

Result<Outputs> Norm::run(const Arguments& arguments) const {
  const Tensor& x = *arguments.input;
  const Tensor* w = weight ? &weight->value() : nullptr;
  const Tensor* b = bias ? &bias->value() : nullptr;
  if (rank_ != 0 && x.rank() != rank_ && !(rank_ == 3 && x.rank() == 2 && kind_ == NormKind::kBatch)) {
    return wrong_shape(where(), "the input", "with " + std::to_string(rank_) + " dimensions", x.dims);
  }
  switch (kind_) {
    case NormKind::kLayer:
      return to_outputs(layer_norm(x, shape_, w, b, eps_, form_));
    case NormKind::kRms:
      return to_outputs(rms_norm(x, shape_, w, eps_));
    case NormKind::kBatch:
      if (training()) return to_outputs(batch_norm_training(x, mean->change(), variance->change(), momentum_, w, b, eps_));
      return to_outputs(batch_norm(x, mean->value(), variance->value(), w, b, eps_));
    case NormKind::kInstance:
      if (x.rank() < 2 || x.dim(1) != shape_[0])
        return wrong_shape(where(), "the input", "[batch, " + std::to_string(shape_[0]) + ", ...]", x.dims);
      return to_outputs(instance_norm(x, w, b, eps_));
  }
  return input_error(where() + ": unknown kind");
}

std::shared_ptr<Norm> layer_norm_module(std::int64_t dim, float eps, bool bias) {
  return std::make_shared<Norm>("LayerNorm", NormKind::kLayer, Shape{dim}, eps, true, bias);
}

Result<Outputs> Function::run(const Arguments& arguments) const { return to_outputs(f_(arguments)); }

std::shared_ptr<Function> activation_module(Activation activation) {
  const auto row = std::find_if(std::begin(kActivationTypes), std::end(kActivationTypes),
                                [&](const auto& one) { return one.second == activation; });
  return std::make_shared<Function>(row == std::end(kActivationTypes) ? "Identity" : std::string(row->first),
                                    [=](const Arguments& a) -> Result<Tensor> { return activate(*a.input, activation); });
}

Result<Tensor> dropped(const Module& module, double p, const Arguments& arguments, const Tensor& x) {
  if (!module.training() || !arguments.random) return x;
  return dropout(x, p, *arguments.random);
}

double read_dropout(Options& options, std::string_view name, double fallback) {
  const double p = options.number(name, fallback);
  if (!(p >= 0 && p <= 1))
    options.fail("option '" + std::string(name) + "': expected a number from 0 to 1, found " + std::to_string(p));
  return p;
}

Result<Outputs> Dropout::run(const Arguments& arguments) const {
  return to_outputs(dropped(*this, p_, arguments, *arguments.input));
}

Activation read_activation(Options& options) {
  constexpr std::pair<std::string_view, Activation> kActivations[] = {
      {"relu", Activation::kRelu}, {"gelu", Activation::kGelu}, {"gelu_tanh", Activation::kGeluTanh}, {"silu", Activation::kSilu}};
  return options.choice("activation", kActivations, Activation::kRelu);
}

void check_batch_first(Options& options) {
  if (options.yes("batch_first", true)) return;
  options.fail("batch_first: false is not supported; tensors are [batch, seq, hidden]");
}

void check_divides(Options& options, const char* name, std::int64_t width, std::int64_t heads) {
  if (width % heads == 0) return;
  options.fail(std::string("expected ") + name + " to be a multiple of the " + std::to_string(heads) + " heads, found " +
               std::to_string(width));
}

PositionalEncoding::PositionalEncoding(Positions kind, std::int64_t max_len, std::int64_t dim, double base)
    : Module("PositionalEncoding") {
  if (kind == Positions::kLearned) {
    weight = add_parameter("weight", {max_len, dim}, {Draw::Kind::kNormal, 1});
    return;
  }
  if (kind == Positions::kNone) return;
  auto table = sinusoidal(max_len, dim, kind == Positions::kNotes ? SinusoidalForm::kNotes : SinusoidalForm::kVaswani, base);
  weight = std::make_shared<Parameter>(table.ok() ? std::move(table).value() : Tensor{});  // not a parameter, as it is not learned
}

Result<Outputs> PositionalEncoding::run(const Arguments& arguments) const {
  const Tensor& x = *arguments.input;
  if (!weight) return Outputs{x, {}};
  const Tensor& table = weight->value();
  if (x.rank() < 2 || table.rank() != 2 || x.dim(-1) != table.dim(1)) {
    return wrong_shape(where(), "the input", "[..., seq, d] for a table of shape " + to_string(table.dims), x.dims);
  }
  const std::int64_t first = arguments.cache ? arguments.cache->length : 0;
  const std::int64_t seq = x.dim(-2), dim = x.dim(-1);
  if (first + seq > table.dim(0)) {
    return input_error(where() + ": expected at most max_len = " + std::to_string(table.dim(0)) + " positions, found " +
                       std::to_string(first + seq));
  }
  Tensor out = x;
  for (std::int64_t i = 0; i < x.rows(); ++i) compute().kernels.axpy(1.0f, table.at((first + i % seq) * dim), out.at(i * dim), dim);
  record(out, {&x, &table}, [&] {
    return [first, seq, dim, rows = x.rows()](const Flow& flow) {
      if (flow.wants(0)) compute().kernels.axpy(1.0f, flow.dy, flow.to(0), rows * dim);
      for (std::int64_t i = 0; flow.wants(1) && i < rows; ++i) {
        compute().kernels.axpy(1.0f, flow.dy + i * dim, flow.to(1) + (first + i % seq) * dim, dim);
      }
    };
  });
  return Outputs{std::move(out), {}};
}

Sequential::Sequential(const std::vector<ModulePtr>& parts) : Module("Sequential") {
  for (const ModulePtr& part : parts) add_child(std::to_string(children().size()), part);
}

Result<Outputs> Sequential::run(const Arguments& arguments) const {
  Outputs out{*arguments.input, {}};
  for (const Child& child : children()) {
    Arguments next = arguments;
    const Tensor x = std::move(out.output);
    next.input = &x;
    auto result = call(*child.module, child.name, next);
    if (!result.ok()) return result;
    out = std::move(result).value();
  }
  return out;
}

FeedForward::FeedForward(std::int64_t dim, std::int64_t width, Activation activation, bool bias) : Module("FeedForward") {
  linear1_ = add_child("linear1", std::make_shared<Linear>(dim, width, bias));
  activation_ = add_child("activation", activation_module(activation));
  linear2_ = add_child("linear2", std::make_shared<Linear>(width, dim, bias));
}

Result<Outputs> FeedForward::run(const Arguments& arguments) const {
  auto out = call(*linear1_, "linear1", arguments.only(*arguments.input));
  if (!out.ok()) return out;
  auto active = call(*activation_, "activation", arguments.only(out.value().output));
  if (!active.ok()) return active;
  return call(*linear2_, "linear2", arguments.only(active.value().output));
}

}  // namespace wattn::nn
