#include "nn/attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/arena.h"
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
