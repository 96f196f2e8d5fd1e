#include "models/schema_labels.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ops/attention.h"

namespace wattn {
namespace {

constexpr std::int64_t kCounts = 20;
constexpr std::int64_t kNarrow = 128, kHeads = 4;
constexpr float kNormEpsilon = 1e-5f;

// [first, second] of each row.
std::vector<float> beside(const std::vector<float>& first, std::int64_t width, const float* second, std::int64_t second_width,
                          std::int64_t count) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < count; ++i) {
    out.insert(out.end(), first.begin() + i * width, first.begin() + (i + 1) * width);
    out.insert(out.end(), second + i * second_width, second + (i + 1) * second_width);
  }
  return out;
}

}  // namespace

void SchemaLabels::take_weights(Arena& arena, const Kernels& kernels, CountingLayer layer, std::int64_t hidden) {
  layer_ = layer;
  hidden_ = hidden;
  const auto linear_of = [&](std::int64_t in, std::int64_t out) {
    return take_linear(arena, kernels, WeightType::kF32, in, out, true);
  };
  counts_[0] = linear_of(hidden, 2 * hidden);
  counts_[1] = linear_of(2 * hidden, kCounts);
  positions_ = arena.take<float>(kCounts * hidden);
  gru_ = {linear_of(hidden, 3 * hidden), linear_of(hidden, 3 * hidden)};
  if (layer == CountingLayer::kLstm) {
    projector_ = {linear_of(2 * hidden, 4 * hidden), linear_of(4 * hidden, hidden)};
    return;
  }
  narrowed_ = linear_of(hidden, kNarrow);
  for (EncoderLayer& each : layers_) {
    each = {.qkv = linear_of(kNarrow, 3 * kNarrow),
            .output = linear_of(kNarrow, kNarrow),
            .up = linear_of(kNarrow, 2 * kNarrow),
            .down = linear_of(2 * kNarrow, kNarrow),
            .attention_norm = take_layer_norm(arena, kNarrow, kNormEpsilon),
            .output_norm = take_layer_norm(arena, kNarrow, kNormEpsilon)};
  }
  projector_ = {linear_of(kNarrow + hidden, hidden), linear_of(hidden, hidden), linear_of(hidden, hidden)};
}

void SchemaLabels::add_targets(TargetList& list) const {
  const auto linear_targets = [&](const std::string& name, const LinearWeights& layer) { list.linear(name, layer, 0, layer.out); };
  linear_targets("count_pred.0", counts_[0]);
  linear_targets("count_pred.2", counts_[1]);
  const std::string own = "count_embed.";
  list.matrix(own + "pos_embedding", kCounts, hidden_, true,
              [to = positions_, hidden = hidden_](std::int64_t i, const float* row) { std::copy_n(row, hidden, to + i * hidden); });
  list.lstm(own + "gru", "_l0", gru_);
  if (layer_ == CountingLayer::kLstm) {
    for (std::size_t i = 0; i < 2; ++i) linear_targets(own + "projector." + std::to_string(2 * i), projector_[i]);
    return;
  }
  const std::string transformer = own + "transformer.";
  linear_targets(transformer + "in_projector", narrowed_);
  for (std::size_t i = 0; i < 2; ++i) {
    const EncoderLayer& layer = layers_[i];
    const std::string at = transformer + "transformer.layers." + std::to_string(i) + ".";
    list.targets.push_back({at + "self_attn.in_proj_weight",
                            {layer.qkv.out, layer.qkv.in},
                            true,
                            [qkv = layer.qkv](std::int64_t row, const float* values) { set_weight_row(qkv, row, values); }});
    list.vector(at + "self_attn.in_proj_bias", layer.qkv.bias, layer.qkv.out);
    linear_targets(at + "self_attn.out_proj", layer.output);
    linear_targets(at + "linear1", layer.up);
    linear_targets(at + "linear2", layer.down);
    list.norm(at + "norm1", layer.attention_norm, true);
    list.norm(at + "norm2", layer.output_norm, true);
  }
  for (std::size_t i = 0; i < 3; ++i) linear_targets(transformer + "out_projector." + std::to_string(2 * i), projector_[i]);
}

std::int64_t SchemaLabels::instances(const Compute& compute, const float* parent) const {
  const std::vector<float> inner = run_linear(compute, counts_[0], parent, 1, Activation::kRelu);
  const std::vector<float> logits = run_linear(compute, counts_[1], inner.data(), 1);
  const bool is_finite = std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); });
  return is_finite ? std::max_element(logits.begin(), logits.end()) - logits.begin() : 1;
}

