// Trainer: changes the weights of a loaded Model, step by step: rows of texts and labels in, a small report out. The host decides
// on the order of the rows, on epochs, evaluation and when to stop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/arena.h"
#include "core/random.h"
#include "core/row_table.h"
#include "engine/model.h"
#include "learn/lora.h"
#include "learn/optim.h"
#include "models/heads_backward.h"
#include "pass/training.h"
#include "tasks/checkpoint.h"

namespace wattn {

enum class TrainMethod : std::uint8_t {
  kLora,        // low-rank additions to the matrices of target_modules
  kFull,        // all layers, and the embeddings unless freeze_embeddings
  kLastLayers,  // the last last_layers layers
  kHead,        // the head alone
};

// What is compared with what. The first ones compare sentence vectors; the names are sentence-transformers', with SetFit's
// SupConLoss.
enum class TrainLoss : std::uint8_t {
  kMultipleNegativesRanking,
  kCosent,
  kCosineSimilarity,
  kContrastive,
  kTriplet,
  kBatchAllTriplet,
  kSupCon,
  kOwnOfVectors,  // computed by the caller: outputs(), accumulate_gradient()
  // Losses of a head's logits, with torch's names.
  kCrossEntropy,
  kBinaryCrossEntropy,
  kMeanSquaredError,
  kOwnOfLogits,  // as kOwnOfVectors
};

// Which biases LoRA trains too, with PEFT's names.
enum class LoraBias : std::uint8_t {
  kNone,
  kAll,       // all of the model's
  kLoraOnly,  // of the target modules
};

struct TrainOptions {
  TrainMethod method = TrainMethod::kLora;
  TrainLoss loss = TrainLoss::kSupCon;
  LoraConfig lora{};
  float lora_dropout = 0;  // of what A reads
  LoraBias bias = LoraBias::kNone;
  // Modules for LoRA, as PEFT's target_modules: the last parts of the checkpoint's names. Empty: queries and values.
  std::vector<std::string> target_modules{};
  // Modules that are trained whole beside LoRA, as PEFT's modules_to_save: ends of their names. A head learns in any case.
  std::vector<std::string> modules_to_save{};
  HeadKind head = HeadKind::kNone;  // of losses over logits: a new one in place of the model's; kNone: the model's
  std::string config{};             // config.json, for a new head with its id2label, and for the rates of dropout
  bool dropout = false;             // with the rates of config.json
  bool freeze_embeddings = false;   // kFull: words, positions, token types and the head over the vocabulary stay as they are
  std::int64_t last_layers = 2;
  double loss_scale = 20;     // of cosines; MultipleNegativesRanking and CoSENT
  double margin = 0.5;        // Contrastive, Triplet, BatchAllTriplet
  double temperature = 0.1;   // SupCon
  float label_smoothing = 0;  // CrossEntropy: the share of a label that is spread over all labels
  Adam adam{};
  Schedule schedule = Schedule::kLinear;
  std::int64_t warmup_steps = 0;
  std::int64_t training_steps = 0;
  double max_grad_norm = 1;     // 0: gradients are not clipped
  bool checkpointing = false;   // computes activations twice instead of keeping them
  std::int64_t max_length = 0;  // tokens of a text; 0: the model's
  std::uint64_t seed = 0;       // of the initial values of LoRA
};

// The texts of some rows, column by column: all anchors, then all positives, and so on.
struct TrainRows {
  std::span<const std::u16string_view> texts;
  // Second texts, for losses over logits; as many as texts, or none. For an encoder-decoder: the targets of the texts.
  std::span<const std::u16string_view> pairs{};
  // [rows] For losses that compare labels. For a token head: for each text the number of its words, then begin, end (UTF-16 units)
  // and label of each. A word's first token has its label; the other tokens are ignored.
  std::vector<std::int32_t> labels{};
  std::vector<float> scores{};  // [rows] of losses over pairs; [rows, labels] of the last two losses
  // For a language model, texts have all their special tokens. labels has the parts to learn, each as a word of a token head.
  // No parts: the whole text.
  bool is_rendered = false;
};

struct TrainReport {
  std::int64_t step = 0;  // updates so far, with this one
  double loss = 0;        // before the update, the mean over what was accumulated
  double grad_norm = 0;   // before clipping
  double learning_rate = 0;
  std::int64_t tokens = 0;
};

// What a loss reads.
struct TrainOutputs {
  std::span<const float> values;  // [rows, width]: sentence vectors of all texts, or logits of a head
  std::int64_t width = 0;
  std::span<const std::int32_t> labels{};  // [rows] of heads over tokens: the label of each, -100 of those that are not learned
};

// The memory of a Trainer in bytes, known before any step.
struct TrainPlan {
  std::int64_t trainable = 0, all = 0;  // weights
  std::uint64_t weights = 0, gradients = 0, optimizer = 0, activations = 0;
};

constexpr const char* kPeftPrefix = "base_model.model.";  // of the names in PEFT's files

class Trainer {
 public:
  // model must outlive it, and has weights in f32. An UnsupportedError for what has no backward pass.
  static Result<std::unique_ptr<Trainer>> begin(Model& model, const TrainOptions& options);

