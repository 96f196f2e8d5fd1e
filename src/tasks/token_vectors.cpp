#include "tasks/token_vectors.h"

#include <algorithm>
#include <string>

#include "tasks/sparse_vectors.h"

namespace wattn {
namespace {

constexpr float kNormEpsilon = 1e-12f;  // torch.nn.functional.normalize's

template <class T>
void insert_second(std::vector<T>& list, T value) {
  list.insert(list.begin() + (list.empty() ? 0 : 1), value);
}

}  // namespace

TokenVectorsJob::TokenVectorsJob(Model& model, std::span<const std::u16string_view> texts, const TokenVectorsOptions& options)
    : TextJob(model, texts.size()),
      texts_(texts),
      options_(options),
      parts_(*model.retrieval()),
      role_(options.is_query ? parts_.query : parts_.document) {}

Result<std::unique_ptr<TokenVectorsJob>> TokenVectorsJob::begin(Model& model, std::span<const std::u16string_view> texts,
                                                                const TokenVectorsOptions& options) {
  std::unique_ptr<TokenVectorsJob> out(new TokenVectorsJob(model, texts, options));
  if (auto prepared = out->prepare(); !prepared.ok()) return prepared.error();
  return out;
}

Result<void> TokenVectorsJob::prepare() {
  const std::int64_t positions = model().transformer().positions();
  const std::int64_t own = role_.length > 0 ? role_.length : model().max_length();
  length_ = options_.max_length.value_or(role_.expand ? own : std::min(own, positions));
  const std::int64_t least = role_.prefix ? 2 : 1;
  if (length_ < least || length_ > positions) {
    return input_error("max_length: expected a whole number from " + std::to_string(least) + " to " + std::to_string(positions) +
                       " (the model's positions), found " + std::to_string(length_));
  }
  if (role_.expand && !parts_.attend_to_expansion &&
      model().transformer().config().relative_positions == RelativePositions::kDisentangled) {
    return unsupported_error("attend_to_expansion_tokens: expected true for an encoder with disentangled attention, found false");
  }
  encode_.max_length = static_cast<std::int32_t>(length_ - (role_.prefix ? 1 : 0));
  encode_.split_special_tokens = options_.split_special_tokens;
  const auto& dense = model().sentence().modules;
  result_.dim = dense.empty() ? model().transformer().config().hidden_size : dense.back().out;
  return {};
}

// The prefix follows the first token, which is a special one in the models that have a prefix.
Result<Encoding> TokenVectorsJob::encode(std::size_t text) {
  auto encoded = model().tokenizer().encode(texts_[text], encode_);
  if (!encoded.ok()) return encoded;
  Encoding& encoding = encoded.value();
  if (role_.prefix) {
    insert_second(encoding.ids, *role_.prefix);
    insert_second(encoding.type_ids, 0);
    insert_second(encoding.offsets, TextSpan{});
    ++encoding.num_tokens_untruncated;
  }
  result_.tokens.push_back(static_cast<std::int32_t>(encoding.size()));
  result_.tokens_untruncated.push_back(encoding.num_tokens_untruncated);
  result_.unknown.push_back(encoding.unknown);
  if (!role_.expand) return encoded;
  const auto length = std::max(encoding.size(), static_cast<std::size_t>(length_));
  encoding.ids.resize(length, parts_.expansion_id);
  encoding.type_ids.resize(length);
  encoding.offsets.resize(length);
  return encoded;
}

std::string TokenVectorsJob::name_of(std::size_t text) const {
  return "text " + std::to_string(options_.first_text + static_cast<std::int64_t>(text));
}

void TokenVectorsJob::add(Encoding window, std::size_t, bool) { encodings_.push_back(std::move(window)); }

void TokenVectorsJob::keep(const Encoding& encoding, const float* hidden, std::vector<float>& rows) {
  const std::int64_t width = model().transformer().config().hidden_size;
  const std::size_t before = result_.ids.size();
  for (std::size_t t = 0; t < encoding.size(); ++t, hidden += width) {
    if (t == 0 && !parts_.lexical.weight.empty()) continue;
    if (std::binary_search(role_.skiplist.begin(), role_.skiplist.end(), encoding.ids[t])) continue;
    rows.insert(rows.end(), hidden, hidden + width);
    result_.ids.push_back(encoding.ids[t]);
    result_.offsets.push_back(encoding.offsets[t]);
  }
  result_.rows.push_back(static_cast<std::int32_t>(result_.ids.size() - before));
}

Result<void> TokenVectorsJob::add_others(const Encoding& encoding, const float* hidden, const std::string& text) {
  const TransformerConfig& config = model().transformer().config();
  const std::size_t at = result_.dense.size();
  result_.dense.resize(at + static_cast<std::size_t>(config.hidden_size));
  if (encoding.size() > 0) std::copy_n(hidden, config.hidden_size, &result_.dense[at]);
  if (auto checked = check_finite(&result_.dense[at], config.hidden_size, text); !checked.ok()) return checked;
  model().kernels().l2_normalize(&result_.dense[at], kNormEpsilon, config.hidden_size);
  std::vector<float> weights(static_cast<std::size_t>(config.vocab_size));
  const auto found = lexical_weights(model(), encoding.ids, hidden, text, weights);
  if (!found.ok()) return found.error();
  for (const std::int32_t id : found.value()) {
    result_.indices.push_back(id);
    result_.values.push_back(weights[static_cast<std::size_t>(id)]);
  }
  result_.counts.push_back(static_cast<std::int32_t>(found.value().size()));
  return {};
}

Result<void> TokenVectorsJob::run(const Batch& batch, const std::vector<std::size_t>& texts) {
  const std::size_t first = result_.rows.size();
  std::vector<float> rows;
  if (!reads_batch()) {
    // Each query by itself: keys and values end before its expansion tokens.
    for (std::size_t i = 0; i < encodings_.size(); ++i) {
      Batch one;
      model().add_text(encodings_[i], one);
      one.key_start = {0, result_.tokens[texts[i]]};
      const auto hidden = model().run(one, nullptr);
      if (!hidden.ok()) return hidden.error();
      keep(encodings_[i], hidden.value(), rows);
    }
  } else {
    const auto hidden = states(batch);
    if (!hidden.ok()) return hidden.error();
    for (std::size_t i = 0; i < encodings_.size(); ++i) {
      const float* states = hidden.value() + batch.seq_start[i] * model().transformer().config().hidden_size;
      keep(encodings_[i], states, rows);
      if (parts_.lexical.weight.empty()) continue;
      if (auto added = add_others(encodings_[i], states, name_of(texts[i])); !added.ok()) return added;
    }
  }
  encodings_.clear();
  if (!model().sentence().modules.empty()) {
    std::vector<float> dense;
    model().run_modules(rows.data(), static_cast<std::int64_t>(rows.size()) / model().transformer().config().hidden_size, dense);
    rows = std::move(dense);
  }
  const auto dim = static_cast<std::size_t>(result_.dim);
  std::size_t at = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t count = static_cast<std::size_t>(result_.rows[first + i]) * dim;
    const auto checked = check_finite(rows.data() + at, static_cast<std::int64_t>(count), name_of(texts[i]));
    if (!checked.ok()) return checked;
    at += count;
  }
  for (at = 0; at < rows.size(); at += dim) model().kernels().l2_normalize(rows.data() + at, kNormEpsilon, result_.dim);
  result_.data.insert(result_.data.end(), rows.begin(), rows.end());
  return {};
}

Result<TokenVectorsResult> token_vectors(Model& model, std::span<const std::u16string_view> texts,
                                         const TokenVectorsOptions& options) {
  const auto job = TokenVectorsJob::begin(model, texts, options);
  if (!job.ok()) return job.error();
  if (auto ran = run_all(*job.value()); !ran.ok()) return ran.error();
  return job.value()->take_result();
}

}  // namespace wattn
