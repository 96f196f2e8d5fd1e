// build: -Os
// The table of derivatives. What a row calls is in the op's own file.
#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "ops/activation.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/op_gradient.h"
#include "ops/position.h"

namespace wattn {

const LoraFactors* Training::lora_of(const LinearWeights& layer) const {
  const auto found = std::ranges::find(lora, static_cast<const void*>(layer.weight), &LoraFactors::weight);
  return found == lora.end() ? nullptr : &*found;
}

float* Training::bias_gradient(const float* bias) const {
  const auto found = std::ranges::find(biases, bias, &BiasGradient::bias);
  return !bias || found == biases.end() ? nullptr : found->gradient;
}

void drop_in_training(const OpCall& call, DropPlace place) {
  if (call.pass.training->dropout.at(place) == 0) return;
  drop(*call.pass.compute, call.pass.training->at(place, call.layer), call.out, call.rows * call.width);
}

namespace {

template <class T>
const T& weight_of(const OpCall& call) {
  return *static_cast<const T*>(call.weight);
}
template <class T>
const T* gradient_of(const GradientCall& call) {
  return static_cast<const T*>(call.gradient);
}

void add_to(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// Linear, with additions to its weights that learn.

// A resumed run continues the random numbers of these by their position: append new names at the end.
constexpr std::string_view kLoraPlaces[] = {"query_key_value", "attention_output", "up",          "down", "query_key",
                                            "cross_query",     "cross_key_value",  "cross_output"};
// A layer with a short convolution has no attention: its matrices take those places.
constexpr std::string_view kConvolutionPlaces[] = {"convolution_in", "convolution_out"};

Dropout lora_dropout(const OpCall& call) {
  constexpr std::uint64_t kLoraSeed = 0x10A;  // places of their own
  const Training& training = *call.pass.training;
  auto place = std::ranges::find(kLoraPlaces, std::string_view(call.weight_name)) - std::begin(kLoraPlaces);
  if (place == std::ssize(kLoraPlaces)) {
    place = std::ranges::find(kConvolutionPlaces, std::string_view(call.weight_name)) - std::begin(kConvolutionPlaces);
  }
  return dropout_at(training.dropout.lora, training.seed ^ (kLoraSeed << 48), training.step,
                    static_cast<std::uint64_t>(call.layer * std::ssize(kLoraPlaces) + place));
}

const LoraFactors* lora_of(const OpCall& call) { return call.pass.training->lora_of(weight_of<LinearWeights>(call)); }

struct LoraMemory {
  float *inner, *d_inner;  // [rows, rank]
  float *read, *added;     // [rows, in], [rows, in or out] with dropout
  float* outputs;          // [rows, width] with DoRA
};
LoraMemory take_lora(const OpCall& call, const LoraFactors& lora) {
  const std::int64_t dropped = call.pass.training->dropout.lora > 0 ? call.rows : 0;
  Arena& arena = *call.scratch;
  return {arena.take<float>(call.rows * lora.a.out), arena.take<float>(call.rows * lora.a.out),
          arena.take<float>(dropped * lora.a.in), arena.take<float>(dropped * std::max(lora.a.in, lora.b.out)),
          arena.take<float>(lora.d_outputs ? call.rows * call.width : 0)};
}

// What A reads of x.
const float* lora_input(const OpCall& call, const LoraFactors& lora, const LoraMemory& memory) {
  if (call.pass.training->dropout.lora == 0) return call.x;
  const std::int64_t count = call.rows * lora.a.in;
  std::copy_n(call.x, count, memory.read);
  drop(*call.pass.compute, lora_dropout(call), memory.read, count);
  return memory.read;
}

// The weights have W + B A. What dropout changes: y += B A (dropped x - x).
void training_linear(const OpCall& call) {
  op_row(Op::kLinear).forward(call);
  const LoraFactors* lora = call.pass.training->dropout.lora > 0 ? lora_of(call) : nullptr;
  if (!lora) return;
  const LoraMemory memory = take_lora(call, *lora);
  lora_input(call, *lora, memory);
  for (std::int64_t i = 0; i < call.rows * lora->a.in; ++i) memory.read[i] -= call.x[i];
  linear(*call.pass.compute, lora->a, memory.read, call.rows, Activation::kNone, {}, memory.inner);
  linear(*call.pass.compute, lora->b, memory.inner, call.rows, Activation::kNone, {}, memory.added);
  for (std::int64_t t = 0; t < call.rows; ++t) add_to(memory.added + t * lora->b.out, call.width, call.out + t * call.width);
}

void training_linear_scratch(const OpCall& call) {
  op_row(Op::kLinear).scratch(call);
  if (const LoraFactors* lora = lora_of(call)) take_lora(call, *lora);
}

void attend_in_training(const OpCall& call) {
  const DropPlace place = call.attention->cross ? DropPlace::kCrossProbabilities : DropPlace::kProbabilities;
  const ProbabilityDropout dropout = drop_probabilities(call.pass.training->at(place, call.layer));
  OpCall dropped = call;
  if (dropout.dropout.rate > 0) dropped.dropout = &dropout;
  op_row(Op::kAttention).forward(dropped);
}

float* take_linear(const OpCall& call, std::int64_t in, std::int64_t out) {
  return call.scratch->take<float>(linear_backward_scratch(in, out, call.rows, call.pass.sizes.threads));
}

// What DoRA's magnitudes learn from.
void add_output_gradients(const GradientCall& call, const LoraFactors& lora, float* outputs) {
  const OpCall& forward = call.forward;
  LinearWeights layer = weight_of<LinearWeights>(forward);
  layer.bias = nullptr;
  layer.out = forward.width;
  linear(*forward.pass.compute, layer, forward.x, forward.rows, Activation::kNone, {}, outputs);
  for (std::int64_t i = 0; i < forward.rows * layer.out; ++i) lora.d_outputs[i % layer.out] += call.d_out[i] * outputs[i];
}

void lora_backward(const GradientCall& call, const LoraFactors& lora, const LoraMemory& memory, float* dx) {
  const OpCall& forward = call.forward;
  const Compute& compute = *forward.pass.compute;
  const float* read = lora_input(forward, lora, memory);
  if (lora.d_outputs) add_output_gradients(call, lora, memory.outputs);
  linear(compute, lora.a, read, forward.rows, Activation::kNone, {}, memory.inner);
  linear_backward(compute,
                  {.in = lora.b.in,
                   .out = forward.width,
                   .tokens = forward.rows,
                   .layer = &lora.b,
                   .x = memory.inner,
                   .dy = call.d_out,
                   .dx = memory.d_inner,
                   .d_layer = &lora.d_b},
                  take_linear(forward, lora.b.in, lora.b.out));
  linear_backward(compute,
                  {.in = lora.a.in,
                   .out = lora.a.out,
                   .tokens = forward.rows,
                   .layer = &lora.a,
                   .x = read,
                   .dy = memory.d_inner,
                   .dx = dx,
                   .d_layer = &lora.d_a},
                  take_linear(forward, lora.a.in, lora.a.out));
}

void run_linear_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  const Training& training = *forward.pass.training;
  const auto& layer = weight_of<LinearWeights>(forward);
  const LoraFactors* lora = lora_of(forward);
  const LoraMemory memory = lora ? take_lora(forward, *lora) : LoraMemory{};
  const bool drops = lora && call.d_x && training.dropout.lora > 0;
  if (lora) lora_backward(call, *lora, memory, drops ? memory.added : nullptr);
  linear_backward(*forward.pass.compute,
                  {.in = layer.in,
                   .out = forward.width,
                   .tokens = forward.rows,
                   .layer = &layer,
                   .x = forward.x,
                   .dy = call.d_out,
                   .dx = call.d_x,
                   .d_bias = training.bias_gradient(layer.bias),
                   .d_layer = gradient_of<LinearWeights>(call)},
                  take_linear(forward, layer.in, layer.out));
  if (!drops) return;
  const Dropout dropout = lora_dropout(forward);
  for (std::int64_t i = 0; i < forward.rows * layer.in; ++i) {
    call.d_x[i] += (dropout.factor(static_cast<std::uint64_t>(i)) - 1) * memory.added[i];
  }
}

void linear_backward_memory(const GradientCall& call) {
  const auto& layer = weight_of<LinearWeights>(call.forward);
  if (const LoraFactors* lora = lora_of(call.forward)) {
    take_lora(call.forward, *lora);
    take_linear(call.forward, lora->b.in, lora->b.out);
    take_linear(call.forward, lora->a.in, lora->a.out);
  }
  take_linear(call.forward, layer.in, layer.out);
}

// Tables.

std::vector<std::int32_t> ids_of(const OpCall& call) {
  const Batch& batch = *call.pass.batch;
  if (static_cast<IdsOf>(call.variant) == IdsOf::kTokenTypes) return batch.token_type_ids;
  if (static_cast<IdsOf>(call.variant) == IdsOf::kPositions) return batch.position_ids;
  std::vector<std::int32_t> rows;
  each_position_after_padding(batch, static_cast<std::int32_t>(call.factor),
                              [&](std::int64_t, std::int32_t row) { rows.push_back(row); });
  return rows;
}

void words_backward(const GradientCall& call) {
  constexpr std::int32_t kFirst = 0;
  const Training& training = *call.forward.pass.training;
  const std::int64_t width = call.forward.width;
  const WordTable* words = training.words ? training.words : gradient_of<WordTable>(call);
  const std::span<const std::int32_t> ids = call.forward.pass.batch->input_ids;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const float* d = call.d_out + static_cast<std::int64_t>(i) * width;
    if (ids[i] == weight_of<WordTable>(call.forward).padding) continue;
    if (training.word_rows) {
      embedding_backward({&kFirst, 1}, d, width, training.word_rows->find(ids[i]));
    } else if (words->head) {
      add_weight_row(*words->head, ids[i], d);
    } else {
      embedding_backward({&ids[i], 1}, d, width, static_cast<float*>(words->table->table));
    }
  }
}

// d_x is d_out: the sum has passed it on.
void add_rows_backward(const GradientCall& call) {
  if (call.d_x && call.d_x != call.d_out) std::copy_n(call.d_out, call.forward.rows * call.forward.width, call.d_x);
  if (!call.gradient) return;
  embedding_backward(ids_of(call.forward), call.d_out, call.forward.width,
                     static_cast<float*>(gradient_of<EmbeddingTable>(call)->table));
}

void relative_backward(const GradientCall& call) {
  if (!call.gradient) return;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(call.forward.rows));
  std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(call.forward.pass.relative.first));
  embedding_backward(ids, call.d_out, call.forward.width, static_cast<float*>(gradient_of<EmbeddingTable>(call)->table));
}