  // For updates of this many parts with at most this many tokens each, and texts of at most max_seq tokens. words: how many words
  // of the vocabulary occur in all updates; 0: as many as in one update.
  TrainPlan plan(std::int64_t tokens, std::int64_t max_seq, std::int64_t parts = 1, std::int64_t words = 0) const;
  // How many words of the vocabulary occur in texts and pairs.
  Result<std::int64_t> count_words(const TrainRows& rows) const;

  // What the loss of these rows is a mean over: tokens of language models and token heads, texts otherwise.
  Result<std::int64_t> count_learned(const TrainRows& rows) const;

  // Adds the gradients of these rows to those of the next update(). share: of the update, from 0 to 1; the shares of all its
  // parts, which are those of count_learned(), add up to 1. Returns the loss. An error drops all gradients accumulated so far and
  // leaves the weights as they were.
  Result<double> accumulate(const TrainRows& rows, double share);
  // The same in two steps, for a loss that the caller computes. The first returns the model's outputs, valid until the next call;
  // the second takes the gradient of the loss with respect to them. Both the loss and its gradient are times the share. learns:
  // false: without dropout, for evaluation; no accumulate_gradient() follows. is_whole: whether the update has no other part.
  Result<TrainOutputs> outputs(const TrainRows& rows, bool is_whole, bool learns);
  Result<void> accumulate_gradient(std::span<const float> d_values, double loss);
  // Drops what was accumulated, where the caller's loss has failed.
  void drop_gradients() { clear_gradients(); }
  // The loss of a language model over these rows, without learning: the sum over tokens, and their number.
  struct LossSum {
    double sum = 0;
    std::int64_t tokens = 0;
  };
  Result<LossSum> evaluate(const TrainRows& rows);
  // One step of the optimizer with the accumulated gradients. An error, without a change, when they are not finite.
  Result<TrainReport> update();

  // What has changed and what a continued run needs: trained weights, then both moments, all as f32, and the number of updates.
  std::vector<float> state() const;
  std::size_t state_size() const;  // numbers
  Result<void> set_state(std::span<const float> state, std::int64_t step);

  // The matrices of LoRA and what is saved with them, with PEFT's names; none with other methods.
  std::vector<NamedTensor> adapter();

  // A hash of the weights before training, in hexadecimal.
  const std::string& fingerprint() const { return fingerprint_; }

