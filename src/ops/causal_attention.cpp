#include "ops/causal_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/pack.h"

namespace wattn {
namespace {

// Queries scored at a time.
constexpr std::int64_t kQueryBlock = 48;

// Where the cache begins to be read: whole panels, so that each key stands in the same lane of every sum, however few are read.
std::int64_t first_key(std::int64_t position, std::int64_t window) {
  return window < 0 ? 0 : std::max<std::int64_t>(0, position - window + 1) / kPanelWidth * kPanelWidth;
}

// Queries of one head over one sequence's cache; rows stride apart.
struct Queries {
  const float* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t rows = 0;
  std::int64_t position = 0;  // of the first row
  std::int64_t step = 1;      // positions from one row to the next: 0 where the rows are heads of one token
  float* context = nullptr;
  std::int64_t context_stride = 0;
};

struct Head {
  const Kernels& kernels;
  const Cache& cache;
  const float* kept;  // of this head: keys, then values
  const CausalTerms& terms;
  float* scores;
  std::int64_t first = 0, keys = 0;  // those that were scored
};

// What stands at the distances of each query, of its own head.
void add_bias(const Head& head, const Queries& queries, std::int64_t first_head) {
  for (std::int64_t i = 0; i < queries.rows; ++i) {
    const float* of_row = head.terms.bias->at(first_head + (queries.step == 0 ? i : 0)) - (queries.position + i * queries.step);
    for (std::int64_t j = 0; j < head.keys; ++j) head.scores[i * head.keys + j] += of_row[head.first + j];
  }
}

// scores [rows, keys], softmax over what each query may see, zeros elsewhere.
void score(Head& head, const Queries& queries, std::int64_t first_head) {
  const std::int64_t window = head.terms.window;
  const std::int64_t head_dim = head.cache.shape.head_dim;
  const std::int64_t last = queries.position + queries.step * (queries.rows - 1);
  head.first = first_key(queries.position, window);
  head.keys = last + 1 - head.first;
  head.kernels.gemm_f32({.a = queries.data,
                         .a_stride = queries.stride,
                         .b = head.kept + head.first * head_dim,
                         .c = head.scores,
                         .c_stride = head.keys,
                         .m = queries.rows,
                         .n = head.keys,
                         .k = head_dim,
                         .scale = head.terms.scaled ? 1.0f / std::sqrt(static_cast<float>(head_dim)) : 1.0f});
  if (head.terms.bias) add_bias(head, queries, first_head);
  for (std::int64_t i = 0; i < queries.rows; ++i) {
    float* row = head.scores + i * head.keys;
    const std::int64_t own = queries.position + i * queries.step - head.first;
    std::fill(row + own + 1, row + head.keys, -std::numeric_limits<float>::infinity());
    if (window >= 0 && own >= window) std::fill(row, row + own - window + 1, -std::numeric_limits<float>::infinity());
  }
  head.kernels.softmax_rows(head.scores, queries.rows, head.keys, head.keys);
}

void mix_values(const Head& head, const Queries& queries) {
  const std::int64_t head_dim = head.cache.shape.head_dim;
  const float* values = head.kept + head.cache.key_size() + head.first * kPanelWidth;
  for (std::int64_t column = 0; column < head_dim; column += kPanelWidth, values += head.cache.length * kPanelWidth) {
    head.kernels.gemm_f32({.a = head.scores,
                           .a_stride = head.keys,
                           .b = values,
                           .c = queries.context + column,
                           .c_stride = queries.context_stride,
                           .m = queries.rows,
                           .n = std::min(kPanelWidth, head_dim - column),
                           .k = head.keys});
  }
}

// One call.
struct Run {
  const Kernels& kernels;
  const Cache& cache;
  const CausalTerms& terms;
  const CausalTokens& tokens;
  const float* qkv;
  int layer;
  float* context;