// Norms.

void norm_rows_backward(const GradientCall& call, NormKind kind, const float* x, const float* dy, std::int64_t rows, float* dx,
                        float* scratch) {
  const auto& norm = weight_of<LayerNorm>(call.forward);
  const auto* gradient = gradient_of<LayerNorm>(call);
  float* d_beta = gradient && gradient->beta ? gradient->beta : call.forward.pass.training->bias_gradient(norm.beta);
  const bool has_bias = kind == NormKind::kLayer && call.forward.has_bias;
  normalise_backward(*call.forward.pass.compute, kind, norm, x, dy, rows, dx, gradient ? gradient->gamma : nullptr,
                     has_bias ? d_beta : nullptr, scratch);
}

float* take_norm(const GradientCall& call) { return call.forward.scratch->take<float>(2 * call.forward.rows); }

void norm_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  norm_rows_backward(call, static_cast<NormKind>(forward.variant), forward.x, call.d_out, forward.rows, call.d_x, take_norm(call));
}

void head_norm_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  const std::int64_t dim = weight_of<LayerNorm>(forward).hidden;
  const AttentionShape& shape = forward.attention->shape;
  const bool keys = forward.variant == 1;
  const std::int64_t width = keys ? shape.kv_width() : shape.query_width(), first = keys ? shape.query_width() : 0;
  float* scratch = forward.scratch->take<float>(2 * (width / dim));
  float* d = forward.scratch->take<float>(width);
  if (call.d_x != call.d_out) std::copy_n(call.d_out, forward.rows * forward.width, call.d_x);
  for (std::int64_t i = 0; i < forward.rows; ++i) {
    const std::int64_t at = i * forward.width + first;
    std::copy_n(call.d_x + at, width, d);
    std::fill_n(call.d_x + at, width, 0.0f);
    norm_rows_backward(call, NormKind::kRms, forward.x + at, d, width / dim, call.d_x + at, scratch);
  }
}