  const std::vector<std::string>& target_modules() const { return options_.target_modules; }
  // Modules that PEFT would also find under those names but that are not part of the adapter: a pooler.
  std::vector<std::string> excluded_modules() const;
  // The modules of a head, which the adapter has whole: without its pooler.
  std::vector<std::string> head_modules() const;
  // Whether LoRA adds to matrices that the checkpoint has transposed (PEFT's fan_in_fan_out).
  bool fan_in_fan_out() const { return std::ranges::any_of(targets_, &LoraTarget::transposed); }
  // Whether the adapter has embeddings that are the head over the vocabulary, too (PEFT's ensure_weight_tying).
  bool ties_embeddings() const;

 private:
  // The encoder or the only stack, then the decoder of an encoder-decoder.
  struct Stack {
    const Transformer* model;
    const TransformerNames* names;
    std::unique_ptr<Transformer> gradients{};  // null if no weights of layers are trained as a whole
  };
  struct LoraTarget {
    std::string module;  // the checkpoint's name, without ".weight"
    WeightRows rows;
    bool is_first;                                        // of the layers of its stack
    bool transposed;                                      // in the checkpoint, as GPT-2's Conv1D
    std::function<std::int64_t(std::int64_t row)> place;  // among rows, of the checkpoint's row
  };
  // The gradient of a weight of a plan that is trained beside LoRA, in the member of its kind.
  struct WholeGradient {
    Arena memory{};
    LinearWeights linear{};
    LayerNorm norm{};
    EmbeddingTable table{};
    WordTable words{};
  };
  // Rows of a matrix that holds others, too, as [rows, in].
  struct SavedRows {
    WeightRows rows;
    const LinearWeights* gradient;
    std::vector<float> values, gradients;
  };
  // Weights that are changed, and their gradients. Without a gradient: the table of words, whose gradients and moments are in
  // word_gradients_ and word_moments_, as only words that have occurred have any.
  struct Parameter {
    std::span<float> value, gradient;
    bool decays = true;
    std::int64_t weights = 0;  // without the padding of their layout; 0: there is none

    bool is_words() const { return gradient.empty(); }
  };
  struct Moments {
    std::vector<float> first, second;
  };
  // T5's table of relative positions, [buckets, heads]. The model has each weight at all distances of its bucket.
  struct Buckets {
    std::int64_t heads, count, of_both_directions, max_distance;
    DistanceBias bias, gradient;
    std::vector<float> values, gradients;
  };

  Trainer(Model& model, const TrainOptions& options) : model_(model), options_(options) {}

