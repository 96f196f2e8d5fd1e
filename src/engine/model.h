// Model: a tokenizer, a transformer (of an encoder-decoder two) and the memory to run them, made from the files of one model
// repository. What can be done with it are tasks (tasks/*.h). ModelLoader makes one: small files whole, weight files streamed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
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
  // What the checkpoint must bring; tensors of other heads, and of a decoder that the head does not need, are ignored.
  HeadKind head = HeadKind::kNone;
  bool own_lm_head = false;  // head: the language-model head that the checkpoint has, kNone where it has none
  std::int64_t context_length =
      0;  // tokens a sequence may have; 0: max_position_embeddings, of a causal model at most kUsualContext
};

enum class ModelKind : std::uint8_t { kEncoder, kDecoder, kEncoderDecoder };

inline ModelKind kind_of(const TransformerConfig& transformer, bool has_decoder) {
  return has_decoder ? ModelKind::kEncoderDecoder : transformer.causal ? ModelKind::kDecoder : ModelKind::kEncoder;
}

// What a repository's config.json says.
struct ModelDescription {
  const char* model_type = nullptr;
  ModelKind kind = ModelKind::kEncoder;
  // That can be loaded beside kNone; where config.json names no `architectures`, those that the architecture has.
  std::vector<HeadKind> heads{};
};

// Ids that config.json names; those it does not name are -1, which no token is.
struct SpecialIds {
  std::int32_t pad = -1;
  std::int32_t eos = -1;
  std::int32_t decoder_start = -1;
};

class Model {
 public:
  // What a causal model that could read more is limited to when nothing is said: tables and caches are made for it.
  static constexpr std::int64_t kUsualContext = 4096;

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Arch& arch() const { return *arch_; }
  const SentenceConfig& sentence() const { return sentence_; }
  const SpecialIds& special_ids() const { return special_ids_; }
  const Transformer& transformer() const { return transformer_; }                 // of an encoder-decoder its encoder
  const Transformer* decoder() const { return decoder_ ? &*decoder_ : nullptr; }  // of an encoder-decoder, where the head needs it
  // The stack whose sequences grow: the decoder, or the transformer alone.
  const Transformer& generator() const { return decoder_ ? *decoder_ : transformer_; }
  const Head* head() const { return head_ ? &*head_ : nullptr; }                           // of the kinds that models/heads.h makes
  ModelKind kind() const { return kind_of(transformer_.config(), decoder_.has_value()); }  // of the stacks that were loaded
  HeadKind head_kind() const { return head_kind_; }
  bool has_lm_head() const { return generator().config().lm_head; }
  const Kernels& kernels() const { return transformer_.kernels(); }
  // Helpers are set before the first run, if there are any.
  ThreadTeam& team() { return team_; }
  const ThreadTeam& team() const { return team_; }
  Slots& slots() { return slots_; }

  // The most tokens a text may have, special tokens included: what the repository says, at most the positions there are. With an
  // lm head: context_length().
  std::int64_t max_length() const { return max_length_; }
  std::int64_t context_length() const { return generator().positions(); }
  // Tokens of one micro-batch: a longer text runs alone, up to the positions there are. Slots have a budget of their own.
  std::int64_t token_budget() const { return std::max<std::int64_t>(kTokenBudget, transformer_.positions()); }

  // Bytes that a model holds: weights, and the arena of its passes: packed ones, or with slots one sequence of context_length()
  // tokens.
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
  Model(Tokenizer tokenizer, Transformer transformer)
      : tokenizer_(std::move(tokenizer)), transformer_(std::move(transformer)), slots_(*this) {}

  std::uint64_t packed_bytes() const;

  static constexpr std::int64_t kTokenBudget = 512;  // the ffn activations of a MiniLM stay in a 4 MB cache

  Tokenizer tokenizer_;
  Transformer transformer_;
  std::optional<Transformer> decoder_;
  std::optional<Head> head_;
  HeadKind head_kind_ = HeadKind::kNone;
  SentenceConfig sentence_;
  SpecialIds special_ids_;
  Arena dense_weights_;
  std::vector<Linear> dense_;
  const Arch* arch_ = nullptr;
  std::int64_t max_length_ = 0;
  Arena arena_;  // made at the first packed run
  ThreadTeam team_;
  Slots slots_;
};

class ModelLoader {
 public:
  // files: config.json and tokenizer.json, and those there are of tokenizer_config.json, modules.json, the modules' config.json,
  // sentence_bert_config.json, config_sentence_transformers.json and model.safetensors.index.json. Or the beginning of one .gguf
  // file, with its whole header. A task that the model cannot serve is refused here, before weights are read.
  static Result<std::unique_ptr<ModelLoader>> begin(std::vector<NamedFile> files, const LoadOptions& options);

  // Of files config.json alone is read, or the beginning of a .gguf file.
  static Result<ModelDescription> describe(std::vector<NamedFile> files);

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

  // The memory of the repository's Dense modules, and their files.
  Result<void> begin_dense();
  void begin_weights(std::vector<std::string> ignored, bool is_gguf);

  std::unique_ptr<Model> model_;
  std::optional<WeightLoader> weights_;
  std::vector<std::string> weight_files_;
  std::size_t files_begun_ = 0;
};

}  // namespace wattn
