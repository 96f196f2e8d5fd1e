// token_vectors: texts to one vector of unit length for each token, for late interaction, as PyLate's encode() with the same
// repository.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/retrieval.h"
#include "tasks/text_job.h"

namespace wattn {

struct TokenVectorsOptions {
  bool is_query = false;
  std::optional<std::int64_t> max_length{};  // tokens with the prefix, to which queries are expanded; none: the repository's
  bool split_special_tokens = false;
  std::int64_t first_text = 0;  // index of texts[0] in messages: a host may split one call into several
};

struct TokenVectorsResult {
  std::vector<float> data;  // [sum of rows, dim]
  std::int64_t dim = 0;
  std::vector<std::int32_t> ids;                 // [sum of rows] the tokens
  std::vector<TextSpan> offsets;                 // [sum of rows] {0, 0} for special, prefix and expansion tokens
  std::vector<std::int32_t> rows;                // [texts] vectors of each text
  std::vector<std::int32_t> tokens;              // [texts] without expansion, including the prefix and what is skipped
  std::vector<std::int32_t> tokens_untruncated;  // [texts]
  std::vector<float> unknown;                    // [texts] share of unknown tokens (Encoding::unknown)
  // What a model with a LexicalHead gives beside these.
  std::vector<float> dense;           // [texts, hidden] the first token's state at length 1
  std::vector<std::int32_t> indices;  // [sum of counts], as the next two: SparseVectorsResult
  std::vector<float> values;
  std::vector<std::int32_t> counts;
};

class TokenVectorsJob final : public TextJob {
 public:
  // texts must live as long as the result. Needs a model loaded for Retrieval::kTokenVectors.
  static Result<std::unique_ptr<TokenVectorsJob>> begin(Model& model, std::span<const std::u16string_view> texts,
                                                        const TokenVectorsOptions& options);
  // After the last step.
  TokenVectorsResult take_result() { return std::move(result_); }

 private:
  TokenVectorsJob(Model& model, std::span<const std::u16string_view> texts, const TokenVectorsOptions& options);

  Result<void> prepare();
  // Appends the vectors of a sequence's tokens that are kept, before normalisation. hidden: [tokens, hidden].
  void keep(const Encoding& encoding, const float* hidden, std::vector<float>& rows);
  // The other vectors of a model with a LexicalHead.
  Result<void> add_others(const Encoding& encoding, const float* hidden, const std::string& text);

  std::string name_of(std::size_t text) const;

  Result<Encoding> encode(std::size_t text) override;
  void add(Encoding window, std::size_t text, bool is_first) override;
  Result<void> run(const Batch& batch, const std::vector<std::size_t>& texts) override;
  bool reads_batch() const override { return !role_.expand || parts_.attend_to_expansion; }

  std::span<const std::u16string_view> texts_;
  TokenVectorsOptions options_;
  const RetrievalParts& parts_;
  const TokenVectorsRole& role_;
  EncodeOptions encode_;
  std::int64_t length_ = 0;
  std::vector<Encoding> encodings_;  // of the micro-batch
  TokenVectorsResult result_;
};

Result<TokenVectorsResult> token_vectors(Model& model, std::span<const std::u16string_view> texts,
                                         const TokenVectorsOptions& options);

}  // namespace wattn