  Result<void> prepare();
  std::vector<LoraTarget> lora_targets() const;
  Result<void> prepare_lora();
  void prepare_biases();
  void add_bias(const LinearWeights& layer, std::int64_t first, std::int64_t count);
  void add_bias(float* bias, std::int64_t size, std::int64_t first, std::int64_t count);
  // modules_to_save (train_saved.cpp).
  std::string saved_name(const Stack& stack, const std::string& name) const;  // PEFT's, without its prefix
  bool is_saved(const std::string& module, bool by_parts = false) const;
  Result<void> prepare_saved();
  Result<void> check_saved() const;
  Result<void> save_target(const Stack& stack, const WeightTarget& target);
  Result<void> save_matrix(const LinearWeights& layer, const WeightTarget& target);
  Result<void> save_table(const Stack& stack, const WeightTarget& target);
  bool save_vector(const Stack& stack, const WeightTarget& target);
  template <class Take>
  Result<WholeGradient*> learn_whole(const void* weight, const Take& take);
  void read_saved_gradients();
  void spread_saved() const;
  void add_saved_tensors(std::vector<NamedTensor>& out) const;
  Result<void> take_word_moments(const float* from);
  void update_words(const AdamStep& adam, std::span<float> table);
  // Rows of B, or magnitudes, as the checkpoint has those of the matrix.
  static std::vector<float> in_order_of_file(const LoraTarget& target, std::span<const float> rows, std::int64_t width);
  void add_bias_tensors(std::vector<NamedTensor>& out) const;
  Result<void> prepare_layers();
  void prepare_embeddings(std::size_t stack);
  // Adds weights of a plan, with their gradients, to parameters_.
  void add_weights(const Transformer& stack, std::span<const Weight> values, std::span<const Weight> gradients);
  void add_linear(const LinearWeights& value, const LinearWeights& gradient, std::int64_t first_unbiased = 0,
                  std::int64_t unbiased = 0);
  void add_experts(const Experts& value, const Experts& gradient);
  void add_norm(const LayerNorm& value, const LayerNorm& gradient, bool has_bias);
  void add_vector(float* value, float* gradient, std::int64_t first, std::int64_t size);
  void prepare_buckets(const TransformerConfig& config, const DistanceBias& bias, const DistanceBias& gradient);
  // Adds the gradients that backward() has left at distances to those of the buckets.
  void collect_buckets();
  // Writes what is trained to the other places where the model has it.
  void spread_weights();
  Result<void> prepare_head();
  bool uses_head() const { return options_.loss >= TrainLoss::kCrossEntropy; }
  std::string module_prefix() const;
  bool trains_layers() const { return options_.method == TrainMethod::kFull || options_.method == TrainMethod::kLastLayers; }
  bool trains_embeddings() const { return options_.method == TrainMethod::kFull && !options_.freeze_embeddings; }
  // Whether both stacks of an encoder-decoder learn the words, which they share.
  bool shares_words() const { return stacks_.size() > 1 && trains_embeddings(); }
  // Whether the words are a separate table, not the head over the vocabulary.
  bool trains_word_table() const {
    return saves_words_ || (trains_embeddings() && stacks_.back().model->shared_weights().out == 0);
  }
  // The first layer of a stack that is trained; the number of its layers if none is.
  std::int64_t first_layer(std::size_t stack) const;
  // is_whole: an update from one part, so that gradients begin with its backward pass.
  TapeOptions tape_options(std::size_t stack, bool is_whole) const;
  std::uint64_t dropout_step() const {
    return (static_cast<std::uint64_t>(step_) << 16) + static_cast<std::uint64_t>(accumulated_);
  }
  void clear_gradients();
  BackwardScope scope_of(std::size_t stack) const;
  std::uint64_t activation_bytes(std::int64_t tokens, std::int64_t max_seq, bool is_whole) const;
  Result<Encoding> encode_text(const TrainRows& rows, std::size_t i) const;
  Result<Encoding> encode_target(const TrainRows& rows, std::size_t i) const;
  Result<Encoding> encode_to(std::int64_t positions, const TrainRows& rows, const std::u16string_view& text,
                             const std::u16string_view* pair) const;
  // A batch for each stack.
  Result<void> encode(const TrainRows& rows, std::span<Batch> batches) const;
  bool is_lm() const { return options_.head == HeadKind::kCausalLm || options_.head == HeadKind::kSeq2SeqLm; }
  bool has_own_loss() const { return options_.loss == TrainLoss::kOwnOfVectors || options_.loss == TrainLoss::kOwnOfLogits; }
  bool averages_logits() const;
  // A row of the last stack's states, and the token that it should give.
  struct NextToken {
    std::int64_t row;
    std::int32_t id;
  };
  Result<std::vector<NextToken>> next_tokens(const TrainRows& rows, const Batch& batch) const;
  Result<std::vector<NextToken>> learned_tokens(const TrainRows& rows, const Batch& batch) const;  // at least one
  Result<std::vector<std::int32_t>> token_labels(const TrainRows& rows, const Batch& batch) const;
  // What a loss reads, its gradient, and what the way back to the states needs.
  struct Outputs {
    std::int64_t width = 0;
    std::vector<float> values, d_values;     // [rows, width]
    std::vector<std::int32_t> labels;        // as in TrainOutputs
    std::vector<NextToken> tokens;           // of a language model
    std::vector<float> lengths;              // [texts] before Normalize
    std::vector<std::vector<float>> inputs;  // of modules between pooling and Normalize
    std::vector<float> read;                 // what a head has read
    std::vector<std::int32_t> counts;        // rows of each sequence there
    HeadDropout dropout{};
  };
  Result<void> sentence_outputs(const Batch& batch, const float* states, Outputs& out) const;
  Result<void> head_outputs(const TrainRows& rows, const Batch& batch, const float* states, bool drops, Outputs& out);
  Result<void> lm_outputs(const TrainRows& rows, const Batch& batch, const float* states, Outputs& out) const;
  Result<void> outputs_of(const TrainRows& rows, const Batch& batch, const float* states, bool drops, Outputs& out);
  // Writes the gradient of the outputs, and gives the loss.
  Result<double> sentence_loss(const TrainRows& rows, Outputs& out) const;
  Result<double> head_loss(const TrainRows& rows, Outputs& out) const;
  // d_states: [tokens, hidden], zeros before: the gradient of states, times share.
  Result<void> sentence_backward(const Batch& batch, const float* states, float share, Outputs& out, float* d_states) const;
  void head_backward_of(const Batch& batch, float share, Outputs& out, Arena& arena, float* d_states);
  Result<void> outputs_backward(const Batch& batch, const float* states, float share, Outputs& out, float* d_states);
  template <typename Judge>
  Result<void> lm_chunks(std::span<const NextToken> tokens, const float* states, float* d_states, Judge judge) const;
  // Some logits at a time, with the gradient. d_states: null: not wanted.
  Result<LossSum> lm_loss(const TrainRows& rows, const Batch& batch, const float* states, float share, float* d_states) const;
  // What each stack has read; tape, states and their gradient are in the arena.
  struct Forward {
    Batch batches[2];
    float *tapes[2], *states[2], *d_states[2];
    bool is_whole;
  };
  // Runs the model over rows. drops: with dropout.
  Result<Forward> forward(const TrainRows& rows, bool drops, bool is_whole);
  void backward_stacks(const Forward& ran);
  // What the second stack reads of the first.
  static CrossSources sources_of(const Forward& ran);
  // What waits for the gradient of its outputs.
  struct Part {
    Forward ran;
    Outputs outputs;
  };
  // The forward pass of rows that are learned.
  Result<Part> begin_part(const TrainRows& rows, bool is_whole);
  // The backward pass. d_states: whether the gradient of the last stack's states is there already.
  Result<void> end_part(Part& part, double loss, double share, bool has_d_states);
  Error drop(const Error& error);

