#include "models/heads_backward.h"

#include <algorithm>

#include "core/random.h"
#include "ops/activation.h"
#include "ops/pooling.h"

namespace wattn {
namespace {

constexpr PoolingMode kMean[] = {PoolingMode::kMean};

struct DenseMemory {
  float *before, *d_before;  // [rows, out], before the activation
  LinearScratch quantized;
  float* scratch;
};

DenseMemory take_dense(Arena& arena, const Linear& layer, std::int64_t rows, int threads) {
  return {arena.take<float>(rows * layer.out), arena.take<float>(rows * layer.out),
          take_linear_scratch(arena, layer.type, rows, layer.in, threads),
          arena.take<float>(linear_backward_scratch(layer.in, layer.out, rows, threads))};
}

struct Memory {
  float *active, *read, *d_read, *d_active;  // [rows, width]
  float *norm, *linear;                      // scratch
  float* words;                              // [labels, width], of tables that are not f32
};

Memory take_memory(Arena& arena, const Head& head, const Embedding& words, std::int64_t rows, int threads) {
  const HeadLayers& layers = head.layers();
  const std::int64_t inner = layers.dense ? rows * head.width() : 0;
  const auto if_norm = [&](std::int64_t count) { return arena.take<float>(layers.norm ? count : 0); };
  const bool widened = layers.tied && words.type != WeightType::kF32;
  return {.active = arena.take<float>(inner),
          .read = if_norm(inner),
          .d_read = arena.take<float>(inner),
          .d_active = if_norm(inner),
          .norm = if_norm(2 * rows),
          .linear = arena.take<float>(linear_backward_scratch(head.width(), head.labels(), rows, threads)),
          .words = arena.take<float>(widened ? words.rows * words.hidden : 0)};
}

const float* rows_of(const Embedding& words, float* widened) {
  if (words.type == WeightType::kF32) return static_cast<const float*>(words.table);
  std::fill_n(widened, words.rows * words.hidden, 0.0f);
  for (std::int64_t i = 0; i < words.rows; ++i) {
    const auto id = static_cast<std::int32_t>(i);
    add_embedding_rows(words, {&id, 1}, widened + i * words.hidden);
  }
  return widened;
}

}  // namespace

void init_head(const Head& head, std::uint64_t seed) {
  Generator generator(seed);
  const auto init = [&](const Linear& layer) {
    std::vector<float> row(static_cast<std::size_t>(layer.in));
    for (std::int64_t j = 0; j < layer.out; ++j) {
      for (float& x : row) x = static_cast<float>(0.02 * generator.normal());
      set_weight_row(layer, j, row.data());
    }
    if (layer.bias) std::fill_n(layer.bias, layer.out, 0.0f);
  };
  if (head.layers().dense) init(head.dense());
  if (head.layers().norm) std::fill_n(head.norm().gamma, head.width(), 1.0f);
  if (head.layers().norm) std::fill_n(head.norm().beta, head.width(), 0.0f);
  if (!head.layers().tied) init(head.output());
}

void dense_backward(const Compute& compute, const DenseGradient& g, Arena& arena) {
  const Linear& layer = g.layer;
  const DenseMemory memory = take_dense(arena, layer, g.count, compute.team.threads());
  linear(compute, layer, g.x, g.count, Activation::kNone, memory.quantized, memory.before);
  activate_backward(compute, g.activation, memory.before, g.dy, g.count, layer.out, memory.d_before);
  linear_backward(compute,
                  {.in = layer.in,
                   .out = layer.out,
                   .tokens = g.count,
                   .layer = &layer,
                   .x = g.x,
                   .dy = memory.d_before,
                   .dx = g.dx,
                   .d_layer = g.d_layer},
                  memory.scratch);
}

std::uint64_t dense_backward_bytes(const Linear& layer, std::int64_t most_rows, int threads) {
  Arena measure;
  take_dense(measure, layer, most_rows, threads);
  return measure.used();
}

std::uint64_t head_backward_bytes(const Head& head, const Embedding& words, std::int64_t most_rows, int threads) {
  Arena measure;
  take_memory(measure, head, words, most_rows, threads);
  if (head.layers().dense) take_dense(measure, head.dense(), most_rows, threads);
  return measure.used();
}

void head_backward(const Compute& compute, const Head& head, const Embedding& words, const HeadGradient& g, Arena& arena) {
  const HeadLayers& layers = head.layers();
  const Head* to = g.gradients;
  const std::int64_t width = head.width();
  const Memory memory = take_memory(arena, head, words, g.count, compute.team.threads());
  const float* read = g.rows;  // by the output
  if (layers.dense) {
    linear(compute, head.dense(), g.rows, g.count, layers.activation, {}, memory.active);
    read = memory.active;
  }
  if (layers.dense && layers.norm) {
    layer_norm(compute, head.norm(), memory.active, nullptr, g.count, memory.read);
    read = memory.read;
  }
  const bool needs_inner = g.d_rows || to;
  float* d_read = layers.dense ? (needs_inner ? memory.d_read : nullptr) : g.d_rows;
  LinearGradient output{.in = width, .out = head.labels(), .tokens = g.count, .x = read, .dy = g.d_logits, .dx = d_read};
  if (layers.tied) {
    output.weight = rows_of(words, memory.words);
    output.d_weight = g.d_words;
    output.d_bias = to && layers.output_bias ? to->bias() : nullptr;
  } else {
    output.layer = &head.output();
    output.d_layer = to ? &to->output() : nullptr;
  }
  linear_backward(compute, output, memory.linear);
  if (!layers.dense || !needs_inner) return;
  if (layers.norm) {
    std::fill_n(memory.d_active, g.count * width, 0.0f);
    normalise_backward(compute, NormKind::kLayer, head.norm(), memory.active, d_read, g.count, memory.d_active,
                       to ? to->norm().gamma : nullptr, to && layers.norm_bias ? to->norm().beta : nullptr, memory.norm);
    d_read = memory.d_active;
  }
  dense_backward(compute, {head.dense(), layers.activation, g.rows, g.count, d_read, g.d_rows, to ? &to->dense() : nullptr}, arena);
}

std::int64_t head_rows_backward(const Kernels& kernels, const HeadReading& reading, const Batch& batch, const float* d_rows,
                                std::int64_t width, float* d_hidden) {
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    float* to = d_hidden + batch.seq_start[i] * width;
    const auto ids = std::span(batch.input_ids).subspan(batch.seq_start[i], static_cast<std::size_t>(batch.length(i)));
    if (reading.input == HeadInput::kMean && !ids.empty()) {
      pool_backward(kernels, kMean, nullptr, batch.length(i), width, 0, d_rows + row++ * width, to);
      continue;
    }
    for_each_head_token(reading, ids,
                        [&](std::int64_t token) { kernels.axpy(1.0f, d_rows + row++ * width, to + token * width, width); });
  }
  return row;
}

void average_logits_backward(const Kernels& kernels, std::span<const std::int32_t> counts, std::int64_t labels, const float* d_mean,
                             float* d_logits) {
  for (const std::int32_t count : counts) {
    if (count == 0) continue;
    std::fill_n(d_logits, count * labels, 0.0f);
    pool_backward(kernels, kMean, nullptr, count, labels, 0, d_mean, d_logits);
    d_mean += labels;
    d_logits += count * labels;
  }
}

}  // namespace wattn
