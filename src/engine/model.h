// Model: a tokenizer, one transformer or an encoder and a decoder, and the memory to run them. Tasks (tasks/*.h) use it.
// ModelLoader makes one from the files of a repository: small files whole, weight files streamed.
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
#include "models/adapter.h"
#include "models/arch.h"
#include "models/heads.h"
#include "models/label_head.h"
#include "models/retrieval_config.h"
#include "models/sentence_config.h"
#include "models/span_head.h"
#include "models/transformer.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

enum class Precision : std::uint8_t { kExact, kFast };

struct LoadOptions {
  Precision precision = Precision::kExact;
  WeightType dtype = WeightType::kF32;
  // What the checkpoint must have; tensors of other heads, and of a decoder that the head does not need, are ignored.
  HeadKind head = HeadKind::kNone;
  bool own_lm_head = false;             // instead of head: the checkpoint's language-model head, if it has one
  bool or_causal_lm = false;            // with head kSequence: of a checkpoint with a decoder's language-model head alone, that one
  HeadKind new_head = HeadKind::kNone;  // that training will put on the model: the encoder is as it is below this head
  bool adapted_head = false;            // adapters will have the head's tensors that the checkpoint lacks
  // Matrices that an adapter replaces as a whole. For word embeddings their rows give the number of words; the checkpoint may have
  // fewer.
  std::vector<std::string> adapted_names{};
  std::vector<std::int32_t> adapted_rows{};  // [adapted_names]
  // Late interaction, or sparse vectors; those need the head kMaskedLm.
  Retrieval retrieval = Retrieval::kNone;
  // Longest sequence in tokens; 0: max_position_embeddings, but at most kUsualContext in a causal model.
  std::int64_t context_length = 0;
  // The limit of what a decoder with an lm head keeps of its calls: see Slots::limit_prefixes().
  std::int64_t prefix_bytes = -1;
  bool q8_keys = false;  // of slots: keys and values in 8 bits
};

enum class ModelKind : std::uint8_t { kEncoder, kDecoder, kEncoderDecoder };

inline ModelKind kind_of(const TransformerConfig& transformer, bool has_decoder) {
  return has_decoder ? ModelKind::kEncoderDecoder : transformer.causal ? ModelKind::kDecoder : ModelKind::kEncoder;
}

// From config.json.
struct ModelDescription {
  const char* model_type = nullptr;
  ModelKind kind = ModelKind::kEncoder;
  // Heads that can be loaded; all that the architecture has where config.json names no `architectures`.
  std::vector<HeadKind> heads{};
};

// From config.json; -1: not given.
struct SpecialIds {
  std::int32_t pad = -1;
  std::int32_t eos = -1;
  std::int32_t decoder_start = -1;
};

struct RetrievalParts;
class LabelsEncoder;  // engine/labels_encoder.h, as is
struct SpanParts;

class Model {
 public:
  // Default limit of causal models, for which tables and caches are allocated.
  static constexpr std::int64_t kUsualContext = 4096;

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Arch& arch() const { return *arch_; }
  const SentenceConfig& sentence() const { return sentence_; }
  const SpecialIds& special_ids() const { return special_ids_; }
  const RetrievalParts* retrieval() const { return retrieval_.get(); }            // null unless LoadOptions::retrieval asked for it
  const Transformer& transformer() const { return transformer_; }                 // the encoder of an encoder-decoder
  const Transformer* decoder() const { return decoder_ ? &*decoder_ : nullptr; }  // of an encoder-decoder, if the head needs it
  // The decoder, or the only stack.
  const Transformer& generator() const { return decoder_ ? *decoder_ : transformer_; }
  const Head* head() const { return head_ ? &*head_ : nullptr; }     // null for an lm head, which is part of the transformer
  const SpanHead* span_head() const;                                 // with HeadKind::kSpans; these two are in span_loader.cpp
  LabelsEncoder* labels_encoder() const;                             // of a bi-encoder with a span head
  const LabelHead* label_head() const { return label_head_.get(); }  // with HeadKind::kLabels
  // A head that was not in the checkpoint.
  void set_head(Head head, HeadKind kind) {
    head_ = std::move(head);
    head_kind_ = kind;
  }
  ModelKind kind() const { return kind_of(transformer_.config(), decoder_.has_value()); }  // of the loaded stacks
  HeadKind head_kind() const { return head_kind_; }
  bool has_lm_head() const { return generator().config().lm_head; }
  const Kernels& kernels() const { return transformer_.kernels(); }
  // Helpers, if any, are set before the first run.
  ThreadTeam& team() { return team_; }
  const ThreadTeam& team() const { return team_; }
  Slots& slots() { return slots_; }

  // Most tokens of a text, including special ones: the repository's limit, at most the number of positions. With an lm head:
  // context_length().
  std::int64_t max_length() const { return max_length_; }
  std::int64_t context_length() const { return generator().positions(); }
  // Most tokens of one run; a micro-batch is smaller unless a single text is longer. Only static embeddings have longer texts,
  // which are run in parts. Slots have a budget of their own.
  std::int64_t token_budget() const {
    return transformer_.config().is_static() ? kTokenBudget : std::max<std::int64_t>(kTokenBudget, transformer_.positions());
  }
  // For static embeddings: only this many times max_length() characters of a text are tokenized; 0: all.
  std::int64_t characters_per_token() const { return characters_per_token_; }