  Model& model_;
  TrainOptions options_;
  std::vector<Stack> stacks_;
  std::string fingerprint_;
  DropoutRates dropout_{};
  std::optional<Head> head_gradients_;
  std::vector<LoraTarget> targets_;
  LoraSet lora_;                                    // of the targets
  std::vector<std::vector<float>> lora_gradients_;  // A, B and the magnitudes of each matrix
  std::vector<BiasGradient> biases_;                // trained beside LoRA's matrices
  std::vector<std::vector<float>> bias_gradients_;
  std::vector<WeightGradient> whole_;  // likewise
  std::deque<WholeGradient> whole_gradients_;
  std::deque<SavedRows> saved_rows_;
  std::vector<std::pair<std::size_t, WeightTarget>> saved_;  // what is saved of each stack
  bool saves_words_ = false;                                 // as a table of their own
  std::vector<Buckets> buckets_;
  std::vector<Parameter> parameters_;
  std::vector<Moments> moments_;     // [parameters]
  mutable RowTable word_gradients_;  // [vocab, width]
  RowTable word_moments_;            // [vocab, 2 * width], the first moments before the second
  Arena arena_;
  std::int64_t step_ = 0;
  std::int64_t accumulated_ = 0;  // parts since the last update
  std::optional<Part> part_;      // of outputs()
  double loss_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace wattn
