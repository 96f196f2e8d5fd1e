// build: -Oz
#include "ops/global_attention.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "ops/op_gradient.h"

namespace wattn {
namespace {

// Queries whose keys are put side by side at a time: what their windows have beside that of one query is multiplied in vain.
constexpr std::int64_t kQueries = 96;
// Global tokens that are put beside a window. With more of them, the queries are multiplied with all keys of the sequence.
constexpr std::int64_t kMostBeside = 128;

// The keys of some queries: the first `global` tokens of the sequence, then `rest` more from `first` on.
struct Keys {
  std::int64_t global, first, rest;
  std::int64_t count() const { return global + rest; }
  bool is_whole() const { return first == global; }
  std::int64_t token_at(std::int64_t key) const { return key < global ? key : first + key - global; }
};

// One call of attention().
struct Part {
  bool is_global;  // the queries are global tokens
  std::int64_t first_query, queries;
  Keys keys;
};

class Sequences {
 public:
  explicit Sequences(const OpCall& call) : call_(call), window_(call.attention->window_before) {}

  // visit(part, number of the sequence).
  template <class Visit>
  void each_part(const Visit& visit) const {
    const Batch& batch = *call_.pass.batch;
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      const std::int64_t tokens = batch.length(i), global = global_of(i);
      if (global > 0) visit(Part{true, 0, global, {0, 0, tokens}}, i);
      const std::int64_t step = tokens - 1 <= window_ ? tokens : kQueries;
      for (std::int64_t query = global; query < tokens; query += step) {
        const std::int64_t queries = std::min(step, tokens - query);
        const bool beside = global <= kMostBeside;
        const std::int64_t first = beside ? std::max(global, query - window_) : global;
        const std::int64_t end = beside ? std::min(tokens, query + queries + window_) : tokens;
        visit(Part{false, query, queries, {global, first, end - first}}, i);
      }
    }
  }

  // Whether a query attends to a key, by their places in the sequence.
  bool sees(const Part& part, std::int64_t query, std::int64_t key) const {
    return part.is_global || key < part.keys.global || (key >= query - window_ && key <= query + window_);
  }
  bool sees_all(const Part& part) const {
    if (part.is_global) return true;
    return part.keys.first >= part.first_query + part.queries - 1 - window_ &&
           part.keys.first + part.keys.rest - 1 <= part.first_query + window_;
  }

 private:
  std::int64_t global_of(std::int64_t sequence) const {
    const Batch& batch = *call_.pass.batch;
    const std::int64_t tokens = batch.length(sequence);
    if (static_cast<GlobalTokens>(call_.variant) == GlobalTokens::kFirst) return std::min<std::int64_t>(tokens, 1);
    const auto begin = batch.input_ids.begin() + batch.seq_start[static_cast<std::size_t>(sequence)], end = begin + tokens;
    const auto separator = std::find(begin, end, static_cast<std::int32_t>(call_.factor));
    return separator == end ? 0 : separator - begin;
  }