void head_norm_scratch(const GradientCall& call) {
  const AttentionShape& shape = call.forward.attention->shape;
  const std::int64_t width = call.forward.variant == 1 ? shape.kv_width() : shape.query_width();
  call.forward.scratch->take<float>(2 * (width / weight_of<LayerNorm>(call.forward).hidden));
  call.forward.scratch->take<float>(width);
}

// Elementwise.

// d_out at the place of d_x.
float* passed_on(const GradientCall& call) {
  if (call.d_x != call.d_out) std::copy_n(call.d_out, call.forward.rows * call.forward.width, call.d_x);
  return call.d_x;
}

void scale_backward(const GradientCall& call) {
  float* d = passed_on(call);
  for (std::int64_t i = 0; i < call.forward.rows * call.forward.width; ++i) d[i] *= call.forward.factor;
}

void rotate_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  const AttentionShape& shape = forward.attention->shape;
  rotate_heads_backward(*forward.pass.compute, weight_of<Rotary>(forward), forward.pass.batch->position_ids,
                        shape.heads + shape.kv_heads, forward.width, passed_on(call));
}

void activate_rows_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  activate_backward(*forward.pass.compute, static_cast<Activation>(forward.variant), forward.x, call.d_out, forward.rows,
                    forward.width, call.d_x);
}

