// Model: a tokenizer, a transformer (of an encoder-decoder two) and the memory to run them, made from the files of one model
// repository. What can be done with it are tasks (tasks/*.h). ModelLoader makes one: small files whole, weight files streamed.
#pragma once

#include <algorithm>
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
#include "engine/slots.h"
#include "io/weight_loader.h"
#include "models/arch.h"
#include "models/heads.h"
#include "models/sentence_config.h"
#include "models/transformer.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

enum class Precision : std::uint8_t { kExact, kFast };

struct LoadOptions {
  Precision precision = Precision::kExact;
  WeightType dtype = WeightType::kF32;
  HeadKind head = HeadKind::kNone;  // the head that the checkpoint must bring; tensors of others are ignored
  std::int64_t context_length =
      0;  // tokens a sequence may have; 0: max_position_embeddings, of a causal model at most kUsualContext
};

class Model {
 public:
  // What a causal model that could read more is limited to when nothing is said: tables and caches are made for it.
  static constexpr std::int64_t kUsualContext = 4096;

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Transformer& transformer() const { return transformer_; }
  const Transformer* decoder() const { return decoder_ ? &*decoder_ : nullptr; }  // of an encoder-decoder, where a head needs it
  // The stack whose sequences grow: the decoder, or the transformer alone.
  const Transformer& generator() const { return decoder_ ? *decoder_ : transformer_; }
  const Head* head() const { return head_ ? &*head_ : nullptr; }  // of the kinds that models/heads.h makes
  HeadKind head_kind() const { return head_kind_; }
  const SentenceConfig& sentence() const { return sentence_; }
  const Kernels& kernels() const { return transformer_.kernels(); }
  // Helpers are set before the first run, if there are any.
  ThreadTeam& team() { return team_; }
  const Arch& arch() const { return *arch_; }
  Slots& slots() { return slots_; }

  // The most tokens a text may have, special tokens included: what the repository says, at most the positions there are.
  std::int64_t max_length() const { return max_length_; }
  std::int64_t context_length() const { return generator().positions(); }
  // Tokens of one micro-batch: a longer text runs alone, up to the positions there are.
  std::int64_t token_budget() const { return std::max<std::int64_t>(kTokenBudget, transformer_.positions()); }

  // Bytes that a model holds: weights, and the arena of packed passes.
  std::uint64_t weight_bytes() const;
  std::uint64_t arena_bytes() const;

  // Appends a text's tokens. Where there is one token type only, all tokens have it, whatever the tokenizer says: Python's
  // tokenizers of such models return none.
  void add_text(const Encoding& encoding, Batch& batch) const;

  // Runs the transformer over at most token_budget() tokens, and keeps nothing. The result, [tokens, hidden], is valid until the
  // next run.
  Result<const float*> run(const Batch& batch, Taps* taps);
  // The repository's Dense modules over pooled vectors, [count, sentence().dense.front().in]. out: [count, dense.back().out].
  void run_dense(const float* pooled, std::int64_t count, std::vector<float>& out);
  // The head over rows [count, hidden] of run()'s result or of a decoder's. Appends [count, head()->labels()] to logits; an
  // InputError when they become too many.
  Result<void> run_head(const float* rows, std::int64_t count, std::vector<float>& logits);

 private:
  friend class ModelLoader;
  Model(Tokenizer tokenizer, Transformer transformer) : tokenizer_(std::move(tokenizer)), transformer_(std::move(transformer)) {}

  static constexpr std::int64_t kTokenBudget = 512;  // the ffn activations of a MiniLM stay in a 4 MB cache

  Tokenizer tokenizer_;
  Transformer transformer_;
  std::optional<Transformer> decoder_;
  std::optional<Head> head_;
  HeadKind head_kind_ = HeadKind::kNone;
  SentenceConfig sentence_;
  Arena dense_weights_;
  std::vector<Linear> dense_;
  const Arch* arch_ = nullptr;
  std::int64_t max_length_ = 0;
  Arena arena_;  // made at the first run
  Slots slots_;
  ThreadTeam team_;
};

class ModelLoader {
 public:
  // files: config.json and tokenizer.json, and those there are of tokenizer_config.json, modules.json, the modules' config.json,
  // sentence_bert_config.json, config_sentence_transformers.json and model.safetensors.index.json. Or the beginning of one .gguf
  // file, with its whole header. A task that the model cannot serve is refused here, before weights are read.
  static Result<std::unique_ptr<ModelLoader>> begin(std::vector<NamedFile> files, const LoadOptions& options);

  // The small files that a GGUF file's beginning stands for. is_cut_off: its header goes on after these bytes.
  static Result<std::vector<NamedFile>> gguf_files(std::string_view beginning, bool& is_cut_off);

  // The weight files to stream, in this order.
  const std::vector<std::string>& weight_files() const { return weight_files_; }

  // The model's, so that helpers can start while the weights arrive.
  ThreadTeam& team() { return model_->team(); }

  Result<void> begin_weight_file(std::string_view name, std::uint64_t bytes);
  Result<void> push(std::string_view bytes) { return weights_->push(bytes); }
  // After the last byte of the last weight file.
  Result<std::unique_ptr<Model>> finish();

 private:
  ModelLoader() = default;

  std::unique_ptr<Model> model_;
  std::optional<WeightLoader> weights_;
  std::vector<std::string> weight_files_;
  std::size_t files_begun_ = 0;
};

}  // namespace wattn