  float* kept(std::int64_t sequence, std::int64_t kv_head) const { return cache.at(tokens.places[sequence], layer, kv_head); }
};

void store(const Run& run, std::int64_t sequence, std::int64_t kv_head) {
  const CausalShape& shape = run.cache.shape;
  float* keys = run.kept(sequence, kv_head);
  float* values = keys + run.cache.key_size();
  for (std::int64_t i = run.tokens.seq_start[sequence]; i < run.tokens.seq_start[sequence + 1]; ++i) {
    const std::int64_t position = run.tokens.position_ids[i];
    const float* key = run.qkv + i * shape.row() + (shape.heads + kv_head) * shape.head_dim;
    const float* value = key + shape.kv_heads * shape.head_dim;
    pack_row(keys, position, key, shape.head_dim);
    for (std::int64_t j = 0; j < shape.head_dim; ++j) {
      values[(j / kPanelWidth * run.cache.length + position) * kPanelWidth + j % kPanelWidth] = value[j];
    }
  }
}

// probs: [heads, new tokens, keys], or null.
struct Seen {
  std::vector<float>* probs = nullptr;
  std::int64_t keys = 0;
};

void attend_rows(const Run& run, Head& head, const Queries& queries, std::int64_t first_head, std::int64_t first_row,
                 std::int64_t new_tokens, const Seen& seen) {
  score(head, queries, first_head);
  const bool by_head = queries.step == 0;
  for (std::int64_t i = 0; i < queries.rows; ++i) {
    float* row = head.scores + i * head.keys;
    const std::int64_t of = first_head + (by_head ? i : 0);
    if (run.terms.head_mask) {
      for (std::int64_t j = 0; j < head.keys; ++j) row[j] *= run.terms.head_mask[of];
    }
    if (!seen.probs) continue;
    std::copy_n(row, head.keys, seen.probs->data() + (of * new_tokens + first_row + (by_head ? 0 : i)) * seen.keys + head.first);
  }
  mix_values(head, queries);
}

// The heads that one head of keys and values serves.
void attend(const Run& run, std::int64_t sequence, std::int64_t kv_head, const CausalScratch& scratch, const Seen& seen) {
  const CausalShape& shape = run.cache.shape;
  const std::int64_t begin = run.tokens.seq_start[sequence];
  const std::int64_t count = run.tokens.seq_start[sequence + 1] - begin;
  const std::int64_t width = shape.heads * shape.head_dim;
  const std::int64_t group = shape.group();
  Head head{run.kernels, run.cache, run.kept(sequence, kv_head), run.terms, scratch.scores};
  for (std::int64_t at = 0; count > 1 && at < group; ++at) {
    const std::int64_t column = (kv_head * group + at) * shape.head_dim;
    for (std::int64_t row = 0; row < count; row += kQueryBlock) {
      const Queries queries{.data = run.qkv + (begin + row) * shape.row() + column,
                            .stride = shape.row(),
                            .rows = std::min(kQueryBlock, count - row),
                            .position = run.tokens.position_ids[begin + row],
                            .context = run.context + (begin + row) * width + column,
                            .context_stride = width};
      attend_rows(run, head, queries, kv_head * group + at, row, count, seen);
    }
  }
  if (count != 1) return;
  // A step: the group's queries are rows of one product, which reads the keys once.
  const std::int64_t column = kv_head * group * shape.head_dim;
  const Queries queries{.data = run.qkv + begin * shape.row() + column,
                        .stride = shape.head_dim,
                        .rows = group,
                        .position = run.tokens.position_ids[begin],
                        .step = 0,
                        .context = run.context + begin * width + column,
                        .context_stride = shape.head_dim};
  attend_rows(run, head, queries, kv_head * group, 0, 1, seen);
}

}  // namespace

Cache take_cache(Arena& arena, const CausalShape& shape, std::int64_t layers, std::int64_t places, std::int64_t length) {
  Cache cache{places, (length + kPanelWidth - 1) / kPanelWidth * kPanelWidth, layers, shape, nullptr};
  cache.data = arena.take<float>(places * cache.place_size());
  return cache;
}

void copy_place(const Cache& cache, std::int64_t from, std::int64_t to, std::int64_t tokens) {
  const std::int64_t head_dim = cache.shape.head_dim;
  const std::int64_t used = (tokens + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
  for (std::int64_t layer = 0; layer < cache.layers; ++layer) {
    for (std::int64_t head = 0; head < cache.shape.kv_heads; ++head) {
      const float* source = cache.at(from, layer, head);
      float* target = cache.at(to, layer, head);
      std::copy_n(source, used * head_dim, target);
      for (std::int64_t at = cache.key_size(); at < cache.head_size(); at += cache.length * kPanelWidth) {
        std::copy_n(source + at, used * kPanelWidth, target + at);
      }
    }
  }
}

CausalScratch take_causal_scratch(Arena& arena, const CausalShape& shape, std::int64_t length) {
  return {arena.take<float>(std::max(kQueryBlock, shape.group()) * length)};
}

void causal_attention(const Compute& compute, const Cache& cache, const CausalTerms& terms, const CausalTokens& tokens,
                      const float* qkv, int layer, std::span<const CausalScratch> scratch, float* context, Taps* taps) {
  const auto sequences = static_cast<std::int64_t>(tokens.places.size());
  const std::int64_t kv_heads = cache.shape.kv_heads;
  const Run run{compute.kernels, cache, terms, tokens, qkv, layer, context};
  if (!taps) {
    compute.team.run(sequences * kv_heads, [&](std::int64_t i, int thread) {
      store(run, i / kv_heads, i % kv_heads);
      attend(run, i / kv_heads, i % kv_heads, scratch[thread], {});
    });
    return;
  }
  for (std::int64_t i = 0; i < sequences; ++i) {
    const std::int64_t count = tokens.seq_start[i + 1] - tokens.seq_start[i];
    const std::int64_t keys = count == 0 ? 0 : tokens.position_ids[tokens.seq_start[i + 1] - 1] + 1;
    std::vector<float> probs(static_cast<std::size_t>(cache.shape.heads * count * keys));
    for (std::int64_t head = 0; head < kv_heads; ++head) {
      store(run, i, head);
      attend(run, i, head, scratch[0], {&probs, keys});
    }
    const std::int64_t dims[] = {cache.shape.heads, count, keys};
    taps->on_tensor({"attention.probs", layer, static_cast<int>(i)}, {probs.data(), dims});
  }
}

}  // namespace wattn