void gate_rows_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  gate_backward(*forward.pass.compute, static_cast<Activation>(forward.variant), forward.x, call.d_out, forward.rows, forward.width,
                call.d_x);
}

// The gradient of factor * x; the pass hands d_out on to `other`, and to x where the factor is 1.
void add_backward(const GradientCall& call) {
  if (!call.d_x) return;
  for (std::int64_t i = 0; i < call.forward.rows * call.forward.width; ++i) call.d_x[i] = call.forward.factor * call.d_out[i];
}

void cap_backward(const GradientCall& call) {
  softcap_backward(call.forward.factor, call.forward.out, call.forward.rows * call.forward.width, passed_on(call));
}

// Attention.

std::vector<float*> take_attention(const OpCall& call) {
  const PassSizes& sizes = call.pass.sizes;
  const std::int64_t floats =
      attention_backward_scratch(call.attention->shape, std::max(sizes.keys, sizes.own_keys), sizes.buckets);
  std::vector<float*> out;
  out.reserve(static_cast<std::size_t>(sizes.threads));
  for (int i = 0; i < sizes.threads; ++i) out.push_back(call.scratch->take<float>(floats));
  return out;
}

void attend_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  const AttentionStep& step = *forward.attention;
  const DropPlace place = step.cross ? DropPlace::kCrossProbabilities : DropPlace::kProbabilities;
  const ProbabilityDropout dropout = drop_probabilities(forward.pass.training->at(place, forward.layer));
  OpCall dropped = forward;
  if (dropout.dropout.rate > 0) dropped.dropout = &dropout;
  Disentangled relative;
  const ScoreTerms terms = score_terms(dropped, relative);
  AttentionGradient gradient{.d_context = call.d_out, .d_queries = call.d_x};
  float* keys = step.cross ? call.d_other : call.d_x + step.shape.query_width();
  gradient.d_keys = keys;
  gradient.d_values = keys + step.shape.kv_width();
  DistanceBias bias;
  if (const auto* d_bias = gradient_of<DistanceBias>(call)) {
    bias = *d_bias;
    gradient.d_bias = &bias;
  }
  if (!step.cross) gradient.d_relative = call.d_other;
  attention_backward(*forward.pass.compute, step.shape, terms, attention_input(dropped), take_attention(forward), gradient);
}

void store_backward(const GradientCall&) {}

Learns linear_learns(const OpCall& call) {
  if (lora_of(call)) return Learns::kWhole;
  return call.pass.training->bias_gradient(weight_of<LinearWeights>(call).bias) ? Learns::kBias : Learns::kNothing;
}

Learns norm_learns(const OpCall& call) {
  return call.pass.training->bias_gradient(weight_of<LayerNorm>(call).beta) ? Learns::kBias : Learns::kNothing;
}

constexpr Reads kNo = Reads::kNo, kYes = Reads::kYes;
constexpr GradientRow kRows[kCommonOps] = {
    {kNo, kNo, kNo, false, false, words_backward},
    {kNo, kNo, kNo, false, true, add_rows_backward},
    {kNo, kNo, kNo, false, false, relative_backward},
    {kNo, kNo, kNo, false, true, scale_backward},
    {kYes, kNo, kNo, true, false, norm_backward, [](const GradientCall& call) { take_norm(call); }, norm_learns},
    {kYes, kNo, kNo, false, true, head_norm_backward, head_norm_scratch},
    {kNo, kNo, kNo, false, true, rotate_backward},
    {Reads::kToLearn, kNo, kNo, false, false, run_linear_backward, linear_backward_memory, linear_learns},
    {kYes, kNo, kNo, false, true, activate_rows_backward},
    {kYes, kNo, kNo, false, false, gate_rows_backward},
    {kNo, kNo, kNo, false, false, add_backward},
    {kYes, kYes, kNo, true, false, attend_backward, [](const GradientCall& call) { take_attention(call.forward); }},
    {kNo, kNo, kNo, false, false, store_backward},
    {kNo, kNo, kYes, false, true, cap_backward},
};

}  // namespace

const GradientRow& gradient_row(Op op) {
  const int row = static_cast<int>(op);
  return row < kCommonOps ? kRows[row] : more_gradient_rows()[row - kCommonOps];
}

const OpRow& training_row(Op op) {
  static const OpRow kLinearRow{OpWidth::kRowsOfWeight, false, false, training_linear, training_linear_scratch};
  static const OpRow kAttentionRow{OpWidth::kContext, false, false, attend_in_training, op_row(Op::kAttention).scratch};
  return op == Op::kLinear ? kLinearRow : op == Op::kAttention ? kAttentionRow : op_row(op);
}

}  // namespace wattn
