// embed: texts to sentence vectors, as sentence-transformers' encode() with the same repository.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf.h"
#include "engine/model.h"
#include "tasks/text_job.h"

namespace wattn {

enum class Overflow : std::uint8_t {
  kTruncate,
  kError,       // a longer text is an InputError
  kWindowMean,  // windows of max_length tokens; the text's vector is the mean of theirs
  kWindows,     // one vector for each window
};

struct EmbedOptions {
  std::optional<std::vector<PoolingMode>> pooling{};  // none: the repository's; empty: one vector per token
  std::optional<bool> normalize{};                    // none: the repository's, before truncate_dim; true: also after it
  std::optional<std::int64_t> truncate_dim{};         // keep only the first components
  std::string prompt{};                               // prepended to every text
  std::optional<std::int64_t> max_length{};           // tokens; none: the model's
  Overflow overflow = Overflow::kTruncate;
  std::int64_t overlap = 0;  // tokens that neighbouring windows share
  bool split_special_tokens = false;
  std::int64_t first_text = 0;  // index of texts[0] in messages: a host may split one call into several
};

struct EmbedResult {
  // Pooled: [vectors, dim], one per text or, with kWindows, per window. Without pooling: [sum of tokens, dim].
  std::vector<float> data;
  std::int64_t dim = 0;
  bool pooled = false;
  std::vector<std::int32_t> tokens;              // [batch] tokens of all windows, including special tokens
  std::vector<std::int32_t> tokens_untruncated;  // [batch] tokens without truncation
  std::vector<std::int32_t> windows;             // [batch] windows of each text
  std::vector<float> unknown;                    // [batch] share of unknown tokens (Encoding::unknown)
};

// The prompt of this name in config_sentence_transformers.json; an InputError lists the known names. An empty name: the default
// prompt, if any.
Result<std::string> find_prompt(const SentenceConfig& sentence, std::string_view name);

class EmbedJob final : public TextJob {
 public:
  // texts must live as long as the result.
  static Result<std::unique_ptr<EmbedJob>> begin(Model& model, std::span<const std::u16string_view> texts,
                                                 const EmbedOptions& options);
  // After the last step.
  EmbedResult take_result();

  std::span<const PoolingMode> pooling() const override { return pooling_; }
  std::span<const std::int64_t> skip() const override { return skip_; }

 private:
  EmbedJob(Model& model, std::span<const std::u16string_view> texts, const EmbedOptions& options)
      : TextJob(model, texts.size()), texts_(texts), options_(options), prompt_(to_utf16(options.prompt)) {}

  // Sets dim, skip_, and what the options leave to the repository.
  Result<void> prepare();
  EncodeOptions encode_options() const;
  std::string name_of(std::size_t text) const;
  void pool_rows(const Batch& batch, std::int64_t window, const float* rows, std::int64_t begin, std::int64_t end,
                 float* pooled) const;
  Result<const float*> run_part(const Batch& batch, std::int64_t begin, std::int64_t end);
  // Replaces the vectors of each text's windows by their mean.
  void join_windows();
  void normalize_rows();
  void truncate_rows(std::int64_t dim);

  Result<Encoding> encode(std::size_t text) override;
  void add(Encoding window, std::size_t text, bool is_first) override;
  Result<void> run(const Batch& batch, const std::vector<std::size_t>& texts) override;
  void add_rows(const Batch& part, std::int64_t window, const float* hidden, std::vector<float>& out) override;

  std::span<const std::u16string_view> texts_;
  EmbedOptions options_;
  std::u16string prompt_;
  std::vector<PoolingMode> pooling_;
  std::int64_t prompt_tokens_ = 0;         // first tokens of a text to exclude from pooling
  std::vector<std::int64_t> skip_;         // [batch] the same for each sequence
  std::vector<float> rows_;                // of a part
  std::optional<std::int64_t> own_dim_{};  // components that the model keeps of its pooled vectors
  EmbedResult result_;
};

Result<EmbedResult> embed(Model& model, std::span<const std::u16string_view> texts, const EmbedOptions& options);

}  // namespace wattn
