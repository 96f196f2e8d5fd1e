#include "ops/attention.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "kernels/pack.h"

namespace wattn {
namespace {

// Queries scored at a time: the scores of a long sequence never exist as a whole.
constexpr std::int64_t kQueryBlock = 48;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// One call.
struct Run {
  const Kernels& kernels;
  const AttentionShape& shape;
  const ScoreTerms& terms;
  const AttentionInput& input;
  float* context;

  std::int64_t begin(std::int64_t sequence) const { return input.seq_start[sequence]; }
  std::int64_t queries(std::int64_t sequence) const { return input.seq_start[sequence + 1] - input.seq_start[sequence]; }
  // The position of a sequence's first query.
  std::int64_t past(std::int64_t sequence) const {
    return input.cache && input.keys && queries(sequence) > 0 ? input.position_ids[begin(sequence)] : 0;
  }
  // Keys and values that a sequence may attend to.
  std::int64_t keys(std::int64_t sequence) const {
    return input.keys ? past(sequence) + queries(sequence) : input.lengths[input.slots[sequence]];
  }
};

// What the taps see of one sequence: [heads, queries, keys].
struct Shown {
  std::vector<float> scores{}, probs{};
  std::int64_t queries = 0, keys = 0;
};

// The keys and values of one head, and the scratch to attend to them.
struct KvHead {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::int64_t length = 0;  // of a panel of values
  const AttentionScratch& scratch;
};

// Rows of queries that are scored at once: tokens of one head, or (step 0) the heads of one token.
struct QueryRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t rows = 0;
  std::int64_t first = 0;     // the first row's token, counted in its sequence
  std::int64_t position = 0;  // and its position
  std::int64_t step = 1;      // positions from one row to the next
  std::int64_t head = 0;      // of the first row
  float* context = nullptr;
  std::int64_t context_stride = 0;

  std::int64_t head_of(std::int64_t row) const { return step == 0 ? head + row : head; }
  std::int64_t position_of(std::int64_t row) const { return position + row * step; }
};

struct KeyRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// The keys that some row attends to. They begin at a whole panel, so that a key has the same lane in every sum, however few are
// read.
KeyRange keys_of(const ScoreTerms& terms, const QueryRows& rows, std::int64_t keys) {
  const std::int64_t last = rows.position_of(rows.rows - 1);
  KeyRange range{0, keys};
  if (terms.window_before >= 0) {
    range.begin = std::max<std::int64_t>(0, rows.position - terms.window_before) / kPanelWidth * kPanelWidth;
  }
  if (terms.window_after >= 0) range.end = std::min(range.end, last + terms.window_after + 1);
  if (terms.causal) range.end = std::min(range.end, last + 1);
  return range;
}

void add_bias(const DistanceBias& bias, const QueryRows& rows, KeyRange keys, float* scores) {
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const float* row = bias.at(rows.head_of(i)) - rows.position_of(i);
    for (std::int64_t j = keys.begin; j < keys.end; ++j) *scores++ += row[j];
  }
}

void add_mask(const BroadcastMask& mask, std::int64_t sequence, const QueryRows& rows, KeyRange keys, float* scores) {
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const std::int64_t query = rows.first + i * rows.step;
    const float* row = mask.data + sequence * mask.strides[0] + rows.head_of(i) * mask.strides[1] + query * mask.strides[2];
    for (std::int64_t j = keys.begin; j < keys.end; ++j) *scores++ += row[j * mask.strides[3]];
  }
}

// Keys that a row does not attend to: -inf.
void close_keys(const ScoreTerms& terms, const QueryRows& rows, KeyRange keys, float* scores) {
  for (std::int64_t i = 0; i < rows.rows; ++i, scores += keys.size()) {
    const std::int64_t position = rows.position_of(i);
    std::int64_t first = keys.begin, end = keys.end;
    if (terms.window_before >= 0) first = std::clamp(position - terms.window_before, keys.begin, keys.end);
    if (terms.window_after >= 0) end = std::min(end, position + terms.window_after + 1);
    if (terms.causal) end = std::min(end, position + 1);
    std::fill(scores, scores + first - keys.begin, kMinusInfinity);
    std::fill(scores + end - keys.begin, scores + keys.size(), kMinusInfinity);
  }
}

// Softmax of each row; zeros where all scores are -inf, which only a mask brings about.
void softmax(const Run& run, const QueryRows& rows, KeyRange keys, float* scores) {
  if (!run.terms.mask.data) return run.kernels.softmax_rows(scores, rows.rows, keys.size(), keys.size());
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    float* row = scores + i * keys.size();
    if (std::all_of(row, row + keys.size(), [](float score) { return score == kMinusInfinity; })) {
      std::fill_n(row, keys.size(), 0.0f);
    } else {
      run.kernels.softmax_rows(row, 1, keys.size(), keys.size());
    }
  }
}

