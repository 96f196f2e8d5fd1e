// sparse_vectors: texts to a weight for each word of the vocabulary, most of them 0, as sentence-transformers'
// SparseEncoder.encode() with the same repository.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/retrieval.h"
#include "tasks/text_job.h"

namespace wattn {

struct SparseVectorsOptions {
  bool is_query = false;
  std::optional<std::int64_t> max_length{};       // tokens; none: the model's
  std::optional<std::int64_t> max_active_dims{};  // none: the repository's
  bool split_special_tokens = false;
  std::int64_t first_text = 0;  // index of texts[0] in messages: a host may split one call into several
};

struct SparseVectorsResult {
  std::vector<std::int32_t> indices;             // [sum of counts] ids of the words with a weight, rising in each text
  std::vector<float> values;                     // [sum of counts] their weights
  std::vector<std::int32_t> counts;              // [texts]
  std::vector<std::int32_t> tokens;              // [texts] including special tokens
  std::vector<std::int32_t> tokens_untruncated;  // [texts]
  std::vector<float> unknown;                    // [texts] share of unknown tokens (Encoding::unknown)
};

// The weights of a text's tokens by a LexicalHead. A token has the largest of its places, none below or at 0. ids: of the text;
// states: [tokens, hidden]; weights: [vocab], zeros before. Returns the ids of those with a weight, rising.
Result<std::vector<std::int32_t>> lexical_weights(const Model& model, std::span<const std::int32_t> ids, const float* states,
                                                  const std::string& text, std::vector<float>& weights);

class SparseVectorsJob final : public TextJob {
 public:
  // texts must live as long as the result. Needs a model loaded for Retrieval::kSparse.
  static Result<std::unique_ptr<SparseVectorsJob>> begin(Model& model, std::span<const std::u16string_view> texts,
                                                         const SparseVectorsOptions& options);
  // After the last step.
  SparseVectorsResult take_result() { return std::move(result_); }

 private:
  SparseVectorsJob(Model& model, std::span<const std::u16string_view> texts, const SparseVectorsOptions& options);

  Result<void> prepare();
  bool is_static() const { return options_.is_query && !parts_.query_weights.empty(); }
  // Appends a text's weights, without zeros and within max_active_dims. ids: of the weights, rising.
  void append(std::vector<std::int32_t> ids, const float* weights);
  void append_static(std::vector<std::int32_t> ids);
  // pooled: [batch, vocab], zeros before. states: [tokens, hidden].
  Result<void> append_lexical(const Batch& batch, const float* states, const std::vector<std::size_t>& texts);
  Result<void> pool_logits(const Batch& batch, const float* states, const std::vector<std::size_t>& texts, float* pooled);
  std::string name_of(std::size_t text) const;

  Result<Encoding> encode(std::size_t text) override;
  void add(Encoding, std::size_t, bool) override {}
  Result<void> run(const Batch& batch, const std::vector<std::size_t>& texts) override;

  std::span<const std::u16string_view> texts_;
  SparseVectorsOptions options_;
  const RetrievalParts& parts_;
  EncodeOptions encode_;
  std::int64_t max_active_ = 0;
  std::vector<float> logits_;  // of a few tokens
  SparseVectorsResult result_;
};

Result<SparseVectorsResult> sparse_vectors(Model& model, std::span<const std::u16string_view> texts,
                                           const SparseVectorsOptions& options);

}  // namespace wattn
