#include "nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/arena.h"
#include "nn/elementwise.h"
#include "nn/functional.h"
#include "nn/shapes.h"
#include "ops/attention.h"

namespace wattn::nn {
namespace {

constexpr std::string_view kWhere = "nn.scaled_dot_product_attention";

// Copies the probabilities.
struct WeightsTap : Taps {
  float* to = nullptr;
  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    if (!point.name.ends_with("probs")) return;
    to = std::copy_n(tensor.data, *num_elements({tensor.shape.begin(), tensor.shape.end()}), to);
  }
};

// seq_start of count sequences of the same length.
std::vector<std::int32_t> even_starts(std::int64_t count, std::int64_t length) {
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i <= count; ++i) out.push_back(static_cast<std::int32_t>(i * length));
  return out;
}

// ops/attention.h over sequences of equal lengths.
class Attender {
 public:
  // scores_dims: [..., queries, keys]. Checks the changes against it and takes the scratch.
  Result<void> prepare(const AttentionShape& shape, Shape scores_dims, const ScoreChanges& changes) {
    shape_ = shape;
    scores_dims_ = std::move(scores_dims);
    changes_ = &changes;
    for (const std::vector<const Tensor*>* list : {&changes.multiply, &changes.add}) {
      for (const Tensor* tensor : *list) {
        const auto joined = broadcast(kWhere, tensor->dims, scores_dims_);
        if (!joined.ok() || joined.value() != scores_dims_) {
          return wrong_shape(kWhere, "a mask or bias", "that can be broadcast to " + to_string(scores_dims_), tensor->dims);
        }
      }
    }
    const std::int64_t keys = scores_dims_.back();
    Arena measure;
    take_attention_scratch(measure, shape, keys, keys, 0);
    auto arena = Arena::with_bytes(measure.used(), "the scratch of nn's attention");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
    scratch_ = take_attention_scratch(arena_, shape, keys, keys, 0);
    return {};
  }

  // Attention number index of the leading dimensions, with batch sequences. weights: may be null.
  void run(AttentionInput input, std::int64_t batch, std::int64_t index, float scale, float* context, float* weights) {
    const std::int64_t keys = scores_dims_.back(), queries = scores_dims_[scores_dims_.size() - 2];
    const auto seq_start = even_starts(batch, queries), key_start = even_starts(batch, keys);
    std::vector<std::int32_t> position_ids(static_cast<std::size_t>(batch * queries));
    for (std::int64_t i = 0; i < batch * queries; ++i) {
      position_ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(changes_->past + i % queries);
    }
    input.seq_start = seq_start;
    input.position_ids = position_ids;
    if (!input.cache) input.key_start = key_start;
    const std::vector<BroadcastMask> multiply = masks(changes_->multiply, index), add = masks(changes_->add, index);
    const ScoreTerms terms{.scale = scale, .causal = changes_->causal, .multiply = multiply, .add = add};
    WeightsTap tap;
    tap.to = weights;
    attention(compute(), shape_, terms, input, {&scratch_, 1}, context, {weights ? &tap : nullptr});
  }

 private:
  std::vector<BroadcastMask> masks(const std::vector<const Tensor*>& tensors, std::int64_t index) const {
    std::vector<BroadcastMask> out;
    const std::size_t rank = scores_dims_.size();
    const std::int64_t first = index * scores_dims_[rank - 1] * scores_dims_[rank - 2];
    for (const Tensor* tensor : tensors) {
      const auto strides = broadcast_strides(tensor->dims, scores_dims_);
      const auto stride = [&](std::size_t from_end) { return from_end <= rank ? strides[rank - from_end] : 0; };
      out.push_back({tensor->at(broadcast_offset(first, scores_dims_, strides)), stride(4), stride(3), stride(2), stride(1)});
    }
    return out;
  }

  AttentionShape shape_;
  Shape scores_dims_;
  const ScoreChanges* changes_ = nullptr;
  Arena arena_;
  AttentionScratch scratch_;
};

Shape stack_of(const Tensor& x) { return Shape(x.dims.begin(), x.dims.end() - 2); }

Shape with(Shape stack, std::int64_t rows, std::int64_t columns) {
  stack.insert(stack.end(), {rows, columns});
  return stack;
}