// A step of a GRU (arXiv 1406.1078, as torch has it) with the state h, [count, hidden], which is a label's row before the first
// step: r, z = sigmoid(of_x + U h + c), n = tanh(of_x + r * (U h + c)), h = (1 - z) * n + z * h. of_x: W x + b, [3 * hidden].
void SchemaLabels::step(const Compute& compute, const float* of_x, std::int64_t count, std::vector<float>& h) const {
  const Kernels& kernels = compute.kernels;
  std::vector<float> gates = run_linear(compute, gru_.recurrent, h.data(), count);
  for (std::int64_t i = 0; i < count; ++i) {
    float* gate = gates.data() + i * 3 * hidden_;
    float* fresh = gate + 2 * hidden_;
    kernels.axpy(1.0f, of_x, gate, 2 * hidden_);
    kernels.activate(Activation::kSigmoid, gate, gate, 2 * hidden_);
    for (std::int64_t j = 0; j < hidden_; ++j) fresh[j] = of_x[2 * hidden_ + j] + gate[j] * fresh[j];
    kernels.activate(Activation::kTanh, fresh, fresh, hidden_);
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const float update = gate[hidden_ + j];
      h[i * hidden_ + j] = (1.0f - update) * fresh[j] + update * h[i * hidden_ + j];
    }
  }
}

// x = norm2(y + down(relu(up(y)))) with y = norm1(x + attention(x)), [count, 128]; each label attends to all.
Result<void> SchemaLabels::attend(const Compute& compute, const EncoderLayer& layer, std::int64_t count,
                                  std::vector<float>& x) const {
  constexpr std::int64_t kHeadDim = kNarrow / kHeads;
  const AttentionShape shape{.heads = kHeads, .kv_heads = kHeads, .head_dim = kHeadDim};
  const auto take = [&](Arena& arena) {
    std::vector<AttentionScratch> scratch;
    scratch.reserve(static_cast<std::size_t>(compute.team.threads()));
    for (int i = 0; i < compute.team.threads(); ++i) scratch.push_back(take_attention_scratch(arena, shape, count, count, 0));
    return scratch;
  };
  Arena measure;
  take(measure);
  auto arena = Arena::with_bytes(measure.used(), "the attention of labels");
  if (!arena.ok()) return arena.error();
  const std::vector<AttentionScratch> scratch = take(arena.value());
  const std::vector<float> qkv = run_linear(compute, layer.qkv, x.data(), count);
  const std::int32_t starts[] = {0, static_cast<std::int32_t>(count)};
  std::vector<float> context(x.size());
  attention(compute, shape, {.scale = 1.0f / std::sqrt(static_cast<float>(kHeadDim))},
            {.queries = qkv.data(),
             .query_stride = 3 * kNarrow,
             .keys = qkv.data() + kNarrow,
             .values = qkv.data() + 2 * kNarrow,
             .kv_stride = 3 * kNarrow,
             .seq_start = starts},
            scratch, context.data(), {});
  const std::vector<float> attended = run_linear(compute, layer.output, context.data(), count);
  layer_norm(compute, layer.attention_norm, attended.data(), x.data(), count, x.data());
  const std::vector<float> inner = run_linear(compute, layer.up, x.data(), count, Activation::kRelu);
  const std::vector<float> down = run_linear(compute, layer.down, inner.data(), count);
  layer_norm(compute, layer.output_norm, down.data(), x.data(), count, x.data());
  return {};
}

Result<std::vector<float>> SchemaLabels::rows(const Compute& compute, const float* labels, std::int64_t count,
                                              std::int64_t instances) const {
  const std::vector<float> of_positions = run_linear(compute, gru_.input, positions_, instances);
  std::vector<float> state(labels, labels + count * hidden_), out;
  for (std::int64_t i = 0; i < instances; ++i) {
    step(compute, of_positions.data() + i * 3 * hidden_, count, state);
    std::vector<float> x = state;
    if (layer_ == CountingLayer::kLstm) {
      x = beside(x, hidden_, labels, hidden_, count);
    } else {
      compute.kernels.axpy(1.0f, labels, x.data(), count * hidden_);
      const std::vector<float> whole = std::move(x);
      x = run_linear(compute, narrowed_, whole.data(), count);
      for (const EncoderLayer& layer : layers_) {
        if (auto attended = attend(compute, layer, count, x); !attended.ok()) return attended.error();
      }
      x = beside(x, kNarrow, whole.data(), hidden_, count);
    }
    for (const LinearWeights& layer : projector_) {
      const bool is_last = &layer == &projector_.back();
      x = run_linear(compute, layer, x.data(), count, is_last ? Activation::kNone : Activation::kRelu);
    }
    out.insert(out.end(), x.begin(), x.end());
  }
  return out;
}

}  // namespace wattn
