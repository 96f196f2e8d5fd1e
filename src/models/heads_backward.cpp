#include "models/heads_backward.h"

#include <algorithm>
#include <string_view>

#include "core/part.h"
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

DenseMemory take_dense(Arena& arena, const LinearWeights& layer, std::int64_t rows, int threads) {
  return {arena.take<float>(rows * layer.out), arena.take<float>(rows * layer.out),
          take_linear_scratch(arena, layer.type, rows, layer.in, threads),
          arena.take<float>(linear_backward_scratch(layer.in, layer.out, rows, threads))};
}

struct Memory {
  float *active, *read, *d_read, *d_active;  // [rows, width]
  float *norm, *linear;                      // scratch
  float* words;                              // [labels, width], of tables that are not f32
  float* dropped;                            // [rows, hidden]
};

Memory take_memory(Arena& arena, const Head& head, const EmbeddingTable& words, std::int64_t rows, int threads) {
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
          .words = arena.take<float>(widened ? words.rows * words.hidden : 0),
          .dropped = arena.take<float>(rows * head.shape().hidden)};
}

// rows, or a copy in `dropped` of which some are dropped.
const float* drop_rows(const Compute& compute, const Dropout& dropout, const float* rows, std::int64_t count, float* dropped) {
  if (dropout.rate == 0) return rows;
  std::copy_n(rows, count, dropped);
  drop(compute, dropout, dropped, count);
  return dropped;
}

// The layers before the output over rows that are dropped already. inner: [count, width].
void run_inner(const Compute& compute, const Head& head, const float* rows, std::int64_t count, float* active, float* inner) {
  linear(compute, head.dense(), rows, count, head.layers().activation, {}, active);
  if (head.layers().norm) layer_norm(compute, head.norm(), active, nullptr, count, inner);
}

const float* rows_of(const EmbeddingTable& words, float* widened) {
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
  const auto init = [&](const LinearWeights& layer) {
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
  const LinearWeights& layer = g.layer;
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

std::uint64_t dense_backward_bytes(const LinearWeights& layer, std::int64_t most_rows, int threads) {
  Arena measure;
  take_dense(measure, layer, most_rows, threads);
  return measure.used();
}

std::uint64_t head_backward_bytes(const Head& head, const EmbeddingTable& words, std::int64_t most_rows, int threads) {
  Arena measure;
  take_memory(measure, head, words, most_rows, threads);
  if (head.layers().dense) take_dense(measure, head.dense(), most_rows, threads);
  return measure.used();
}

void head_backward(const Compute& compute, const Head& head, const EmbeddingTable& words, const HeadGradient& g, Arena& arena) {
  const HeadLayers& layers = head.layers();
  const Head* to = g.gradients;
  const std::int64_t width = head.width();
  const Memory memory = take_memory(arena, head, words, g.count, compute.team.threads());
  const std::int64_t size = g.count * width;
  const float* rows = drop_rows(compute, g.dropout.rows, g.rows, g.count * head.shape().hidden, memory.dropped);
  float* inner = layers.norm ? memory.read : memory.active;
  const float* read = layers.dense ? inner : rows;  // by the output
  if (layers.dense) {
    run_inner(compute, head, rows, g.count, memory.active, memory.read);
    drop(compute, g.dropout.output, inner, size);
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
  if (layers.rest) {
    Part<OwnOutputs>::get()->rest_backward(compute, head, output, to, memory.linear);
  } else {
    linear_backward(compute, output, memory.linear);
  }
  const std::int64_t row_size = g.count * head.shape().hidden;
  if (!layers.dense && g.d_rows) drop(compute, g.dropout.rows, g.d_rows, row_size);
  if (!layers.dense || !needs_inner) return;
  drop(compute, g.dropout.output, d_read, size);
  if (layers.norm) {
    std::fill_n(memory.d_active, g.count * width, 0.0f);
    normalise_backward(compute, NormKind::kLayer, head.norm(), memory.active, d_read, g.count, memory.d_active,
                       to ? to->norm().gamma : nullptr, to && layers.norm_bias ? to->norm().beta : nullptr, memory.norm);
    d_read = memory.d_active;
  }
  dense_backward(compute, {head.dense(), layers.activation, rows, g.count, d_read, g.d_rows, to ? &to->dense() : nullptr}, arena);
  if (g.d_rows) drop(compute, g.dropout.rows, g.d_rows, row_size);
}

HeadDropout head_dropout(const Head& head, float rate, std::uint64_t seed, std::uint64_t step) {
  // Places beyond those of any layer.
  constexpr std::uint64_t kRows = ~std::uint64_t{0}, kOutput = kRows - 1;
  const HeadLayers& layers = head.layers();
  HeadDropout out;
  if (layers.tied) return out;
  // Not before what the model itself has, such as its pooler.
  const bool own_dense = layers.dense && std::string_view(layers.dense).starts_with("classif");
  if (!layers.dense || own_dense) out.rows = dropout_at(rate, seed, step, kRows);
  if (layers.dense) out.output = dropout_at(rate, seed, step, kOutput);
  return out;
}

Result<void> training_run(const Compute& compute, const Head& head, const EmbeddingTable& words, const float* rows,
                          std::int64_t count, const HeadDropout& dropout, float* logits) {
  const bool has_norm = head.layers().norm;
  std::vector<float> dropped(dropout.rows.rate > 0 ? static_cast<std::size_t>(count * head.shape().hidden) : 0);
  const float* read = drop_rows(compute, dropout.rows, rows, count * head.shape().hidden, dropped.data());
  if (!head.layers().dense) return head.run_output(compute, words, read, count, logits);
  std::vector<float> active(static_cast<std::size_t>(count * head.width())), normed(has_norm ? active.size() : 0);
  run_inner(compute, head, read, count, active.data(), normed.data());
  float* inner = has_norm ? normed.data() : active.data();
  drop(compute, dropout.output, inner, count * head.width());
  return head.run_output(compute, words, inner, count, logits);
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