// Never null, which has another meaning to the op.
const float* address(const Tensor& x, std::int64_t offset = 0) {
  static constexpr float kNothing = 0;
  return x.data.empty() ? &kNothing : x.at(offset);
}

Result<Outputs> make_room(Shape output, Shape weights, bool need_weights) {
  auto room = Tensor::zeros(std::move(output));
  if (!room.ok()) return room.error();
  if (!need_weights) return Outputs{std::move(room).value(), {}};
  auto more = Tensor::zeros(std::move(weights));
  if (!more.ok()) return more.error();
  return Outputs{std::move(room).value(), std::move(more).value()};
}

// Attention from functions that are recorded, with the same bits: q [..., queries, d_k], k [..., keys, d_k], v [..., keys, d_v].
// The weights are those before dropout.
Result<Outputs> recorded_attention(const Tensor& q, const Tensor& k, const Tensor& v, const ScoreChanges& changes, float scale) {
  auto scores = dot_product_similarity(q, k);
  if (!scores.ok()) return scores.error();
  Tensor x = scaled(scores.value(), scale);
  const auto change = [&](Result<Tensor> changed) -> Result<void> {
    if (!changed.ok()) return changed.error();
    if (changed.value().dims != x.dims) {
      // Broadcast the other way: leading dimensions that only the mask has.
      return wrong_shape(kWhere, "a mask or bias", "that can be broadcast to " + to_string(x.dims), changed.value().dims);
    }
    x = std::move(changed).value();
    return {};
  };
  for (const Tensor* factor : changes.multiply) {
    if (auto e = change(mul(x, *factor)); !e.ok()) return e.error();
  }
  for (const Tensor* term : changes.add) {
    if (auto e = change(add(x, *term)); !e.ok()) return e.error();
  }
  if (changes.causal) {
    const std::int64_t queries = x.dim(-2), keys = x.dim(-1);
    auto hidden = Tensor::zeros({queries, keys});
    if (!hidden.ok()) return hidden.error();
    for (std::int64_t i = 0; i < queries * keys; ++i) *hidden.value().at(i) = i % keys > changes.past + i / keys ? 1.0f : 0.0f;
    if (auto e = change(masked_fill(x, hidden.value(), -std::numeric_limits<double>::infinity())); !e.ok()) return e.error();
  }
  auto probs = softmax(x, -1);
  if (!probs.ok()) return probs.error();
  auto kept = changes.random ? dropout(probs.value(), changes.dropout, *changes.random) : probs;
  if (!kept.ok()) return kept.error();
  auto out = matmul(kept.value(), v);
  if (!out.ok()) return out.error();
  return Outputs{std::move(out).value(), std::move(probs).value()};
}

// Whether it must be composed of recorded functions: because gradients are wanted, or because of dropout.
bool is_composed(const Tensor& q, const Tensor* k, const Tensor* v, const ScoreChanges& changes) {
  const auto any = [](const std::vector<const Tensor*>& list) {
    return std::any_of(list.begin(), list.end(), [](const Tensor* tensor) { return records({tensor}); });
  };
  return records({&q, k, v}) || any(changes.multiply) || any(changes.add) || (changes.dropout > 0 && changes.random);
}

// [batch, seq, heads * d] -> [batch, heads, seq, d].
Result<Tensor> by_head(Tensor x, std::int64_t heads) {
  x.dims = {x.dim(0), x.dim(1), heads, x.dim(2) / heads};
  return permute(x, {0, 2, 1, 3});
}

}  // namespace

