#include "tasks/sparse_vectors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/real_math.h"

namespace wattn {
namespace {

// Logits are computed for a few tokens at a time, so that a long text needs no [tokens, vocab] of memory.
constexpr std::int64_t kPieceLogits = 1 << 20;

// log(1 + x) for x >= 0, correct to a float's rounding.
float log1p32(float x) { return x < 1e-8f ? x : static_cast<float>(log64(1.0 + static_cast<double>(x))); }

float activate(const SpladeConfig& config, float logit) {
  if (!(logit > 0)) return 0;
  const float once = log1p32(logit);
  return config.twice ? log1p32(once) : once;
}

}  // namespace

Result<std::vector<std::int32_t>> lexical_weights(const Model& model, std::span<const std::int32_t> ids, const float* states,
                                                  const std::string& text, std::vector<float>& weights) {
  const LexicalHead& head = model.retrieval()->lexical;
  const auto width = static_cast<std::int64_t>(head.weight.size());
  std::vector<std::int32_t> out;
  for (const std::int32_t id : ids) {
    const float weight = model.kernels().dot(states, head.weight.data(), width) + head.bias;
    states += width;
    if (auto checked = check_finite(&weight, 1, text); !checked.ok()) return checked.error();
    if (weight <= 0 || std::binary_search(head.unweighted.begin(), head.unweighted.end(), id)) continue;
    float& most = weights[static_cast<std::size_t>(id)];
    if (most == 0) out.push_back(id);
    most = std::max(most, weight);
  }
  std::sort(out.begin(), out.end());
  return out;
}

SparseVectorsJob::SparseVectorsJob(Model& model, std::span<const std::u16string_view> texts, const SparseVectorsOptions& options)
    : TextJob(model, texts.size()), texts_(texts), options_(options), parts_(*model.retrieval()) {}

Result<std::unique_ptr<SparseVectorsJob>> SparseVectorsJob::begin(Model& model, std::span<const std::u16string_view> texts,
                                                                  const SparseVectorsOptions& options) {
  std::unique_ptr<SparseVectorsJob> out(new SparseVectorsJob(model, texts, options));
  if (auto prepared = out->prepare(); !prepared.ok()) return prepared.error();
  return out;
}

Result<void> SparseVectorsJob::prepare() {
  const std::int64_t positions = model().transformer().positions();
  if (options_.max_length && (*options_.max_length < 1 || *options_.max_length > positions)) {
    return input_error("max_length: expected a whole number from 1 to " + std::to_string(positions) +
                       " (the model's positions), found " + std::to_string(*options_.max_length));
  }
  if (options_.max_active_dims && *options_.max_active_dims < 1) {
    return input_error("max_active_dims: expected a whole number from 1 on, found " + std::to_string(*options_.max_active_dims));
  }
  max_active_ = options_.max_active_dims.value_or(parts_.splade.max_active_dims);
  encode_.split_special_tokens = options_.split_special_tokens;
  encode_.max_length = static_cast<std::int32_t>(options_.max_length.value_or(model().max_length()));
  if (is_static()) {
    encode_.add_special_tokens = false;
    if (!options_.max_length) encode_.max_length = parts_.query_tokenizer->model_max_length();
  }
  return {};
}

std::string SparseVectorsJob::name_of(std::size_t text) const {
  return "text " + std::to_string(options_.first_text + static_cast<std::int64_t>(text));
}

void SparseVectorsJob::append(std::vector<std::int32_t> ids, const float* weights) {
  ids.erase(std::remove_if(ids.begin(), ids.end(), [&](std::int32_t id) { return weights[id] == 0; }), ids.end());
  if (max_active_ > 0 && static_cast<std::int64_t>(ids.size()) > max_active_) {
    const auto kept = ids.begin() + max_active_;
    const auto is_before = [&](std::int32_t a, std::int32_t b) {
      const float x = std::abs(weights[a]), y = std::abs(weights[b]);
      return x != y ? x > y : a < b;
    };
    std::nth_element(ids.begin(), kept, ids.end(), is_before);
    ids.erase(kept, ids.end());
    std::sort(ids.begin(), ids.end());
  }
  for (const std::int32_t id : ids) result_.values.push_back(weights[id]);
  result_.indices.insert(result_.indices.end(), ids.begin(), ids.end());
  result_.counts.push_back(static_cast<std::int32_t>(ids.size()));
}

// The weights of the words that occur, however often.
void SparseVectorsJob::append_static(std::vector<std::int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  append(std::move(ids), parts_.query_weights.data());
}

// A query without a model is done here, and leaves nothing to run.
Result<Encoding> SparseVectorsJob::encode(std::size_t text) {
  auto encoding = (is_static() ? *parts_.query_tokenizer : model().tokenizer()).encode(texts_[text], encode_);
  if (!encoding.ok()) return encoding;
  result_.tokens.push_back(static_cast<std::int32_t>(encoding.value().size()));
  result_.tokens_untruncated.push_back(encoding.value().num_tokens_untruncated);
  result_.unknown.push_back(encoding.value().unknown);
  if (!is_static()) return encoding;
  append_static(std::move(encoding.value().ids));
  return Encoding();
}

Result<void> SparseVectorsJob::run(const Batch& batch, const std::vector<std::size_t>& texts) {
  if (is_static()) return {};
  const bool is_lexical = !parts_.lexical.weight.empty();
  if (is_lexical && batch.tokens() > 0) {
    const auto hidden = states(batch);
    return hidden.ok() ? append_lexical(batch, hidden.value(), texts) : Result<void>(hidden.error());
  }
  const std::int64_t vocab = is_lexical ? model().transformer().config().vocab_size : model().labels();
  std::vector<float> pooled(static_cast<std::size_t>(batch.batch() * vocab), 0.0f);
  if (batch.tokens() > 0) {
    const auto hidden = states(batch);
    if (!hidden.ok()) return hidden.error();
    if (auto added = pool_logits(batch, hidden.value(), texts, pooled.data()); !added.ok()) return added;
  }
  std::vector<std::int32_t> all(static_cast<std::size_t>(vocab));
  std::iota(all.begin(), all.end(), 0);
  for (float* weights = pooled.data(); weights < pooled.data() + pooled.size(); weights += vocab) {
    if (!parts_.splade.sum) {
      // The function rises, so it may follow the maximum.
      for (std::int64_t i = 0; i < vocab; ++i) weights[i] = activate(parts_.splade, weights[i]);
    }
    append(all, weights);
  }
  return {};
}

Result<void> SparseVectorsJob::append_lexical(const Batch& batch, const float* states, const std::vector<std::size_t>& texts) {
  const std::int64_t hidden = model().transformer().config().hidden_size;
  std::vector<float> weights(static_cast<std::size_t>(model().transformer().config().vocab_size));
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t begin = batch.seq_start[i];
    const auto ids = std::span(batch.input_ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(batch.length(i)));
    auto found = lexical_weights(model(), ids, states + begin * hidden, name_of(texts[static_cast<std::size_t>(i)]), weights);
    if (!found.ok()) return found.error();
    const std::vector<std::int32_t> used = found.value();
    append(std::move(found).value(), weights.data());
    for (const std::int32_t id : used) weights[static_cast<std::size_t>(id)] = 0;
  }
  return {};
}

