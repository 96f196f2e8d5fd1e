// Trainers build a model from pre-tokens. Their results, options and rules are those of Hugging Face's `tokenizers`
// (0.23, tokenizers/src/models/*/trainer.rs), so that the same corpus gives the same vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/trainers/steps.h"
#include "tokenizer/trainers/string_table.h"

namespace wattn {

struct TrainerOptions {
  std::size_t vocab_size = 30000;
  std::uint64_t min_frequency = 0;
  std::vector<std::string> special_tokens;  // distinct; their ids start at 0
  std::optional<std::string> unk_token{};   // one of special_tokens
  // BPE and WordPiece
  std::optional<std::size_t> limit_alphabet{};
  std::vector<std::string> initial_alphabet;  // characters
  std::optional<std::string> continuing_subword_prefix{};
  std::optional<std::string> end_of_word_suffix{};
  std::size_t max_token_length = SIZE_MAX;  // characters
  // Unigram
  double shrinking_factor = 0.75;
  std::size_t n_sub_iterations = 2;
  std::size_t max_piece_length = 16;  // characters
  std::size_t seed_size = 1000000;
};

// Pre-tokens and their counts.
class WordCounts {
 public:
  void add(std::u32string_view word);
  std::uint32_t size() const { return words_.size(); }
  std::string_view word(std::uint32_t i) const { return words_[i]; }
  std::uint64_t count(std::uint32_t i) const { return counts_[i]; }
  std::size_t num_bytes() const { return words_.num_bytes(); }

 private:
  StringTable words_;
  std::vector<std::uint64_t> counts_;
  std::string utf8_;
};

class VocabularyTrainer {
 public:
  virtual ~VocabularyTrainer() = default;
  virtual void add(std::u32string_view word) = 0;  // one pre-token
  virtual std::uint32_t num_words() const = 0;     // distinct ones so far
  // The result is the "model" of a tokenizer.json. The trainer must outlive it.
  virtual Steps train() = 0;
};

// json: {"type": .., options}. An invalid option is an InputError. Fills options, which the trainer refers to.
Result<std::unique_ptr<VocabularyTrainer>> read_trainer(JsonRef json, TrainerOptions& options);

std::unique_ptr<VocabularyTrainer> make_bpe_trainer(const TrainerOptions& options, bool wordpiece);       // bpe.cpp
std::unique_ptr<VocabularyTrainer> make_ranking_trainer(const TrainerOptions& options, bool characters);  // ranking.cpp
std::unique_ptr<VocabularyTrainer> make_unigram_trainer(const TrainerOptions& options);                   // unigram.cpp

}  // namespace wattn