Result<Outputs> scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const ScoreChanges& changes,
                                             std::optional<float> scale, bool need_weights) {
  if (q.rank() < 2) return wrong_shape(kWhere, "query", "[..., queries, d_k]", q.dims);
  const std::int64_t queries = q.dim(-2), d_k = q.dim(-1);
  if (k.rank() < 2 || k.dim(-1) != d_k) return wrong_shape(kWhere, "key", "[..., keys, " + std::to_string(d_k) + "]", k.dims);
  const std::int64_t keys = k.dim(-2);
  if (v.rank() < 2 || v.dim(-2) != keys) return wrong_shape(kWhere, "value", "[..., " + std::to_string(keys) + ", d_v]", v.dims);
  const std::int64_t d_v = v.dim(-1);
  const auto with_k = broadcast(kWhere, stack_of(q), stack_of(k));
  if (!with_k.ok()) return with_k.error();
  const auto stack = broadcast(kWhere, with_k.value(), stack_of(v));
  if (!stack.ok()) return stack.error();
  const Shape scores = with(stack.value(), queries, keys);
  auto out = make_room(with(stack.value(), queries, d_v), scores, need_weights);
  if (!out.ok()) return out;
  Attender attender;
  if (const auto ready = attender.prepare({1, 1, d_k, d_v}, scores, changes); !ready.ok()) return ready.error();
  if (is_composed(q, &k, &v, changes)) {
    auto composed = recorded_attention(q, k, v, changes, scale.value_or(1.0f / std::sqrt(static_cast<float>(d_k))));
    if (composed.ok() && !need_weights) composed.value().weights = {};
    return composed;
  }
  const auto at = [&](const Tensor& x, std::int64_t i) {
    const auto strides = broadcast_strides(stack_of(x), stack.value());
    return address(x, broadcast_offset(i, stack.value(), strides) * x.dim(-2) * x.dim(-1));
  };
  for (std::int64_t i = 0; i < *num_elements(stack.value()); ++i) {
    const AttentionInput input{
        .queries = at(q, i), .query_stride = d_k, .keys = at(k, i), .values = at(v, i), .kv_stride = d_k, .value_stride = d_v};
    attender.run(input, 1, i, scale.value_or(1.0f / std::sqrt(static_cast<float>(d_k))), out.value().output.at(i * queries * d_v),
                 need_weights ? out.value().weights.at(i * queries * keys) : nullptr);
  }
  return out;
}

Result<Outputs> multi_head(const MultiHead& input, const ScoreChanges& changes, bool need_weights) {
  const auto& [heads, scale, q, k, v, cache] = input;
  const std::int64_t batch = q.dim(0), queries = q.dim(1), d_k = q.dim(2) / heads;
  const std::int64_t d_v = v ? v->dim(2) / heads : cache->kv.shape.value_size();
  const std::int64_t keys = (cache ? cache->tokens : 0) + (k ? k->dim(1) : 0);
  auto out = make_room({batch, queries, heads * d_v}, {batch, heads, queries, keys}, need_weights);
  if (!out.ok()) return out;
  Attender attender;
  const auto ready = attender.prepare({heads, heads, d_k, d_v}, {batch, heads, queries, keys}, changes);
  if (!ready.ok()) return ready.error();
  if (!cache && is_composed(q, k, v, changes)) {
    const auto query = by_head(q, heads), key = by_head(*k, heads), value = by_head(*v, heads);
    for (const auto* part : {&query, &key, &value}) {
      if (!part->ok()) return part->error();
    }
    auto composed = recorded_attention(query.value(), key.value(), value.value(), changes, scale);
    if (!composed.ok()) return composed;
    auto beside = permute(composed.value().output, {0, 2, 1, 3});
    if (!beside.ok()) return beside.error();
    beside.value().dims = {batch, queries, heads * d_v};
    return Outputs{std::move(beside).value(), need_weights ? std::move(composed.value().weights) : Tensor{}};
  }
  AttentionInput op{.queries = address(q), .query_stride = heads * d_k};
  if (k) {
    op.keys = address(*k);
    op.values = address(*v);
    op.kv_stride = heads * d_k;
    op.value_stride = heads * d_v;
  }
  std::vector<std::int32_t> slots(static_cast<std::size_t>(batch)), lengths(slots.size(), static_cast<std::int32_t>(keys));
  std::iota(slots.begin(), slots.end(), 0);
  if (cache) {
    op.cache = &cache->kv;
    op.slots = slots;
    op.lengths = lengths;
  }
  attender.run(op, batch, 0, scale, out.value().output.at(0), need_weights ? out.value().weights.at(0) : nullptr);
  if (cache) cache->tokens = keys;
  return out;
}

Result<Outputs> self_attention(const Tensor& x, bool need_weights) {
  return scaled_dot_product_attention(x, x, x, {}, 1.0f, need_weights);
}

}  // namespace wattn::nn