Result<void> SparseVectorsJob::pool_logits(const Batch& batch, const float* states, const std::vector<std::size_t>& texts,
                                           float* pooled) {
  const std::int64_t vocab = model().labels(), hidden = model().transformer().config().hidden_size;
  const std::int64_t piece = std::max<std::int64_t>(8, kPieceLogits / vocab);
  std::int64_t sequence = 0;
  for (std::int64_t begin = 0; begin < batch.tokens(); begin += piece) {
    const std::int64_t end = std::min(begin + piece, batch.tokens());
    logits_.clear();
    if (auto ran = model().run_head(states + begin * hidden, end - begin, logits_); !ran.ok()) return ran;
    const float* row = logits_.data();
    for (std::int64_t token = begin; token < end; ++token, row += vocab) {
      while (token >= batch.seq_start[sequence + 1]) ++sequence;
      if (auto checked = check_finite(row, vocab, name_of(texts[sequence])); !checked.ok()) return checked;
      float* out = pooled + sequence * vocab;
      if (!parts_.splade.sum) {
        model().kernels().max_into(row, out, vocab);
        continue;
      }
      for (std::int64_t i = 0; i < vocab; ++i) out[i] += activate(parts_.splade, row[i]);
    }
  }
  return {};
}

Result<SparseVectorsResult> sparse_vectors(Model& model, std::span<const std::u16string_view> texts,
                                           const SparseVectorsOptions& options) {
  const auto job = SparseVectorsJob::begin(model, texts, options);
  if (!job.ok()) return job.error();
  if (auto ran = run_all(*job.value()); !ran.ok()) return ran.error();
  return job.value()->take_result();
}

}  // namespace wattn