void show(const QueryRows& rows, KeyRange keys, const float* scores, const Shown& shown, std::vector<float>& out) {
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const std::int64_t row = rows.head_of(i) * shown.queries + rows.first + i * rows.step;
    std::copy_n(scores + i * keys.size(), keys.size(), out.begin() + row * shown.keys + keys.begin);
  }
}

void mix_values(const Run& run, const KvHead& kv, const QueryRows& rows, KeyRange keys) {
  const std::int64_t head_dim = run.shape.head_dim;
  // Panels without a gap between them are one product.
  const std::int64_t width = keys.size() == kv.length ? head_dim : kPanelWidth;
  const float* values = kv.values + keys.begin * kPanelWidth;
  for (std::int64_t column = 0; column < head_dim; column += width, values += kv.length * kPanelWidth) {
    run.kernels.gemm_f32({.a = kv.scratch.scores,
                          .a_stride = keys.size(),
                          .b = values,
                          .c = rows.context + column,
                          .c_stride = rows.context_stride,
                          .m = rows.rows,
                          .n = std::min(width, head_dim - column),
                          .k = keys.size()});
  }
}

void attend_rows(const Run& run, std::int64_t sequence, const KvHead& kv, const RelativeHead* relative, const QueryRows& rows,
                 Shown* shown) {
  const ScoreTerms& terms = run.terms;
  const KeyRange keys = keys_of(terms, rows, run.keys(sequence));
  float* scores = kv.scratch.scores;
  run.kernels.gemm_f32({.a = rows.data,
                        .a_stride = rows.stride,
                        .b = kv.keys + keys.begin * run.shape.head_dim,
                        .c = scores,
                        .c_stride = keys.size(),
                        .m = rows.rows,
                        .n = keys.size(),
                        .k = run.shape.head_dim,
                        .scale = terms.scale});
  if (terms.bias) add_bias(*terms.bias, rows, keys, scores);
  if (relative) add_relative(run.kernels, *relative, rows.data, rows.stride, rows.first, rows.rows, scores);
  if (terms.mask.data) add_mask(terms.mask, sequence, rows, keys, scores);
  close_keys(terms, rows, keys, scores);
  if (shown) show(rows, keys, scores, *shown, shown->scores);
  softmax(run, rows, keys, scores);
  if (terms.head_mask) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      float* row = scores + i * keys.size();
      for (std::int64_t j = 0; j < keys.size(); ++j) row[j] *= terms.head_mask[rows.head_of(i)];
    }
  }
  if (shown) show(rows, keys, scores, *shown, shown->probs);
  mix_values(run, kv, rows, keys);
}

NewKv new_kv(const Run& run, std::int64_t sequence) {
  const std::int64_t begin = run.begin(sequence), stride = run.input.kv_stride;
  return {run.input.keys + begin * stride, run.input.values + begin * stride, stride, run.queries(sequence)};
}

void store_head(const KvCache& cache, float* target, std::int64_t position, const NewKv& kv, std::int64_t column) {
  const std::int64_t head_dim = cache.shape.head_dim;
  float* values = target + cache.key_size();
  for (std::int64_t i = 0; i < kv.tokens; ++i, ++position) {
    pack_row(target, position, kv.keys + i * kv.stride + column, head_dim);
    const float* value = kv.values + i * kv.stride + column;
    for (std::int64_t j = 0; j < head_dim; ++j) {
      values[(j / kPanelWidth * cache.length + position) * kPanelWidth + j % kPanelWidth] = value[j];
    }
  }
}

// The keys and values of one head of a sequence, with those of its new tokens.
KvHead prepare(const Run& run, std::int64_t sequence, std::int64_t kv_head, const AttentionScratch& scratch) {
  const AttentionInput& input = run.input;
  const std::int64_t head_dim = run.shape.head_dim;
  if (input.cache) {
    float* kept = input.cache->at(input.slots[sequence], input.layer, kv_head);
    if (input.keys) store_head(*input.cache, kept, run.past(sequence), new_kv(run, sequence), kv_head * head_dim);
    return {kept, kept + input.cache->key_size(), input.cache->length, scratch};
  }
  const NewKv kv = new_kv(run, sequence);
  pack_rows(scratch.keys, kv.keys + kv_head * head_dim, kv.tokens, head_dim, kv.stride);
  pack_transposed(scratch.values, kv.values + kv_head * head_dim, head_dim, kv.tokens, kv.stride);
  return {scratch.keys, scratch.values, kv.tokens, scratch};
}