  // Bytes of weights, and of the arena for packed runs or, with slots, for one sequence of context_length() tokens.
  std::uint64_t weight_bytes() const;
  std::uint64_t arena_bytes() const;

  // Appends a text's tokens. In a model with a single token type all tokens have it, since Python's tokenizers of such models
  // return no types.
  void add_text(const Encoding& encoding, Batch& batch) const;

  // Runs the transformer over at most token_budget() tokens, without slots. The result, [tokens, hidden], is valid until the next
  // run.
  Result<const float*> run(const Batch& batch, Taps* taps);
  // The repository's modules over pooled vectors, [count, sentence().modules.front().in]. out: [count, modules.back().out].
  // inputs: what each module has read; null: not wanted.
  void run_modules(const float* pooled, std::int64_t count, std::vector<float>& out,
                   std::vector<std::vector<float>>* inputs = nullptr);
  struct ModuleWeights {
    LinearWeights dense;
    LinearWeights residual;
    LayerNorm norm;
  };
  std::span<const ModuleWeights> module_weights() const { return modules_; }
  // Runs the head over rows [count, hidden] of the last stack's output. Appends [count, head()->labels()] to logits; an InputError
  // when they become too many.
  Result<void> run_head(const float* rows, std::int64_t count, std::vector<float>& logits);
  // Logits for each row of run_head().
  std::int64_t labels() const;
  // The same with an adapter; 0: there is no head.
  std::int64_t labels_with(int adapter) const;
  // As run_head() with a decoder's head over the vocabulary, for these of its tokens alone: appends [count, ids.size()].
  Result<void> run_lm_head(const float* rows, std::int64_t count, std::span<const std::int32_t> ids, std::vector<float>& logits);

  // Adds an adapter and returns its number, from 1 on. Names are those of the checkpoint.
  Result<int> add_adapter(AdapterTensors tensors);
  int num_adapters() const { return static_cast<int>(adapters_.size()); }
  // Runs use this adapter from now on; 0: none. A StateError if it was deleted.
  Result<void> use_adapter(int number);
  int adapter_in_use() const { return adapter_; }
  // Not the one in use.
  void delete_adapter(int number);
  // Merges its additions into the model's weights; every run uses the rest of it. Delete the other adapters first.
  Result<void> merge_adapter(int number);
  // Used in place of an adapter's changes until an adapter is used; null: none. They must outlive this use.
  void set_lora(const Lora* lora);

 private:
  friend class ModelLoader;
  Model(Tokenizer tokenizer, Transformer transformer)
      : tokenizer_(std::move(tokenizer)), transformer_(std::move(transformer)), slots_(*this) {}

  std::uint64_t packed_bytes() const;
  Adapter* find_adapter(int number) const;
  // A ModelFormatError if adapters have a part of the head and none of them is in use.
  Result<void> check_head() const;
  const Lora* lora() const;
  std::int64_t labels_of(const Lora* lora) const;

  static constexpr std::int64_t kTokenBudget = 512;  // a MiniLM's ffn activations fit a 4 MB cache

  Tokenizer tokenizer_;
  Transformer transformer_;
  std::optional<Transformer> decoder_;
  std::optional<Head> head_;
  std::shared_ptr<SpanParts> spans_;
  std::shared_ptr<LabelHead> label_head_;
  HeadKind head_kind_ = HeadKind::kNone;
  SentenceConfig sentence_;
  SpecialIds special_ids_;
  std::shared_ptr<const RetrievalParts> retrieval_;
  Arena module_memory_;
  std::vector<ModuleWeights> modules_;  // of each of sentence_.modules, what it has
  const Arch* arch_ = nullptr;
  std::int64_t max_length_ = 0;
  std::int64_t characters_per_token_ = 0;
  std::vector<std::string> ignored_;                // tensors of the checkpoint that are unused
  std::vector<std::string> missing_;                // tensors of the head that the checkpoint lacks
  std::vector<std::unique_ptr<Adapter>> adapters_;  // [number - 1], null once removed
  int merged_ = 0;                                  // the one that was merged last
  int adapter_ = 0;                                 // in use
  Arena arena_;                                     // allocated at the first run
  ThreadTeam team_;
  Slots slots_;
};

