// Embeddings of a training pass, and the gradients of tables: words, positions, relative positions.
#include <algorithm>
#include <numeric>
#include <vector>

#include "models/training_pass.h"

namespace wattn {

namespace {

constexpr std::int32_t kFirst = 0;

}  // namespace

void TrainingPass::sum_embeddings(float* out) const {
  const TransformerEnds& ends = model_.ends();
  const Batch& batch = pass_.batch;
  const std::int64_t width = config_.embedding_width();
  word_rows(ends.word_table, batch.input_ids, width, out);
  for (std::int64_t i = 0; config_.embedding_scale != 1.0f && i < tokens_ * width; ++i) out[i] *= config_.embedding_scale;
  if (config_.type_vocab_size > 0) add_embedding_rows(ends.token_types, batch.token_type_ids, out);
  if (config_.positions_by_table()) add_embedding_rows(ends.positions, batch.position_ids, out);
  if (config_.positions == Positions::kAfterPadding) add_embedding_rows(ends.positions, positions_after_padding(), out);
}

std::vector<std::int32_t> TrainingPass::positions_after_padding() const {
  std::vector<std::int32_t> rows;
  each_position_after_padding(pass_.batch, static_cast<std::int32_t>(config_.padding_idx),
                              [&](std::int64_t, std::int32_t row) { rows.push_back(row); });
  return rows;
}

void TrainingPass::prepare_relative_embeddings() {
  const DistanceBuckets& buckets = model_.ends().distance_buckets;
  Disentangled& terms = pass_.work.disentangled;
  float* rows = pass_.work.relative;
  terms.distances = &buckets;
  terms.first = buckets.of(1 - max_seq_);
  terms.count = buckets.of(max_seq_ - 1) + 1 - terms.first;
  terms.queries_and_keys = pass_.work.relative_qk;
  std::fill(rows, rows + terms.count * config_.hidden_size, 0.0f);
  for (std::int64_t i = 0; i < terms.count; ++i) {
    const auto row = static_cast<std::int32_t>(terms.first + i);
    add_embedding_rows(model_.ends().relative, {&row, 1}, rows + i * config_.hidden_size);
  }
  if (config_.disentangled.norm) layer_norm(pass_.compute, model_.ends().relative_norm, rows, nullptr, terms.count, rows);
}

void TrainingPass::embed(float* out) {
  const std::int64_t width = config_.embedding_width();
  float* rows = config_.embedding_size > 0 ? pass_.work.embedded : out;
  sum_embeddings(rows);
  if (config_.embeddings_norm) normalise(pass_.compute, config_.norm, model_.ends().norm, rows, tokens_, rows);
  drop(pass_.compute, dropout_of(kEmbeddings), rows, tokens_ * width);
  if (config_.embedding_size > 0) {
    linear(pass_.compute, model_.ends().projection, rows, tokens_, Activation::kNone, pass_.work.linear, out);
  }
}

void TrainingPass::embeddings_backward(float* d) {
  const Batch& batch = pass_.batch;
  const std::int64_t width = config_.embedding_width(), size = tokens_ * width;
  float *embedded = middle_, *normal_embedded = normal_;  // after the last layer
  sum_embeddings(embedded);
  float* d_out = d;
  if (config_.embedding_size > 0) {
    std::copy_n(embedded, size, normal_embedded);
    if (config_.embeddings_norm) {
      normalise(pass_.compute, config_.norm, model_.ends().norm, embedded, tokens_, normal_embedded);
    }
    drop(pass_.compute, dropout_of(kEmbeddings), normal_embedded, size);
    linear_gradient(model_.ends().projection, &gradients_->ends_->projection, normal_embedded, d, tokens_, d_embedded_);
    d_out = d_embedded_;
  }
  drop(pass_.compute, dropout_of(kEmbeddings), d_out, size);
  if (config_.embeddings_norm) {
    std::fill_n(normal_embedded, size, 0.0f);
    norm_backward(config_.norm, model_.ends().norm, gradients_->ends_->norm, embedded, d_out, tokens_, normal_embedded, true);
    d_out = normal_embedded;
  }
  const auto add_to = [&](const Embedding& table, std::span<const std::int32_t> ids) {
    embedding_backward(ids, d_out, width, static_cast<float*>(table.table));
  };
  if (config_.type_vocab_size > 0) add_to(gradients_->ends_->token_types, batch.token_type_ids);
  if (config_.positions == Positions::kLearned) add_to(gradients_->ends_->positions, batch.position_ids);
  if (config_.positions == Positions::kAfterPadding) add_to(gradients_->ends_->positions, positions_after_padding());
  for (std::int64_t i = 0; i < size; ++i) d_out[i] *= config_.embedding_scale;
  for (std::int64_t i = 0; i < tokens_; ++i) {
    const std::int32_t id = batch.input_ids[static_cast<std::size_t>(i)];
    if (id != config_.padding_word) add_word_gradient(id, d_out + i * width);
  }
}

void TrainingPass::add_word_gradient(std::int32_t id, const float* d) {
  if (scope_.word_rows) return embedding_backward({&kFirst, 1}, d, config_.embedding_width(), scope_.word_rows->find(id));
  const Transformer& words = scope_.words ? *scope_.words : *gradients_;
  if (words.head_holds_embeddings()) return add_weight_row(words.ends().lm_head, id, d);
  embedding_backward({&id, 1}, d, config_.embedding_width(), static_cast<float*>(words.ends().words.table));
}

void TrainingPass::relative_embeddings_backward() {
  const Disentangled& terms = pass_.work.disentangled;
  const std::int64_t hidden = config_.hidden_size;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(terms.count));
  std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(terms.first));
  float* d = d_relative_;
  if (config_.disentangled.norm) {
    float* rows = pass_.work.relative;  // before the norm
    std::fill_n(rows, terms.count * hidden, 0.0f);
    add_embedding_rows(model_.ends().relative, ids, rows);
    std::fill_n(d_relative_in_, terms.count * hidden, 0.0f);
    norm_backward(NormKind::kLayer, model_.ends().relative_norm, gradients_->ends_->relative_norm, rows, d_relative_, terms.count,
                  d_relative_in_, true);
    d = d_relative_in_;
  }
  embedding_backward(ids, d, hidden, static_cast<float*>(gradients_->ends_->relative.table));
}

void TrainingPass::share_buckets() {
  const std::int64_t heads = config_.num_attention_heads, buckets = (config_.causal ? 2 : 1) * config_.t5.buckets;
  DistanceBias& bias = gradients_->ends_->distances;
  std::vector<float> sums(static_cast<std::size_t>(heads * buckets));
  const auto bucket_of = [&](std::int64_t distance) { return t5_bucket(distance, buckets, config_.t5.max_distance); };
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t d = 1 - bias.span; d < bias.span; ++d) sums[bucket_of(d) * heads + head] += bias.at(head)[d];
  }
  for (std::int64_t bucket = 0; bucket < buckets; ++bucket) {
    set_t5_bucket(bias, heads, bucket, buckets, config_.t5.max_distance, sums.data() + bucket * heads);
  }
}

}  // namespace wattn