  const OpCall& call_;
  std::int64_t window_;
};

// Keys and values side by side in a row: of each key, where they are not whole.
std::int64_t gathered_width(const AttentionShape& shape) { return shape.qkv_width() - shape.query_width(); }

struct Memory {
  float* mask;      // [kQueries, keys]: 0, or -inf for a key that is hidden
  float* gathered;  // [keys, gathered_width]
  float* d_gathered;
};
Memory take_memory(const OpCall& call, bool with_gradients) {
  const std::int64_t longest = std::max(call.pass.sizes.own_keys, call.pass.sizes.keys);
  const std::int64_t keys = std::min(longest, 2 * call.attention->window_before + kQueries + kMostBeside);
  const std::int64_t gathered = keys * gathered_width(call.attention->shape);
  Arena& arena = *call.scratch;
  return {arena.take<float>(kQueries * longest), arena.take<float>(gathered), arena.take<float>(with_gradients ? gathered : 0)};
}

// The input of attention() for a part, and what refers to it.
struct PartInput {
  AttentionInput input;
  std::array<std::int32_t, 2> query_start{}, key_start{};
  std::array<BroadcastMask, 1> mask{};
  std::int64_t masks = 0;
};

// at: the place of the sequence's first token in the batch.
void set_input(const OpCall& call, const Sequences& sequences, const Part& part, std::int64_t at, const Memory& memory,
               PartInput& out) {
  const AttentionShape& shape = call.attention->shape;
  const std::int64_t width = call.x_width, keys = part.keys.count();
  const float* rows = part.is_global ? call.other : call.x;
  const float* first_key = rows + at * width + shape.query_width();
  std::int64_t stride = width;
  if (!part.keys.is_whole()) {
    stride = gathered_width(shape);
    for (std::int64_t key = 0; key < keys; ++key) {
      std::copy_n(first_key + part.keys.token_at(key) * width, stride, memory.gathered + key * stride);
    }
    first_key = memory.gathered;
  }
  const auto begin = static_cast<std::int32_t>(at + part.first_query);
  out.query_start = {begin, begin + static_cast<std::int32_t>(part.queries)};
  out.key_start = {0, static_cast<std::int32_t>(keys)};
  out.input = {.queries = rows,
               .query_stride = width,
               .keys = first_key,
               .values = first_key + shape.kv_width(),
               .kv_stride = stride,
               .seq_start = out.query_start,
               .key_start = out.key_start};
  if (sequences.sees_all(part)) return;
  for (std::int64_t i = 0; i < part.queries; ++i) {
    for (std::int64_t key = 0; key < keys; ++key) {
      const bool seen = sequences.sees(part, part.first_query + i, part.keys.token_at(key));
      memory.mask[i * keys + key] = seen ? 0 : -std::numeric_limits<float>::infinity();
    }
  }
  out.mask[0] = {.data = memory.mask, .query = keys, .key = 1};
  out.masks = 1;
}

ScoreTerms terms_of(const OpCall& call, const PartInput& part, const ProbabilityDropout& dropout) {
  return {.scale = call.attention->scale / call.score_divisor,
          .add = {part.mask.data(), static_cast<std::size_t>(part.masks)},
          .dropout = dropout.dropout.rate > 0 ? &dropout : nullptr};
}

ProbabilityDropout dropout_of(const OpCall& call) {
  if (!call.pass.training) return {};
  return drop_probabilities(call.pass.training->at(DropPlace::kProbabilities, call.layer));
}

// Puts the scores and probabilities of a sequence's parts together.
class Whole final : public Taps {
 public:
  Whole(const AttentionShape& shape, std::int64_t tokens)
      : heads_(shape.heads), tokens_(tokens), scores_(static_cast<std::size_t>(heads_ * tokens * tokens), -kInfinity) {
    probs_.resize(scores_.size());
  }
  void set_part(const Part& part) { part_ = &part; }
  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    std::vector<float>& to = point.name.ends_with("scores") ? scores_ : probs_;
    const float* from = tensor.data;
    for (std::int64_t head = 0; head < heads_; ++head) {
      for (std::int64_t query = part_->first_query; query < part_->first_query + part_->queries; ++query) {
        float* row = to.data() + (head * tokens_ + query) * tokens_;
        for (std::int64_t key = 0; key < part_->keys.count(); ++key) row[part_->keys.token_at(key)] = *from++;
      }
    }
  }
  void show(Taps& taps, int layer, int sequence) const {
    const std::int64_t dims[] = {heads_, tokens_, tokens_};
    taps.on_tensor({"attention.scores", layer, sequence}, {scores_.data(), dims});
    taps.on_tensor({"attention.probs", layer, sequence}, {probs_.data(), dims});
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::int64_t heads_, tokens_;
  std::vector<float> scores_, probs_;
  const Part* part_ = nullptr;
};

using ThreadsScratch = std::array<AttentionScratch, ThreadTeam::kMostThreads>;
ThreadsScratch take_threads(const OpCall& call) {
  const PassSizes& sizes = call.pass.sizes;
  const std::int64_t keys = std::max(sizes.own_keys, sizes.keys);
  ThreadsScratch out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(sizes.threads); ++i) {
    out[i] = take_attention_scratch(*call.scratch, call.attention->shape, keys, keys, 0);
  }
  return out;
}

