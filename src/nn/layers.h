// The basic modules of torch.nn.
#pragma once

#include <memory>
#include <string>

#include "nn/module.h"
#include "nn/norms.h"
#include "nn/pooling.h"
#include "nn/positional.h"

namespace wattn::nn {

// y = x W^T + b; x [..., in_features] -> [..., out_features]. weight [out, in], bias [out].
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool bias = true);
  ParameterPtr weight, bias;
  // Shares another module's weight, of the same shape (a tied output head).
  void tie(const ParameterPtr& other);
  Result<Tensor> apply(const Tensor& x) const { return packed_.apply(x, *weight, bias.get(), 0, out_); }

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  std::int64_t out_;
  PackedLinear packed_;
};

// Rows of weight [num_embeddings, embedding_dim] by ids.
class Embedding : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t dim);
  ParameterPtr weight;

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;
};

enum class NormKind : std::uint8_t { kLayer, kRms, kBatch, kInstance };

// LayerNorm, RMSNorm, BatchNorm1d and 2d (with the running statistics, or in train mode the batch's), InstanceNorm1d and 2d.
class Norm : public Module {
 public:
  Norm(std::string type, NormKind kind, Shape shape, float eps, bool affine = true, bool bias = true,
       EpsilonForm form = EpsilonForm::kInsideRoot, int rank = 0, double momentum = 0.1);
  ParameterPtr weight, bias, mean, variance;

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  NormKind kind_;
  Shape shape_;
  float eps_;
  EpsilonForm form_;
  int rank_;  // of the input, batch included; 0: any
  double momentum_;
};
std::shared_ptr<Norm> layer_norm_module(std::int64_t dim, float eps = 1e-5f, bool bias = true);

// A function without parameters: ReLU, GELU, SiLU, Tanh, Sigmoid, Softmax, Identity, Flatten, AvgPool2d, MaxPool2d,
// SequencePooling.
class Function : public Module {
 public:
  using F = std::function<Result<Tensor>(const Arguments&)>;
  Function(std::string type, F f, Shape kernel = {}) : Module(std::move(type)), f_(std::move(f)), kernel_(std::move(kernel)) {}
  Shape kernel_shape() const override { return kernel_; }

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  F f_;
  Shape kernel_;
};
inline constexpr std::pair<std::string_view, Activation> kActivationTypes[] = {
    {"ReLU", Activation::kRelu}, {"GELU", Activation::kGelu}, {"GELU", Activation::kGeluTanh},
    {"SiLU", Activation::kSilu}, {"Tanh", Activation::kTanh}, {"Sigmoid", Activation::kSigmoid}};
std::shared_ptr<Function> activation_module(Activation activation);

// Zeros with probability p in train mode, arXiv 1207.0580; else the input.
class Dropout : public Module {
 public:
  explicit Dropout(double p) : Module("Dropout"), p_(p) {}

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  double p_;
};
// The same inside a module of several parts.
Result<Tensor> dropped(const Module& module, double p, const Arguments& arguments, const Tensor& x);
double read_dropout(Options& options, std::string_view name, double fallback);

// Options shared by modules.
Activation read_activation(Options& options);  // activation: "relu" (default), "gelu", "gelu_tanh" or "silu"
void check_batch_first(Options& options);
void check_divides(Options& options, const char* name, std::int64_t width, std::int64_t heads);

enum class Positions : std::uint8_t { kNone, kSinusoidal, kNotes, kLearned };

// x [batch, seq, d] + table[first, first + seq), where first is the length of the cache. Learned: weight [max_len, d].
class PositionalEncoding : public Module {
 public:
  PositionalEncoding(Positions kind, std::int64_t max_len, std::int64_t dim, double base = 10000);
  ParameterPtr weight;  // null: of kNone, which adds nothing

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;
};

// Its parts in sequence; arguments other than the input go to every part.
class Sequential : public Module {
 public:
  explicit Sequential(const std::vector<ModulePtr>& parts);

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;
};

// Linear, activation, Linear: d -> width -> d.
class FeedForward : public Module {
 public:
  FeedForward(std::int64_t dim, std::int64_t width, Activation activation, bool bias = true);

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  std::shared_ptr<Linear> linear1_, linear2_;
  std::shared_ptr<Function> activation_;
};

}  // namespace wattn::nn
