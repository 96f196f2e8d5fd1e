#include "models/transformer.h"

#include <algorithm>

#include "models/layers.h"

namespace wattn {
namespace {

Result<void> check_range(std::span<const std::int32_t> values, std::int64_t limit, const char* what, const char* limit_name) {
  const auto bad = std::find_if(values.begin(), values.end(), [&](std::int32_t v) { return v < 0 || v >= limit; });
  if (bad == values.end()) return {};
  return input_error(std::string(what) + ": expected numbers from 0 to " + std::to_string(limit - 1) + " (" + limit_name +
                     " - 1), found " + std::to_string(*bad) + " at token " + std::to_string(bad - values.begin()));
}

}  // namespace

Plan Transformer::plan_with(const Fusions& fusions) const { return plan_of(config_, *ends_, layers(), {.fusions = fusions}); }

const Plan& Transformer::training_plan() const {
  if (!training_plan_) training_plan_ = std::make_unique<Plan>(plan_of(config_, *ends_, layers(), {.for_training = true}));
  return *training_plan_;
}

Result<void> Transformer::check(const Batch& batch) const {
  if (auto ids = check_range(batch.input_ids, config_.vocab_size, "input_ids", "vocab_size"); !ids.ok()) return ids;
  if (config_.type_vocab_size > 0) {
    auto types = check_range(batch.token_type_ids, config_.type_vocab_size, "token_type_ids", "type_vocab_size");
    if (!types.ok()) return types;
  }
  const char* limit_name = positions_ < config_.max_position_embeddings ? "context_length" : "max_position_embeddings";
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    if (batch.length(i) >= 0 && batch.length(i) <= positions_) continue;
    return input_error("sequence " + std::to_string(i) + ": expected at most " + limit_name + " = " + std::to_string(positions_) +
                       " tokens, found " + std::to_string(batch.length(i)));
  }
  if (!config_.positions_by_table() && config_.relative_positions != RelativePositions::kRotary) return {};
  return check_range(batch.position_ids, positions_, "position_ids", limit_name);
}

void Transformer::word_rows(std::span<const std::int32_t> ids, float* out) const {
  wattn::word_rows(ends_->word_table, ids, config_.embedding_width(), out);
}

void Transformer::pooler(const Batch& batch, const float* hidden, float* pooled) const {
  ThreadTeam alone;
  std::fill_n(pooled, batch.batch() * config_.hidden_size, 0.0f);
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    if (batch.length(i) == 0) continue;
    linear({*kernels_, alone, lora_}, ends_->pooler, hidden + batch.seq_start[i] * config_.hidden_size, 1, Activation::kTanh, {},
           pooled + i * config_.hidden_size);
  }
}

}  // namespace wattn