std::vector<float*> take_backward_threads(const OpCall& call) {
  const PassSizes& sizes = call.pass.sizes;
  const std::int64_t floats = attention_backward_scratch(call.attention->shape, std::max(sizes.keys, sizes.own_keys), 0);
  std::vector<float*> out(static_cast<std::size_t>(sizes.threads));
  for (float*& one : out) one = call.scratch->take<float>(floats);
  return out;
}

}  // namespace

void take_global_attention(const OpCall& call) {
  take_memory(call, false);
  take_threads(call);
}

void global_attention(const OpCall& call) {
  const Memory memory = take_memory(call, false);
  const ThreadsScratch scratch = take_threads(call);
  const AttentionShape& shape = call.attention->shape;
  const ProbabilityDropout dropout = dropout_of(call);
  const Batch& batch = *call.pass.batch;
  const Sequences sequences(call);
  Taps* const taps = call.pass.taps;
  const int layer = static_cast<int>(call.layer);
  const float* head_mask = taps ? taps->head_mask({"attention.probs", layer}) : nullptr;
  std::vector<Whole> whole;
  for (std::int64_t i = 0; taps && i < batch.batch(); ++i) whole.emplace_back(shape, batch.length(i));
  sequences.each_part([&](const Part& part, std::int64_t i) {
    PartInput input;
    set_input(call, sequences, part, batch.seq_start[static_cast<std::size_t>(i)], memory, input);
    ScoreTerms terms = terms_of(call, input, dropout);
    terms.head_mask = head_mask;
    Whole* const of_sequence = taps ? &whole[static_cast<std::size_t>(i)] : nullptr;
    if (of_sequence) of_sequence->set_part(part);
    attention(*call.pass.compute, shape, terms, input.input, scratch, call.out, {of_sequence, layer});
  });
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i].show(*taps, layer, static_cast<int>(i));
}

void take_global_attention_backward(const OpCall& call) {
  take_memory(call, true);
  take_backward_threads(call);
}

void global_attention_backward(const OpCall& call, const GlobalAttentionGradient& gradient) {
  const Memory memory = take_memory(call, true);
  const std::vector<float*> scratch = take_backward_threads(call);
  const AttentionShape& shape = call.attention->shape;
  const ProbabilityDropout dropout = dropout_of(call);
  const Batch& batch = *call.pass.batch;
  const Sequences sequences(call);
  sequences.each_part([&](const Part& part, std::int64_t i) {
    float* const d_rows = part.is_global ? gradient.d_other : gradient.d_x;
    if (!d_rows) return;
    const std::int64_t at = batch.seq_start[static_cast<std::size_t>(i)], count = part.keys.count();
    PartInput input;
    set_input(call, sequences, part, at, memory, input);
    float* const d_first = d_rows + at * call.x_width + shape.query_width();
    const std::int64_t stride = input.input.kv_stride;
    float* const d_keys = part.keys.is_whole() ? d_first : memory.d_gathered;
    if (!part.keys.is_whole()) std::fill_n(d_keys, count * stride, 0.0f);
    attention_backward(
        *call.pass.compute, shape, terms_of(call, input, dropout), input.input, scratch,
        {.d_context = gradient.d_context, .d_queries = d_rows, .d_keys = d_keys, .d_values = d_keys + shape.kv_width()});
    if (part.keys.is_whole()) return;
    for (std::int64_t key = 0; key < count; ++key) {
      call.pass.compute->kernels.axpy(1, d_keys + key * stride, d_first + part.keys.token_at(key) * call.x_width, stride);
    }
  });
}

}  // namespace wattn
