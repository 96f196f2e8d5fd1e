// Engine: a tokenizer, an encoder and the memory to run them, made from the files of one model repository.
// EngineLoader makes one: small files whole, weight files streamed. With tasks/*.h the only doors for bindings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "engine/documents.h"
#include "io/weight_loader.h"
#include "models/arch.h"
#include "models/encoder.h"
#include "models/heads.h"
#include "models/sentence_config.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

enum class Precision : std::uint8_t { kExact, kFast };

struct LoadOptions {
  Precision precision = Precision::kExact;
  WeightType dtype = WeightType::kF32;
  HeadKind head = HeadKind::kNone;  // the head that the checkpoint must bring; tensors of others are passed over
};

class Engine {
 public:
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Encoder& encoder() const { return encoder_; }
  // The head it was loaded with, or null.
  const Head* head() const { return head_ ? &*head_ : nullptr; }
  const SentenceConfig& sentence() const { return sentence_; }
  const Kernels& kernels() const { return encoder_.kernels(); }
  // Helpers are set before the first run, if there are any.
  ThreadTeam& team() { return team_; }
  const Arch& arch() const { return *arch_; }

  // The most tokens a text may have, specials included: what the repository says, at most the positions there are.
  std::int64_t max_length() const { return max_length_; }
  // Tokens of one micro-batch: a longer text runs alone, up to max_length().
  std::int64_t token_budget() const { return std::max<std::int64_t>(kTokenBudget, encoder_.config().max_position_embeddings); }

  // Bytes one engine holds: weights, and the arena that every run works in.
  std::uint64_t weight_bytes() const {
    return encoder_.weight_bytes() + dense_weights_.used() + (head_ ? head_->weight_bytes() : 0);
  }
  std::uint64_t arena_bytes() const;

  // Appends a text's tokens. Where there is one token type only, all have it, whatever the tokenizer counts: Python's tokenizers of
  // such models give none.
  void add_text(const Encoding& encoding, Batch& batch) const;

  // Runs the encoder over at most token_budget() tokens. The result, [tokens, hidden], is valid until the next run.
  Result<const float*> run(const Batch& batch, Taps* taps);
  // The repository's Dense modules over pooled vectors, [count, sentence().dense.front().in]. out: [count, dense.back().out].
  void run_dense(const float* pooled, std::int64_t count, std::vector<float>& out);
  // The head over tokens of what run() gave for the batch: of a sequence head the first of each sequence, else any. Appends
  // [tokens.size(), head()->labels()] to logits; an InputError when they become too many.
  Result<void> run_head(const float* hidden, const Batch& batch, std::span<const std::int32_t> tokens, std::vector<float>& logits);

 private:
  friend class EngineLoader;
  Engine(Tokenizer tokenizer, Encoder encoder) : tokenizer_(std::move(tokenizer)), encoder_(std::move(encoder)) {}

  static constexpr std::int64_t kTokenBudget = 512;  // the ffn activations of a MiniLM stay in a 4 MB cache

  Tokenizer tokenizer_;
  Encoder encoder_;
  std::optional<Head> head_;
  SentenceConfig sentence_;
  Arena dense_weights_;
  std::vector<Linear> dense_;
  const Arch* arch_ = nullptr;
  std::int64_t max_length_ = 0;
  Arena arena_;  // made at the first run
  ThreadTeam team_;
};

class EngineLoader {
 public:
  // files: config.json and tokenizer.json, and of tokenizer_config.json, modules.json, the pooling's config.json,
  // sentence_bert_config.json, config_sentence_transformers.json and model.safetensors.index.json those there are. Or the
  // beginning of one .gguf file, with its whole header.
  static Result<std::unique_ptr<EngineLoader>> begin(std::vector<NamedFile> files, const LoadOptions& options);

  // The small files that a GGUF file's beginning stands for. is_cut_off: its header goes on after these bytes.
  static Result<std::vector<NamedFile>> gguf_files(std::string_view beginning, bool& is_cut_off);

  // The weight files to stream, in this order.
  const std::vector<std::string>& weight_files() const { return weight_files_; }

  // The engine's, so that helpers can start while the weights come.
  ThreadTeam& team() { return engine_->team(); }

  Result<void> begin_weight_file(std::string_view name, std::uint64_t bytes);
  Result<void> push(std::string_view bytes) { return weights_->push(bytes); }
  // After the last byte of the last weight file.
  Result<std::unique_ptr<Engine>> finish();

 private:
  EngineLoader() = default;

  std::unique_ptr<Engine> engine_;
  std::optional<WeightLoader> weights_;
  std::vector<std::string> weight_files_;
  std::size_t files_begun_ = 0;
};

}  // namespace wattn
