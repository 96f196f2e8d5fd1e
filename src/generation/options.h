// GenerateOptions: how tokens are chosen. Names, meanings and defaults are those of transformers' GenerationConfig.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace wattn {

struct GenerateOptions {
  std::int64_t max_new_tokens = 20;
  std::int64_t min_new_tokens = 0;
  std::vector<std::int32_t> eos_token_ids{};
  bool do_sample = false;
  double temperature = 1;
  std::int64_t top_k = 50;  // 0: all
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  std::int64_t no_repeat_ngram_size = 0;
  std::vector<std::vector<std::int32_t>> bad_words{};  // token sequences that must not be generated
  std::optional<std::int32_t> forced_bos_token_id{};   // encoder-decoders: the first new token
  std::optional<std::int32_t> forced_eos_token_id{};   // the last token when max_new_tokens is reached
  std::int64_t num_beams = 1;
  double length_penalty = 1;
  bool renormalize_logits = false;  // after the processors; affects only the scores of beams
  enum class EarlyStopping : std::uint8_t { kNo, kYes, kNever } early_stopping = EarlyStopping::kNo;
  std::int64_t num_return_sequences = 1;
  std::uint64_t seed = 0;
};

}  // namespace wattn