// The heads of queries that one head of keys and values serves.
void attend(const Run& run, std::int64_t sequence, std::int64_t kv_head, const AttentionScratch& scratch, Shown* shown) {
  const AttentionShape& shape = run.shape;
  const std::int64_t begin = run.begin(sequence), count = run.queries(sequence), group = shape.group();
  if (count == 0) return;
  const KvHead kv = prepare(run, sequence, kv_head, scratch);
  QueryRows rows{.position = run.past(sequence), .head = kv_head * group};
  const float* queries = run.input.queries + begin * run.input.query_stride;
  float* context = run.context + begin * shape.query_width();
  if (count == 1 && !run.terms.relative) {
    // The group's queries are the rows of one product, which reads the keys once.
    rows.data = queries + rows.head * shape.head_dim;
    rows.context = context + rows.head * shape.head_dim;
    rows.stride = rows.context_stride = shape.head_dim;
    rows.rows = group;
    rows.step = 0;
    return attend_rows(run, sequence, kv, nullptr, rows, shown);
  }
  const std::int64_t position = rows.position;
  rows.stride = run.input.query_stride;
  rows.context_stride = shape.query_width();
  for (std::int64_t end = rows.head + group; rows.head < end; ++rows.head) {
    const RelativeHead relative{run.terms.relative, scratch.relative,    count,          rows.head,
                                shape.head_dim,     shape.query_width(), run.terms.scale};
    if (run.terms.relative) {
      prepare_relative(run.kernels, relative, new_kv(run, sequence).keys + kv_head * shape.head_dim, run.input.kv_stride);
    }
    for (rows.first = 0; rows.first < count; rows.first += kQueryBlock) {
      rows.data = queries + rows.first * rows.stride + rows.head * shape.head_dim;
      rows.context = context + rows.first * rows.context_stride + rows.head * shape.head_dim;
      rows.rows = std::min(kQueryBlock, count - rows.first);
      rows.position = position + rows.first;
      attend_rows(run, sequence, kv, run.terms.relative ? &relative : nullptr, rows, shown);
    }
  }
}

}  // namespace

KvCache take_kv_cache(Arena& arena, const AttentionShape& shape, std::int64_t layers, std::int64_t slots, std::int64_t length) {
  KvCache cache{slots, (length + kPanelWidth - 1) / kPanelWidth * kPanelWidth, layers, shape, nullptr};
  cache.data = arena.take<float>(slots * cache.slot_size());
  return cache;
}

void copy_slot(const KvCache& cache, std::int64_t from, std::int64_t to, std::int64_t tokens) {
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

void store_kv(const KvCache& cache, std::int64_t slot, std::int64_t layer, std::int64_t position, const NewKv& kv) {
  for (std::int64_t head = 0; head < cache.shape.kv_heads; ++head) {
    store_head(cache, cache.at(slot, layer, head), position, kv, head * cache.shape.head_dim);
  }
}

AttentionScratch take_attention_scratch(Arena& arena, const AttentionShape& shape, std::int64_t own_keys, std::int64_t max_keys,
                                        std::int64_t buckets) {
  AttentionScratch scratch;
  scratch.keys = arena.take<float>(packed_size(own_keys, shape.head_dim));
  scratch.values = arena.take<float>(packed_size(shape.head_dim, own_keys));
  scratch.scores = arena.take<float>(std::max(kQueryBlock, shape.group()) * max_keys);
  if (buckets > 0) scratch.relative = take_disentangled_scratch(arena, shape.head_dim, own_keys, buckets, kQueryBlock);
  return scratch;
}

void attention(const Compute& compute, const AttentionShape& shape, const ScoreTerms& terms, const AttentionInput& input,
               std::span<const AttentionScratch> scratch, float* context, const AttentionTap& tap) {
  const auto sequences = static_cast<std::int64_t>(input.seq_start.size()) - 1;
  const Run run{compute.kernels, shape, terms, input, context};
  if (!tap.taps) {
    compute.team.run(sequences * shape.kv_heads, [&](std::int64_t i, int thread) {
      attend(run, i / shape.kv_heads, i % shape.kv_heads, scratch[thread], nullptr);
    });
    return;
  }
  const std::string name = tap.name;
  for (std::int64_t i = 0; i < sequences; ++i) {
    Shown shown{.queries = run.queries(i), .keys = run.keys(i)};
    const auto size = static_cast<std::size_t>(shape.heads * shown.queries * shown.keys);
    shown.scores.assign(size, kMinusInfinity);
    shown.probs.assign(size, 0.0f);
    for (std::int64_t head = 0; head < shape.kv_heads; ++head) attend(run, i, head, scratch[0], &shown);
    const std::int64_t dims[] = {shape.heads, shown.queries, shown.keys};
    const int at = static_cast<int>(i);
    if (!input.cache) tap.taps->on_tensor({name + ".scores", tap.layer, at}, {shown.scores.data(), dims});
    tap.taps->on_tensor({name + ".probs", tap.layer, at}, {shown.probs.data(), dims});
  }
}

}  // namespace wattn
