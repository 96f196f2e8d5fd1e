// embed: texts to sentence vectors, as sentence-transformers' encode() does from the same repository.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"

namespace wattn {

enum class Overflow : std::uint8_t {
  kTruncate,
  kError,       // a longer text is an InputError
  kWindowMean,  // windows of max_length tokens; the text's vector is the mean of theirs
  kWindows,     // one vector for each window
};

struct EmbedOptions {
  std::optional<std::vector<PoolingMode>> pooling{};  // none: the repository's own; empty: one vector a token
  std::optional<bool> normalize{};                    // none: the repository's own, before truncate_dim; true: after it
  std::optional<std::int64_t> truncate_dim{};         // the first so many components
  std::string prompt{};                               // put before every text
  std::optional<std::int64_t> max_length{};           // tokens; none: the model's own
  Overflow overflow = Overflow::kTruncate;
  std::int64_t overlap = 0;  // tokens that neighbouring windows share
  bool split_special_tokens = false;
  std::int64_t first_text = 0;  // number of texts[0] for messages: a host may cut one call into several
};

struct EmbedResult {
  // Pooled: [vectors, dim], one for each text or, with kWindows, window. Without pooling: [sum of tokens, dim], text after text.
  std::vector<float> data;
  std::int64_t dim = 0;
  bool pooled = false;
  std::vector<std::int32_t> tokens;              // [batch] tokens that ran, special tokens included, of all windows
  std::vector<std::int32_t> tokens_untruncated;  // [batch] tokens there would have been in one sequence
  std::vector<std::int32_t> windows;             // [batch] sequences that the text became
};

// The prompt of a name in config_sentence_transformers.json; an InputError names those there are.
// name empty: the repository's default prompt, which may be none.
Result<std::string> find_prompt(const SentenceConfig& sentence, std::string_view name);

Result<EmbedResult> embed(Model& model, std::span<const std::u16string_view> texts, const EmbedOptions& options);

}  // namespace wattn