// How models of gliner_config.json are loaded (span_loader.cpp). Programs without it refuse them.
struct SpanLoader {
  // Adds config.json, which is the member encoder_config of gliner_config.json, unless it is there.
  Result<void> (*add_config)(std::vector<NamedFile>& files);
  // Adds the tokens that the package gliner adds, with a vector each. Lets an encoder without absolute positions read texts as long
  // as gliner_config.json allows.
  Result<std::shared_ptr<SpanParts>> (*read)(const Documents& documents, const LoadOptions& options, const Kernels& kernels,
                                             TransformerConfig& encoder, Tokenizer& tokenizer);
  // Adds to ignored: see WeightLoader.
  std::vector<WeightTarget> (*weight_targets)(const SpanParts& parts, bool is_gguf, std::vector<std::string>& ignored);
  // arch: of the encoder.
  std::string (*name_of)(const SpanParts& parts, const Arch& arch, std::string_view name, bool is_gguf);
  std::uint64_t (*weight_bytes)(const SpanParts& parts);
};
extern const SpanLoader kSpanLoader;

// How models are loaded whose config.json is that of a LabelHead (label_loader.cpp). Programs without it refuse them.
struct LabelLoader {
  // If config.json is one: a head without weights, and in the place of config.json that of the encoder.
  Result<void> (*take_config)(std::vector<NamedFile>& files, std::shared_ptr<LabelHead>& head);
  // Allocates its weights. Gives the encoder's table a row for each token, and lets an encoder without absolute positions read
  // longer texts.
  Result<void> (*prepare)(LabelHead& head, TransformerConfig& encoder, const Kernels& kernels);
  std::vector<WeightTarget> (*weight_targets)(const LabelHead& head);
  // The name of a tensor in a file among the targets' names. arch: of the encoder.
  std::string (*name_of)(const Arch& arch, std::string_view name, bool is_gguf);
  std::uint64_t (*weight_bytes)(const LabelHead& head);
  // Whether a model with this head, or with none, takes a call with so many labels.
  Result<void> (*check)(const LabelHead* head, std::int64_t num_labels);
  // After a run: appends the logits of the labels that each sequence of the batch names. Appends 1 to rows for each sequence, or 0
  // for one that was cut among its labels.
  void (*run)(const LabelHead& head, const Compute& compute, const Batch& batch, const float* hidden, std::int64_t num_labels,
              std::vector<float>& logits, std::vector<std::int32_t>& rows);
  std::int64_t usual_length;  // LabelHead::kUsualLength
};
extern const LabelLoader kLabelLoader;

// The LoRA matrices that a checkpoint has for its tasks, beside its weights (task_adapters.cpp). Programs without it load models
// without them.
struct TaskLoras;
struct TaskAdapters {
  // Adds targets for their tensors, which fill loras; null: there are none.
  Result<void> (*begin)(const Model& model, JsonRef config, std::vector<WeightTarget>& targets, std::shared_ptr<TaskLoras>& loras);
  // Turns them into the model's adapters 1, 2, .., in the order of config.json's lora_adaptations.
  Result<void> (*finish)(TaskLoras& loras, Model& model);
};
extern const TaskAdapters kTaskAdapters;

// Adapters with more words than their model (adapted_words.cpp).
struct AdaptedWords {
  // Sets the number of words to the adapter's (LoadOptions::adapted_names). Returns whether there is such an adapter.
  bool (*take)(const LoadOptions& options, const Arch& arch, TransformerConfig& config);
};
extern const AdaptedWords kAdaptedWords;

class ModelLoader {
 public:
  // files: config.json and tokenizer.json, and if present tokenizer_config.json, modules.json, the modules' config.json,
  // sentence_bert_config.json, config_sentence_transformers.json and model.safetensors.index.json or pytorch_model.bin.index.json.
  // Or the beginning of a .gguf file with its whole header. Fails before weights are read if the model does not support the task.
  static Result<std::unique_ptr<ModelLoader>> begin(std::vector<NamedFile> files, const LoadOptions& options);

  // Reads only config.json, or the beginning of a .gguf file.
  static Result<ModelDescription> describe(std::vector<NamedFile> files);

  // The weight files, in the order to stream them.
  const std::vector<std::string>& weight_files() const { return weight_files_; }

  // The model's team, so that helpers can start while weights arrive.
  ThreadTeam& team() { return model_->team(); }

  // How memory holds the rows of a tensor of those files.
  HeldBlocks blocks_of(std::string_view name) const { return weights_->blocks_of(name); }
  // See WeightLoader.
  std::vector<std::uint8_t> held() const { return weights_->held(); }

  Result<void> begin_weight_file(std::string_view name, std::uint64_t bytes);
  Result<void> push(std::string_view bytes) { return weights_->push(bytes); }
  // After the last byte of the last weight file.
  Result<std::unique_ptr<Model>> finish();

 private:
  ModelLoader() = default;

  // Allocates the repository's Dense modules and adds their files.
  Result<void> begin_modules();
  // more: targets beside those of the model's parts.
  void begin_weights(std::vector<std::string> ignored, bool is_gguf, bool adapted_head, std::vector<WeightTarget> more);

  std::unique_ptr<Model> model_;
  std::optional<WeightLoader> weights_;
  std::shared_ptr<TaskLoras> task_loras_;  // or null
  bool has_more_words_ = false;            // than the checkpoint may have
  std::vector<std::string> weight_files_;
  std::size_t files_begun_ = 0;
};

}  // namespace wattn
