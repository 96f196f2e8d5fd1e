#include "nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/matmul.h"

namespace wattn::nn {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// A matrix inside a tensor: rows are stride apart.
struct Rows {
  const float* at;
  std::int64_t stride;
};

// One attention of the stack.
struct One {
  Rows q, k, v;
  float* output;
  std::int64_t output_stride;
  float* weights;  // [queries, keys]
};

class Attender {
 public:
  Attender(std::int64_t queries, std::int64_t keys, std::int64_t d_k, std::int64_t d_v, float scale, const ScoreChanges& changes)
      : queries_(queries), keys_(keys), d_k_(d_k), d_v_(d_v), scale_(scale), changes_(changes) {}

  // Checks the changes against the stack and takes the scratch.
  Result<void> prepare(const Shape& stack) {
    scores_dims_ = stack;
    scores_dims_.push_back(queries_);
    scores_dims_.push_back(keys_);
    for (const std::vector<const Tensor*>* list : {&changes_.multiply, &changes_.add}) {
      for (const Tensor* tensor : *list) {
        const auto joined = broadcast("nn.scaled_dot_product_attention", tensor->dims, scores_dims_);
        if (!joined.ok() || joined.value() != scores_dims_) {
          return wrong_shape("nn.scaled_dot_product_attention", "a mask or bias", "that broadcasts to " + to_string(scores_dims_),
                             tensor->dims);
        }
      }
    }
    auto scratch = Tensor::zeros({std::max(matmul_scratch_size(keys_, d_k_), matmul_scratch_size(d_v_, keys_))});
    if (!scratch.ok()) return scratch.error();
    scratch_ = std::move(scratch).value();
    return {};
  }

  // index: of this attention in the stack.
  void attend(std::int64_t index, const One& one) {
    matmul(compute(),
           {.a = one.q.at,
            .a_stride = one.q.stride,
            .b = one.k.at,
            .b_stride = one.k.stride,
            .c = one.weights,
            .c_stride = keys_,
            .m = queries_,
            .n = keys_,
            .k = d_k_,
            .scale = scale_},
           scratch_.at(0));
    change(index, one.weights);
    for (std::int64_t i = 0; i < queries_; ++i) {
      float* row = one.weights + i * keys_;
      if (std::all_of(row, row + keys_, [](float score) { return score == kMinusInfinity; })) {
        std::fill(row, row + keys_, 0.0f);
      } else {
        compute().kernels.softmax_rows(row, 1, keys_, keys_);
      }
    }
    matmul(compute(),
           {.a = one.weights,
            .a_stride = keys_,
            .b = one.v.at,
            .b_stride = one.v.stride,
            .b_is_transposed = true,
            .c = one.output,
            .c_stride = one.output_stride,
            .m = queries_,
            .n = d_v_,
            .k = keys_},
           scratch_.at(0));
  }

 private:
  template <class F>
  void each(const Tensor& tensor, std::int64_t index, float* scores, const F& f) const {
    const auto strides = broadcast_strides(tensor.dims, scores_dims_);
    const float* first = tensor.at(broadcast_offset(index * queries_ * keys_, scores_dims_, strides));
    const std::int64_t down = strides[strides.size() - 2], across = strides.back();
    for (std::int64_t i = 0; i < queries_; ++i) {
      for (std::int64_t j = 0; j < keys_; ++j) f(scores[i * keys_ + j], first[i * down + j * across]);
    }
  }

  void change(std::int64_t index, float* scores) const {
    for (const Tensor* factor : changes_.multiply) each(*factor, index, scores, [](float& score, float x) { score *= x; });
    for (const Tensor* bias : changes_.add) each(*bias, index, scores, [](float& score, float x) { score += x; });
    if (!changes_.causal) return;
    for (std::int64_t i = 0; i < queries_; ++i) {
      const std::int64_t seen = std::min(keys_, changes_.past + i + 1);
      std::fill(scores + i * keys_ + seen, scores + (i + 1) * keys_, kMinusInfinity);
    }
  }

  std::int64_t queries_, keys_, d_k_, d_v_;
  float scale_;
  const ScoreChanges& changes_;
  Shape scores_dims_;
  Tensor scratch_;
};

Shape stack_of(const Tensor& x) { return Shape(x.dims.begin(), x.dims.end() - 2); }

}  // namespace

Result<Attention> scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const ScoreChanges& changes,
                                               std::optional<float> scale, bool need_weights) {
  constexpr std::string_view kWhere = "nn.scaled_dot_product_attention";
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
  Attender attender(queries, keys, d_k, d_v, scale.value_or(1.0f / std::sqrt(static_cast<float>(d_k))), changes);
  if (const auto ready = attender.prepare(stack.value()); !ready.ok()) return ready.error();

  Shape dims = stack.value();
  dims.insert(dims.end(), {queries, d_v});
  auto output = Tensor::zeros(dims);
  dims.back() = keys;
  auto weights = Tensor::zeros(need_weights ? dims : Shape{queries, keys});
  if (!output.ok()) return output.error();
  if (!weights.ok()) return weights.error();
  const auto q_strides = broadcast_strides(stack_of(q), stack.value());
  const auto k_strides = broadcast_strides(stack_of(k), stack.value());
  const auto v_strides = broadcast_strides(stack_of(v), stack.value());
  for (std::int64_t i = 0; i < *num_elements(stack.value()); ++i) {
    attender.attend(i, {.q = {q.at(broadcast_offset(i, stack.value(), q_strides) * queries * d_k), d_k},
                        .k = {k.at(broadcast_offset(i, stack.value(), k_strides) * keys * d_k), d_k},
                        .v = {v.at(broadcast_offset(i, stack.value(), v_strides) * keys * d_v), d_v},
                        .output = output.value().at(i * queries * d_v),
                        .output_stride = d_v,
                        .weights = weights.value().at(need_weights ? i * queries * keys : 0)});
  }
  return Attention{std::move(output).value(), need_weights ? std::move(weights).value() : Tensor{}};
}

Result<Attention> multi_head(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t heads, const ScoreChanges& changes,
                             float scale, bool need_weights) {
  const std::int64_t batch = q.dim(0), queries = q.dim(1), keys = k.dim(1);
  const std::int64_t d_k = q.dim(2) / heads, d_v = v.dim(2) / heads;
  Attender attender(queries, keys, d_k, d_v, scale, changes);
  if (const auto ready = attender.prepare({batch, heads}); !ready.ok()) return ready.error();
  auto output = Tensor::zeros({batch, queries, heads * d_v});
  auto weights = Tensor::zeros(need_weights ? Shape{batch, heads, queries, keys} : Shape{queries, keys});
  if (!output.ok()) return output.error();
  if (!weights.ok()) return weights.error();
  for (std::int64_t i = 0; i < batch * heads; ++i) {
    const std::int64_t b = i / heads, h = i % heads;
    attender.attend(i, {.q = {q.at(b * queries * heads * d_k + h * d_k), heads * d_k},
                        .k = {k.at(b * keys * heads * d_k + h * d_k), heads * d_k},
                        .v = {v.at(b * keys * heads * d_v + h * d_v), heads * d_v},
                        .output = output.value().at(b * queries * heads * d_v + h * d_v),
                        .output_stride = heads * d_v,
                        .weights = weights.value().at(need_weights ? i * queries * keys : 0)});
  }
  return Attention{std::move(output).value(), need_weights ? std::move(weights).value() : Tensor{}};
}

Result<Attention> self_attention(const Tensor& x, bool need_weights) {
  return scaled_dot_product_attention(x, x, x, {}, 1.0f, need_weights);
}

}  // namespace wattn::nn
