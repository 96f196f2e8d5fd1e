#include "models/transformer_backward.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/experts.h"
#include "ops/activation.h"

namespace wattn {
namespace {

void add(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

struct PassSize {
  std::int64_t tokens, max_seq;
  int threads;
  SourceLimits sources{};
};

// What the backward pass of a layer reads, beside the layer's input.
struct LayerTape {
  float* qkv = nullptr;            // [tokens, qkv_width], placed unless queries and keys have norms
  float* attention_sum = nullptr;  // [tokens, hidden], with the residual, before the norm that follows
  float* cross_sum = nullptr;      // the same after cross attention
  float* up = nullptr;             // [tokens, ffn] before the activation, gated: [tokens, 2 * ffn]
};

// The tape: [num_hidden_layers + 1] rows of [tokens, hidden], and a LayerTape for each layer that is kept. Row 0 is the input of
// the first layer. Row i + 1 is what layer i adds up last: its output, or in a post-norm model the sum before the norm. What the
// options spare is filled from its end, as the last layer's memory is needed first.
class TapeView {
 public:
  TapeView(const TransformerConfig& config, std::int64_t tokens, const TapeOptions& options, float* tape)
      : first_kept_(std::max<std::int64_t>(config.num_hidden_layers - options.kept_layers, 0)),
        rows_(static_cast<std::size_t>(config.num_hidden_layers + 1)),
        layers_(static_cast<std::size_t>(config.num_hidden_layers)) {
    const std::int64_t hidden = tokens * config.hidden_size, qkv = tokens * config.qkv_width();
    const std::int64_t cross = config.cross_attention ? hidden : 0;
    const std::int64_t up = tokens * config.intermediate_size * (config.gated() ? 2 : 1);
    const Transformer* spare = config.shares_layers() ? nullptr : options.spare;
    float* const begin = spare ? begin_of(*spare, 0) : nullptr;
    float* end = spare ? begin_of(*spare, std::ssize(layers_) - 1) : nullptr;
    const auto take = [&](std::int64_t count) {
      constexpr std::int64_t kAligned = 16;  // floats
      const std::int64_t size = (count + kAligned - 1) / kAligned * kAligned;
      if (end - begin >= size) return end -= size;
      float* const at = tape ? tape + size_ : nullptr;
      size_ += size;
      return at;
    };
    for (std::int64_t i = std::ssize(layers_) - 1; i >= 0; --i) {
      if (spare) end = std::min(end, begin_of(*spare, i));
      rows_[static_cast<std::size_t>(i + 1)] = take(hidden);
      if (keeps(i)) layers_[static_cast<std::size_t>(i)] = {take(qkv), take(hidden), take(cross), take(up)};
    }
    end = begin;
    rows_.front() = take(hidden);
  }

  std::int64_t size() const { return size_; }
  float* row(std::int64_t i) const { return rows_[static_cast<std::size_t>(i)]; }
  bool keeps(std::int64_t layer) const { return layer >= first_kept_; }
  const LayerTape& layer(std::int64_t layer) const { return layers_[static_cast<std::size_t>(layer)]; }

  static float* begin_of(const Transformer& gradients, std::int64_t layer) {
    return static_cast<float*>(gradients.layer_at(layer).qkv.weight);
  }

 private:
  std::int64_t first_kept_, size_ = 0;
  std::vector<float*> rows_;       // [num_hidden_layers + 1]
  std::vector<LayerTape> layers_;  // [num_hidden_layers], of those that are kept
};

class TrainingPass {
 public:
  // Only measures with a measuring arena; gradients may be null then, and for a forward pass.
  TrainingPass(const Transformer& model, ThreadTeam& team, const Batch& batch, const PassSize& size, Transformer* gradients,
               const BackwardScope& scope, const TapeOptions& options, const CrossSources& sources, Arena& arena)
      : model_(model),
        config_(model.config_),
        gradients_(gradients),
        scope_(scope),
        options_(options),
        sources_(sources),
        pass_{{*model.kernels_, team}, batch, context_, {}, nullptr},
        tokens_(size.tokens),
        max_seq_(size.max_seq),
        size_(size.tokens * config_.hidden_size) {
    take(arena, size.threads, size.sources);
  }

  void forward(const TapeView& tape, float* hidden) {
    use_tape(tape);
    if (is_disentangled()) model_.prepare_relative_embeddings(pass_, max_seq_);
    embed(tape.row(0));
    const std::int64_t layers = config_.num_hidden_layers;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      forward_layer(layer, input_of(tape, layer), tape.keeps(layer) ? tape.layer(layer) : scratch_, tape.row(layer + 1));
    }
    std::copy_n(input_of(tape, layers), size_, hidden);
    model_.final_norm(pass_.compute.team, hidden, tokens_);
    drop(pass_.compute, dropout_of(kOutput), hidden, size_);
  }

  void backward(const TapeView& tape, float* d) {
    use_tape(tape);
    if (is_disentangled()) {
      model_.prepare_relative_embeddings(pass_, max_seq_);
      std::fill_n(d_relative_, pass_.work.disentangled.count * config_.hidden_size, 0.0f);
    }
    drop(pass_.compute, dropout_of(kOutput), d, size_);
    if (!is_post()) {
      std::fill_n(d_sum_, size_, 0.0f);
      norm_backward(config_.norm, model_.final_norm_, scope_.layers ? gradients_->final_norm_ : LayerNorm(),
                    tape.row(config_.num_hidden_layers), d, tokens_, d_sum_, scope_.layers);
      std::copy_n(d_sum_, size_, d);
    }
    for (std::int64_t layer = config_.num_hidden_layers - 1; layer >= scope_.first_layer; --layer) {
      const float* x = input_of(tape, layer);
      const LayerTape kept = tape.keeps(layer) ? tape.layer(layer) : scratch_;
      if (tape.keeps(layer)) {
        restore_layer(layer, x, kept);
      } else {
        forward_layer(layer, x, kept, nullptr);
      }
      if (options_.spare) clear_gradients(layer);
      layer_backward(layer, x, kept, tape.row(layer + 1), d);
    }
    if (!wants_embeddings()) return;
    embeddings_backward(d);
    if (is_disentangled()) relative_embeddings_backward();
    if (config_.relative_positions == RelativePositions::kT5Buckets) share_buckets();
  }

  static void lm_head(const Transformer& model, ThreadTeam& team, const LmHeadGradient& g, Arena& arena) {
    const Linear& layer = model.lm_head_;
    const float scale = model.config_.lm_head_scale;
    softcap_backward(model.config_.final_logit_softcapping, g.logits, g.rows * layer.out, g.d_logits);
    linear_backward({*model.kernels_, team},
                    {.in = layer.in,
                     .out = layer.out,
                     .tokens = g.rows,
                     .layer = &layer,
                     .x = g.hidden,
                     .dy = g.d_logits,
                     .dx = g.d_hidden,
                     .d_layer = g.gradients ? &g.gradients->lm_head_ : nullptr},
                    arena.take<float>(linear_backward_scratch(layer.in, layer.out, g.rows, team.threads())));
    for (std::int64_t i = 0; g.d_hidden && scale != 1.0f && i < g.rows * layer.in; ++i) g.d_hidden[i] *= scale;
  }

 private:
  using Layer = TransformerLayer;

  static constexpr std::int32_t kFirst = 0;

  bool wants_embeddings() const { return scope_.embeddings && scope_.first_layer == 0; }

  // Where layers that are not kept are computed. The tape's memory for the last layer is free before that layer runs, and after its
  // backward pass, unless gradients come to lie there.
  void use_tape(const TapeView& tape) {
    if (!scratch_.qkv && options_.kept_layers > 0) scratch_ = tape.layer(config_.num_hidden_layers - 1);
  }
  // Which the tape has used, but for the last layer's.
  void clear_gradients(std::int64_t layer) const {
    if (config_.shares_layers() || layer + 1 == config_.num_hidden_layers) return;
    std::fill(TapeView::begin_of(*gradients_, layer), TapeView::begin_of(*gradients_, layer + 1), 0.0f);
  }

  // What a pass needs at different times has one memory.
  void take(Arena& arena, int threads, const SourceLimits& sources) {
    const std::int64_t hidden = config_.hidden_size, ffn = config_.intermediate_size, width = config_.embedding_width();
    const std::int64_t up = config_.gated() ? 2 * ffn : ffn, row = config_.qkv_width();
    const bool disentangled = config_.relative_positions == RelativePositions::kDisentangled;
    buckets_ = disentangled ? std::min(config_.relative_rows(), 2 * max_seq_) : 0;
    const std::int64_t keys = std::max(max_seq_, sources.max_seq), queries = config_.query_width();
    const auto rows = [&](std::int64_t of) { return arena.take<float>(tokens_ * of); };
    const bool cross = config_.cross_attention;
    const auto if_cross = [&](std::int64_t count) { return arena.take<float>(cross ? count : 0); };
    auto& work = pass_.work;
    if (config_.embedding_size > 0) work.embedded = rows(width);
    work.context = rows(queries);
    if (buckets_ > 0) work.relative = arena.take<float>(buckets_ * hidden);
    if (buckets_ > 0) work.relative_qk = arena.take<float>(buckets_ * 2 * hidden);
    for (int i = 0; i < threads; ++i) {
      work.attention[i] = take_attention_scratch(arena, model_.attention_shape(), keys, keys, buckets_);
    }
    if (options_.kept_layers == 0 || (options_.spare && options_.kept_layers < config_.num_hidden_layers)) {
      scratch_ = {rows(row), rows(hidden), if_cross(tokens_ * hidden), rows(up)};
    }
    cross_read_ = if_cross(tokens_ * hidden);
    cross_queries_ = if_cross(tokens_ * queries);
    d_cross_queries_ = if_cross(tokens_ * queries);
    cross_context_ = if_cross(tokens_ * queries);
    cross_kv_ = if_cross(sources.tokens * 2 * queries);
    d_cross_kv_ = if_cross(sources.tokens * 2 * queries);
    d_cross_states_ = if_cross(sources.tokens * hidden);
    placed_ = config_.query_key_norm ? rows(row) : nullptr;
    input_ = rows(is_post() ? hidden : 0);
    middle_ = rows(std::max(hidden, width));
    d_sum_ = rows(hidden);
    output_ = rows(config_.output_norms ? hidden : 0);
    d_output_ = rows(config_.output_norms ? hidden : 0);
    d_in_ = rows(std::max(hidden, width));
    normal_ = is_post() ? d_in_ : rows(std::max(hidden, width));  // post-norm: read after the last layer only
    const bool drops = options_.dropout.attention + options_.dropout.feed_forward > 0;
    work.projected = drops ? rows(hidden) : d_in_;  // without dropout: of a forward pass
    // The feed-forward, then attention.
    const std::uint64_t before = arena.used();
    float*& act = config_.gated() ? work.gated : work.intermediate;
    d_act_ = act = rows(ffn);
    d_up_ = config_.gated() ? rows(up) : d_act_;
    if (const std::int64_t experts = config_.experts.count; experts > 0) {
      work.experts = {rows(experts), rows(hidden), rows(2 * ffn), rows(hidden), rows(hidden)};
      d_router_ = rows(experts);
    }
    const std::uint64_t of_feed_forward = arena.used();
    arena.rewind(before);
    d_qkv_ = rows(row);
    d_context_ = rows(queries);
    arena.rewind(std::max(arena.used(), of_feed_forward));
    d_head_ = arena.take<float>(config_.num_attention_heads * config_.head_size());
    d_embedded_ = rows(config_.embedding_size > 0 ? width : 0);
    norm_scratch_ = arena.take<float>(2 * std::max({tokens_, config_.num_attention_heads, buckets_}));
    d_relative_ = arena.take<float>(buckets_ * hidden);
    d_relative_qk_ = arena.take<float>(buckets_ * 2 * hidden);
    d_relative_in_ = arena.take<float>(buckets_ * hidden);
    std::int64_t scratch = 0;
    for (const auto& [in, out] : {std::pair{hidden, row}, {queries, hidden}, {hidden, up}, {ffn, hidden}, {width, hidden}}) {
      scratch = std::max(scratch, linear_backward_scratch(in, out, std::max(tokens_, buckets_), threads));
    }
    if (cross) scratch = std::max(scratch, linear_backward_scratch(hidden, 2 * queries, sources.tokens, threads));
    if (config_.experts.count > 0) {
      scratch = std::max(scratch, linear_backward_scratch(hidden, config_.experts.count, tokens_, threads));
    }
    const std::int64_t most_rows = std::max({tokens_, buckets_, sources.tokens});
    std::int64_t rank = 0, lora_in = 0;
    for (const LoraFactors& one : options_.lora) {
      rank = std::max(rank, one.a.out);
      lora_in = std::max(lora_in, one.a.in);
      scratch = std::max({scratch, linear_backward_scratch(one.a.in, one.a.out, most_rows, threads),
                          linear_backward_scratch(one.b.in, one.b.out, most_rows, threads)});
    }
    lora_inner_ = arena.take<float>(most_rows * rank);
    d_lora_inner_ = arena.take<float>(most_rows * rank);
    lora_input_ = arena.take<float>(options_.dropout.lora > 0 ? most_rows * lora_in : 0);
    lora_added_ = arena.take<float>(options_.dropout.lora > 0 && rank > 0 ? most_rows * std::max({row, up, hidden, ffn}) : 0);
    linear_scratch_ = arena.take<float>(scratch);
    const std::int64_t attention = attention_backward_scratch(model_.attention_shape(), keys, buckets_);
    for (int i = 0; i < threads; ++i) attention_scratch_.push_back(arena.take<float>(attention));
  }

  // Where in a layer of the model a matrix is used.
  struct Use {
    std::int64_t layer;
    Linear TransformerLayer::* part;
    bool relative = false;  // DeBERTa's second use of queries and keys
  };

  const LoraFactors* lora_of(const Linear& layer) const {
    const auto found = std::ranges::find(options_.lora, static_cast<const void*>(layer.weight), &LoraFactors::weight);
    return found == options_.lora.end() ? nullptr : &*found;
  }
  float* bias_gradient(const float* bias) const {
    const auto found = std::ranges::find(scope_.biases, bias, &BiasGradient::bias);
    return !bias || found == scope_.biases.end() ? nullptr : found->gradient;
  }
  // Whether something of a matrix's gradient reads what the matrix has read.
  bool trains(std::int64_t layer, Linear TransformerLayer::* part) const {
    return scope_.layers || lora_of(model_.layer_at(layer).*part);
  }

  Dropout lora_dropout(const Use& use) const {
    constexpr Linear Layer::* kParts[] = {
        &Layer::qkv,         &Layer::attention_output,  &Layer::up,          &Layer::down, nullptr,
        &Layer::cross_query, &Layer::cross_keys_values, &Layer::cross_output};
    const auto part = use.relative ? 4 : std::ranges::find(kParts, use.part) - std::begin(kParts);
    constexpr std::uint64_t kLoraSeed = 0x10A;  // places of their own
    return dropout_at(options_.dropout.lora, options_.seed ^ (kLoraSeed << 48), options_.step,
                      static_cast<std::uint64_t>(use.layer * std::ssize(kParts) + part));
  }
  // What A reads of x: [rows, in].
  const float* lora_input(const Use& use, const Linear& a, const float* x, std::int64_t rows) {
    if (options_.dropout.lora == 0) return x;
    std::copy_n(x, rows * a.in, lora_input_);
    drop(pass_.compute, lora_dropout(use), lora_input_, rows * a.in);
    return lora_input_;
  }
  // What dropout changes in a product whose weights have W + B A: y += B A (dropped x - x). width: of y.
  void drop_lora(const Use& use, const Linear& layer, const float* x, std::int64_t rows, std::int64_t width, float* y) {
    const LoraFactors* lora = options_.dropout.lora > 0 ? lora_of(layer) : nullptr;
    if (!lora) return;
    lora_input(use, lora->a, x, rows);
    for (std::int64_t i = 0; i < rows * lora->a.in; ++i) lora_input_[i] -= x[i];
    linear(pass_.compute, lora->a, lora_input_, rows, Activation::kNone, {}, lora_inner_);
    linear(pass_.compute, lora->b, lora_inner_, rows, Activation::kNone, {}, lora_added_);
    for (std::int64_t t = 0; t < rows; ++t) add(lora_added_ + t * lora->b.out, width, y + t * width);
  }

  // y = x W^T + bias.
  void product(const Use& use, const float* x, std::int64_t rows, float* y) {
    const Linear& layer = model_.layer_at(use.layer).*use.part;
    linear(pass_.compute, layer, x, rows, Activation::kNone, pass_.work.linear, y);
    drop_lora(use, layer, x, rows, layer.out, y);
  }

  // dx: [rows, in] written, may be null. gradient: of the weights, may be null.
  void linear_gradient(const Linear& layer, const Linear* gradient, const float* x, const float* dy, std::int64_t rows, float* dx) {
    linear_backward(pass_.compute,
                    {.in = layer.in,
                     .out = layer.out,
                     .tokens = rows,
                     .layer = &layer,
                     .x = x,
                     .dy = dy,
                     .dx = dx,
                     .d_bias = gradient ? nullptr : bias_gradient(layer.bias),
                     .d_layer = gradient},
                    linear_scratch_);
  }
  // Of a layer's matrix, or its first `out` outputs, with the gradients of LoRA's. dx may be x.
  void product_backward(const Use& use, const float* x, const float* dy, std::int64_t rows, float* dx, std::int64_t out = 0) {
    Linear layer = model_.layer_at(use.layer).*use.part;
    if (out > 0) layer.out = out;
    const LoraFactors* lora = lora_of(layer);
    const bool drops = lora && dx && options_.dropout.lora > 0;
    if (lora) lora_backward(use, *lora, x, dy, rows, layer.out, drops ? lora_added_ : nullptr);
    linear_gradient(layer, scope_.layers ? &(gradients_->layer_at(use.layer).*use.part) : nullptr, x, dy, rows, dx);
    if (!drops) return;
    const Dropout dropout = lora_dropout(use);
    for (std::int64_t i = 0; i < rows * layer.in; ++i) {
      dx[i] += (dropout.factor(static_cast<std::uint64_t>(i)) - 1) * lora_added_[i];
    }
  }
  // Of A and B. dx: what comes through them, [rows, in]; null: not wanted.
  void lora_backward(const Use& use, const LoraFactors& lora, const float* x, const float* dy, std::int64_t rows, std::int64_t out,
                     float* dx) {
    const float* read = lora_input(use, lora.a, x, rows);
    linear(pass_.compute, lora.a, read, rows, Activation::kNone, {}, lora_inner_);
    linear_backward(pass_.compute,
                    {.in = lora.b.in,
                     .out = out,
                     .tokens = rows,
                     .layer = &lora.b,
                     .x = lora_inner_,
                     .dy = dy,
                     .dx = d_lora_inner_,
                     .d_layer = &lora.d_b},
                    linear_scratch_);
    linear_backward(pass_.compute,
                    {.in = lora.a.in,
                     .out = lora.a.out,
                     .tokens = rows,
                     .layer = &lora.a,
                     .x = read,
                     .dy = d_lora_inner_,
                     .dx = dx,
                     .d_layer = &lora.d_a},
                    linear_scratch_);
  }

  // Of a norm that has a bias if its kind and the model have one.
  void norm_backward(NormKind kind, const LayerNorm& norm, const LayerNorm& gradient, const float* x, const float* dy,
                     std::int64_t rows, float* dx, bool wanted) {
    const bool has_bias = kind == NormKind::kLayer && config_.biases.norms;
    normalise_backward(pass_.compute, kind, norm, x, dy, rows, dx, wanted ? gradient.gamma : nullptr,
                       has_bias ? (wanted ? gradient.beta : bias_gradient(norm.beta)) : nullptr, norm_scratch_);
  }
  // Of a norm of a layer.
  void norm_backward(NormKind kind, std::int64_t layer, LayerNorm Layer::* part, const float* x, const float* dy, float* dx) {
    norm_backward(kind, model_.layer_at(layer).*part, scope_.layers ? gradients_->layer_at(layer).*part : LayerNorm(), x, dy,
                  tokens_, dx, scope_.layers);
  }

  // Places of dropout. Those in layers are followed by the next layer's.
  enum Place : std::uint8_t {
    kEmbeddings,
    kOutput,
    kProbabilities,
    kAttention,
    kActivation,
    kFeedForward,
    kCrossProbabilities,
    kCrossAttention,
    kPlaces
  };

  Dropout dropout_of(Place place, std::int64_t layer = 0) const {
    const DropoutRates& rates = options_.dropout;
    const float of_place[kPlaces] = {rates.embeddings, rates.output,       rates.probabilities, rates.attention,
                                     rates.activation, rates.feed_forward, rates.probabilities, rates.attention};
    return dropout_at(of_place[place], options_.seed, options_.step, static_cast<std::uint64_t>(layer * kPlaces + place));
  }
  // The gradient of what a residual was added to, before it was dropped.
  const float* before_drop(const Dropout& dropout, const float* d) {
    if (dropout.rate == 0) return d;
    float* out = std::copy_n(d, size_, pass_.work.projected) - size_;
    drop(pass_.compute, dropout, out, size_);
    return out;
  }

  // The inputs of the first layer; of the projection in work.embedded, if there is one.
  void embed(float* out) {
    const std::int64_t width = config_.embedding_width();
    float* rows = config_.embedding_size > 0 ? pass_.work.embedded : out;
    model_.sum_embeddings(pass_, rows);
    if (config_.embeddings_norm) normalise(pass_.compute, config_.norm, model_.embeddings_norm_, rows, tokens_, rows);
    drop(pass_.compute, dropout_of(kEmbeddings), rows, tokens_ * width);
    if (config_.embedding_size > 0) {
      linear(pass_.compute, model_.embeddings_projection_, rows, tokens_, Activation::kNone, pass_.work.linear, out);
    }
  }

  void sum(const float* a, const float* b, float* out) const {
    for (std::int64_t i = 0; i < size_; ++i) out[i] = a[i] + b[i];
  }
  bool is_post() const { return config_.norm_placement == NormPlacement::kPost; }
  bool is_disentangled() const { return config_.relative_positions == RelativePositions::kDisentangled && max_seq_ > 0; }
  bool has_attention_norm(std::int64_t layer) const { return !is_post() && (layer > 0 || config_.first_attention_norm); }
  NormKind middle_kind() const { return is_post() ? NormKind::kLayer : config_.norm; }
  // The norm of what the feed-forward reads, which is the sum after (cross) attention.
  LayerNorm TransformerLayer::* middle_norm() const {
    return !is_post() ? &Layer::ffn_norm : config_.cross_attention ? &Layer::cross_norm : &Layer::attention_norm;
  }
  float* middle_sum(const LayerTape& kept) const { return config_.cross_attention ? kept.cross_sum : kept.attention_sum; }
  // The norm of what cross attention reads.
  LayerNorm TransformerLayer::* cross_norm() const {
    return is_post() ? &TransformerLayer::attention_norm : &TransformerLayer::cross_norm;
  }

  // What a layer reads, or, after the last one, the last layer's output.
  const float* input_of(const TapeView& tape, std::int64_t layer) {
    if (layer == 0 || !is_post()) return tape.row(layer);
    normalise(pass_.compute, NormKind::kLayer, model_.layer_at(layer - 1).ffn_norm, tape.row(layer), tokens_, input_);
    return input_;
  }

  // What the matrix of queries, keys and values reads.
  const float* attention_input(std::int64_t layer, const float* x) {
    if (!has_attention_norm(layer)) return x;
    normalise(pass_.compute, config_.norm, model_.layer_at(layer).attention_norm, x, tokens_, normal_);
    return normal_;
  }

  // Queries and keys as the scores need them. is_new: they are as projected.
  void place(std::int64_t layer, const LayerTape& kept, bool is_new) {
    pass_.work.qkv = kept.qkv;
    if (config_.query_key_norm) {
      std::copy_n(kept.qkv, tokens_ * config_.qkv_width(), placed_);
      pass_.work.qkv = placed_;
    }
    const int index = static_cast<int>(layer);
    if (is_new || config_.query_key_norm) model_.place_queries_and_keys(pass_, index);
    if (!is_disentangled()) return;
    model_.project_relative(pass_, index);
    const Disentangled& terms = pass_.work.disentangled;
    const std::int64_t width = config_.query_width() + config_.kv_width();
    drop_lora({layer, &Layer::qkv, true}, model_.layer_at(layer).qkv, pass_.work.relative, terms.count, width,
              pass_.work.relative_qk);
  }

  void attend(std::int64_t layer) {
    auto [terms, input] = model_.attention_call(pass_, static_cast<int>(layer));
    const ProbabilityDropout dropout = drop_probabilities(dropout_of(kProbabilities, layer));
    if (dropout.dropout.rate > 0) terms.dropout = &dropout;
    wattn::attention(pass_.compute, model_.attention_shape(), terms, input, pass_.work.attention, pass_.work.context, {});
  }

  struct CrossCall {
    AttentionShape shape;
    ScoreTerms terms;
    AttentionInput input;
  };
  CrossCall cross_call(std::int64_t layer) const {
    const std::int64_t width = config_.query_width();
    AttentionShape shape = model_.attention_shape();
    shape.kv_heads = shape.heads;
    return {shape,
            {.scale = model_.attention_call(pass_, static_cast<int>(layer)).terms.scale},
            {.queries = cross_queries_,
             .query_stride = width,
             .keys = cross_kv_,
             .values = cross_kv_ + width,
             .kv_stride = 2 * width,
             .seq_start = pass_.batch.seq_start,
             .key_start = sources_.seq_start}};
  }

  // Leaves queries, keys and values, and the context in their buffers.
  void cross_attend(std::int64_t index, const LayerTape& kept) {
    normalise(pass_.compute, middle_kind(), model_.layer_at(index).*cross_norm(), kept.attention_sum, tokens_, cross_read_);
    product({index, &Layer::cross_query}, cross_read_, tokens_, cross_queries_);
    product({index, &Layer::cross_keys_values}, sources_.states, sources_.tokens(), cross_kv_);
    auto [shape, terms, input] = cross_call(index);
    const ProbabilityDropout dropout = drop_probabilities(dropout_of(kCrossProbabilities, index));
    if (dropout.dropout.rate > 0) terms.dropout = &dropout;
    wattn::attention(pass_.compute, shape, terms, input, pass_.work.attention, cross_context_, {});
  }

  // After cross_attend().
  void cross_attention_backward(std::int64_t index, const float* dy, float* dx) {
    const std::int64_t width = config_.query_width(), rows = sources_.tokens();
    auto [shape, terms, input] = cross_call(index);
    const ProbabilityDropout dropout = drop_probabilities(dropout_of(kCrossProbabilities, index));
    if (dropout.dropout.rate > 0) terms.dropout = &dropout;
    product_backward({index, &Layer::cross_output}, cross_context_, dy, tokens_, d_context_);
    std::fill_n(d_cross_queries_, tokens_ * width, 0.0f);
    std::fill_n(d_cross_kv_, rows * 2 * width, 0.0f);
    wattn::attention_backward(
        pass_.compute, shape, terms, input, attention_scratch_,
        {.d_context = d_context_, .d_queries = d_cross_queries_, .d_keys = d_cross_kv_, .d_values = d_cross_kv_ + width});
    product_backward({index, &Layer::cross_query}, cross_read_, d_cross_queries_, tokens_, dx);
    float* d_states = sources_.d_states ? d_cross_states_ : nullptr;
    product_backward({index, &Layer::cross_keys_values}, sources_.states, d_cross_kv_, rows, d_states);
    if (d_states) add(d_states, rows * config_.hidden_size, sources_.d_states);
  }

  // In place, if the model has such norms.
  void output_norm(std::int64_t index, LayerNorm Layer::* norm, float* rows) {
    if (config_.output_norms) normalise(pass_.compute, config_.norm, model_.layer_at(index).*norm, rows, tokens_, rows);
  }
  // The gradient of a product of what was read, from dy, that of its norm; dy if the model has no such norms.
  const float* output_norm_backward(const Use& use, LayerNorm Layer::* norm, const float* read, const float* dy) {
    if (!config_.output_norms) return dy;
    product(use, read, tokens_, output_);
    std::fill_n(d_output_, size_, 0.0f);
    norm_backward(config_.norm, use.layer, norm, output_, dy, d_output_);
    return d_output_;
  }

  // What the matrix down reads.
  const float* activate(std::int64_t layer, const float* up) {
    const std::int64_t ffn = config_.intermediate_size;
    float* out = config_.gated() ? pass_.work.gated : pass_.work.intermediate;
    for_parts(pass_.compute, tokens_, 1, 32, [&](std::int64_t begin, std::int64_t end) {
      if (config_.gated()) {
        pass_.compute.kernels.gate_rows(config_.hidden_act, up + begin * 2 * ffn, out + begin * ffn, end - begin, ffn);
      } else {
        pass_.compute.kernels.activate(config_.hidden_act, up + begin * ffn, out + begin * ffn, (end - begin) * ffn);
      }
    });
    drop(pass_.compute, dropout_of(kActivation, layer), out, tokens_ * ffn);
    return out;
  }

  // out: the row of the tape; null when the layer is computed again, which needs no product with down.
  void forward_layer(std::int64_t index, const float* x, const LayerTape& kept, float* out) {
    float* projected = pass_.work.projected;
    product({index, &Layer::qkv}, attention_input(index, x), tokens_, kept.qkv);
    place(index, kept, true);
    attend(index);
    product({index, &Layer::attention_output}, pass_.work.context, tokens_, projected);
    output_norm(index, &Layer::attention_output_norm, projected);
    drop(pass_.compute, dropout_of(kAttention, index), projected, size_);
    sum(projected, x, kept.attention_sum);
    if (config_.cross_attention) {
      cross_attend(index, kept);
      product({index, &Layer::cross_output}, cross_context_, tokens_, projected);
      drop(pass_.compute, dropout_of(kCrossAttention, index), projected, size_);
      sum(projected, is_post() ? cross_read_ : kept.attention_sum, kept.cross_sum);
    }
    normalise(pass_.compute, middle_kind(), model_.layer_at(index).*middle_norm(), middle_sum(kept), tokens_, middle_);
    if (config_.has_experts(index)) {
      if (!out) return;  // their backward pass computes them again
      experts_feed_forward(pass_.compute, config_, model_.layer_at(index), pass_.work.experts, {}, middle_, tokens_, projected);
    } else {
      product({index, &Layer::up}, middle_, tokens_, kept.up);
      const float* active = activate(index, kept.up);
      if (!out) return;
      product({index, &Layer::down}, active, tokens_, projected);
    }
    output_norm(index, &Layer::ffn_output_norm, projected);
    drop(pass_.compute, dropout_of(kFeedForward, index), projected, size_);
    sum(projected, is_post() ? middle_ : middle_sum(kept), out);
  }

  // Computes again what layer_backward() reads and the tape does not have.
  void restore_layer(std::int64_t index, const float* x, const LayerTape& kept) {
    attention_input(index, x);
    place(index, kept, false);
    if (config_.cross_attention) cross_attend(index, kept);
    if (config_.output_norms || trains(index, &Layer::attention_output)) attend(index);
    if (trains(index, &Layer::up) || config_.has_experts(index)) {
      normalise(pass_.compute, middle_kind(), model_.layer_at(index).*middle_norm(), middle_sum(kept), tokens_, middle_);
    }
    if (!config_.has_experts(index) && (config_.output_norms || trains(index, &Layer::down))) activate(index, kept.up);
  }

  // x: the layer's input; last_sum: its row of the tape; d: the gradient of its output, which becomes that of x.
  void layer_backward(std::int64_t index, const float* x, const LayerTape& kept, const float* last_sum, float* d) {
    const bool normed = has_attention_norm(index);
    const float* read = normed ? normal_ : x;
    float* d_read = index > scope_.first_layer || wants_embeddings() ? d_in_ : nullptr;
    if (is_post()) {
      std::fill_n(d_sum_, size_, 0.0f);
      norm_backward(NormKind::kLayer, index, &Layer::ffn_norm, last_sum, d, d_sum_);
      feed_forward_backward(index, kept.up, before_drop(dropout_of(kFeedForward, index), d_sum_), d_in_);
      sum(d_sum_, d_in_, d);
      if (config_.cross_attention) {
        std::fill_n(d_sum_, size_, 0.0f);
        norm_backward(NormKind::kLayer, index, &Layer::cross_norm, kept.cross_sum, d, d_sum_);
        cross_attention_backward(index, before_drop(dropout_of(kCrossAttention, index), d_sum_), d_in_);
        sum(d_sum_, d_in_, d);
      }
      std::fill_n(d_sum_, size_, 0.0f);
      norm_backward(NormKind::kLayer, index, &Layer::attention_norm, kept.attention_sum, d, d_sum_);
      attention_backward(index, read, kept.qkv, before_drop(dropout_of(kAttention, index), d_sum_), d_read);
      if (d_read) sum(d_sum_, d_read, d);
      return;
    }
    const float* d_output = output_norm_backward({index, &Layer::down}, &Layer::ffn_output_norm,
                                                 config_.gated() ? pass_.work.gated : pass_.work.intermediate,
                                                 before_drop(dropout_of(kFeedForward, index), d));
    feed_forward_backward(index, kept.up, d_output, d_in_);
    norm_backward(config_.norm, index, &Layer::ffn_norm, middle_sum(kept), d_in_, d);
    if (config_.cross_attention) {
      cross_attention_backward(index, before_drop(dropout_of(kCrossAttention, index), d), d_in_);
      norm_backward(config_.norm, index, &Layer::cross_norm, kept.attention_sum, d_in_, d);
    }
    // The norm's own weights need what comes through it.
    if (normed && (scope_.layers || !scope_.biases.empty())) d_read = d_in_;
    d_output = output_norm_backward({index, &Layer::attention_output}, &Layer::attention_output_norm, pass_.work.context,
                                    before_drop(dropout_of(kAttention, index), d));
    attention_backward(index, read, kept.qkv, d_output, d_read);
    if (!d_read) return;
    if (normed) {
      norm_backward(config_.norm, index, &Layer::attention_norm, x, d_read, d);
    } else {
      add(d_read, size_, d);
    }
  }

  // After activate() of the same up, with the matrix's input in middle_.
  void feed_forward_backward(std::int64_t index, const float* up, const float* dy, float* dx) {
    const std::int64_t ffn = config_.intermediate_size;
    if (config_.has_experts(index)) {
      const TransformerLayer& layer = model_.layer_at(index);
      return experts_backward(pass_.compute, config_, layer,
                              {.x = middle_,
                               .dy = dy,
                               .dx = dx,
                               .gradients = scope_.layers ? &gradients_->layer_at(index) : nullptr,
                               .d_bias = bias_gradient(layer.experts->bias),
                               .tokens = tokens_},
                              pass_.work.experts, d_router_, linear_scratch_);
    }
    product_backward({index, &Layer::down}, config_.gated() ? pass_.work.gated : pass_.work.intermediate, dy, tokens_, d_act_);
    drop(pass_.compute, dropout_of(kActivation, index), d_act_, tokens_ * ffn);
    if (config_.gated()) {
      gate_backward(pass_.compute, config_.hidden_act, up, d_act_, tokens_, ffn, d_up_);
    } else {
      activate_backward(pass_.compute, config_.hidden_act, up, d_act_, tokens_, ffn, d_up_);
    }
    product_backward({index, &Layer::up}, middle_, d_up_, tokens_, dx);
  }

  // After place() and attend(). raw_qkv: before norms of queries and keys, if there are any. dx: null if not wanted.
  void attention_backward(std::int64_t index, const float* x, const float* raw_qkv, const float* dy, float* dx) {
    const std::int64_t row = config_.qkv_width(), queries = config_.query_width(), keys = config_.kv_width();
    auto [terms, input] = model_.attention_call(pass_, static_cast<int>(index));
    const ProbabilityDropout dropout = drop_probabilities(dropout_of(kProbabilities, index));
    if (dropout.dropout.rate > 0) terms.dropout = &dropout;
    product_backward({index, &Layer::attention_output}, pass_.work.context, dy, tokens_, d_context_);
    std::fill_n(d_qkv_, tokens_ * row, 0.0f);
    std::fill_n(d_relative_qk_, buckets_ * 2 * config_.hidden_size, 0.0f);
    const bool learned_bias = wants_embeddings() && config_.relative_positions == RelativePositions::kT5Buckets;
    wattn::attention_backward(pass_.compute, model_.attention_shape(), terms, input, attention_scratch_,
                              {.d_context = d_context_,
                               .d_queries = d_qkv_,
                               .d_keys = d_qkv_ + queries,
                               .d_values = d_qkv_ + queries + keys,
                               .d_bias = learned_bias ? &gradients_->distance_bias_ : nullptr,
                               .d_relative = terms.relative ? d_relative_qk_ : nullptr});
    if (terms.relative) {
      const std::int64_t count = terms.relative->count;
      product_backward({index, &Layer::qkv, true}, pass_.work.relative, d_relative_qk_, count, d_relative_in_, queries + keys);
      add(d_relative_in_, count * config_.hidden_size, d_relative_);
    }
    if (config_.is_rotary(index)) {
      rotate_heads_backward(pass_.compute, model_.rotary_of(static_cast<int>(index)), pass_.batch.position_ids,
                            config_.num_attention_heads + config_.kv_heads(), row, d_qkv_);
    }
    if (config_.query_key_norm) query_key_norm_backward(index, raw_qkv);
    product_backward({index, &Layer::qkv}, x, d_qkv_, tokens_, dx);
  }

  void query_key_norm_backward(std::int64_t index, const float* raw_qkv) {
    const TransformerLayer& layer = model_.layer_at(index);
    const std::int64_t row = config_.qkv_width(), queries = config_.query_width(), dim = config_.head_size();
    const auto backward_of = [&](LayerNorm Layer::* part, std::int64_t at, std::int64_t heads) {
      std::copy_n(d_qkv_ + at, heads * dim, d_head_);
      std::fill_n(d_qkv_ + at, heads * dim, 0.0f);
      norm_backward(NormKind::kRms, layer.*part, scope_.layers ? gradients_->layer_at(index).*part : LayerNorm(), raw_qkv + at,
                    d_head_, heads, d_qkv_ + at, scope_.layers);
    };
    for (std::int64_t i = 0; i < tokens_; ++i) {
      backward_of(&Layer::query_norm, i * row, config_.num_attention_heads);
      backward_of(&Layer::key_norm, i * row + queries, config_.kv_heads());
    }
  }

  // d: of the first layer's input.
  void embeddings_backward(float* d) {
    const Batch& batch = pass_.batch;
    const std::int64_t width = config_.embedding_width(), size = tokens_ * width;
    float *embedded = middle_, *normal_embedded = normal_;  // after the last layer
    model_.sum_embeddings(pass_, embedded);
    float* d_out = d;
    if (config_.embedding_size > 0) {
      std::copy_n(embedded, size, normal_embedded);
      if (config_.embeddings_norm) {
        normalise(pass_.compute, config_.norm, model_.embeddings_norm_, embedded, tokens_, normal_embedded);
      }
      drop(pass_.compute, dropout_of(kEmbeddings), normal_embedded, size);
      linear_gradient(model_.embeddings_projection_, &gradients_->embeddings_projection_, normal_embedded, d, tokens_, d_embedded_);
      d_out = d_embedded_;
    }
    drop(pass_.compute, dropout_of(kEmbeddings), d_out, size);
    if (config_.embeddings_norm) {
      std::fill_n(normal_embedded, size, 0.0f);
      norm_backward(config_.norm, model_.embeddings_norm_, gradients_->embeddings_norm_, embedded, d_out, tokens_, normal_embedded,
                    true);
      d_out = normal_embedded;
    }
    const auto add_to = [&](const Embedding& table, std::span<const std::int32_t> ids) {
      embedding_backward(ids, d_out, width, static_cast<float*>(table.table));
    };
    if (config_.type_vocab_size > 0) add_to(gradients_->token_type_embeddings_, batch.token_type_ids);
    if (config_.positions == Positions::kLearned) add_to(gradients_->position_embeddings_, batch.position_ids);
    if (config_.positions == Positions::kAfterPadding)
      add_to(gradients_->position_embeddings_, model_.positions_after_padding(batch));
    for (std::int64_t i = 0; i < size; ++i) d_out[i] *= config_.embedding_scale;
    for (std::int64_t i = 0; i < tokens_; ++i) {
      const std::int32_t id = batch.input_ids[static_cast<std::size_t>(i)];
      if (id != config_.padding_word) add_word_gradient(id, d_out + i * width);
    }
  }

  void add_word_gradient(std::int32_t id, const float* d) {
    if (scope_.word_rows) return embedding_backward({&kFirst, 1}, d, config_.embedding_width(), scope_.word_rows->find(id));
    const Transformer& words = scope_.words ? *scope_.words : *gradients_;
    if (words.head_holds_embeddings()) return add_weight_row(words.lm_head_, id, d);
    embedding_backward({&id, 1}, d, config_.embedding_width(), static_cast<float*>(words.word_embeddings_.table));
  }

  void relative_embeddings_backward() {
    const Disentangled& terms = pass_.work.disentangled;
    const std::int64_t hidden = config_.hidden_size;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(terms.count));
    std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(terms.first));
    float* d = d_relative_;
    if (config_.disentangled.norm) {
      float* rows = pass_.work.relative;  // before the norm
      std::fill_n(rows, terms.count * hidden, 0.0f);
      add_embedding_rows(model_.relative_embeddings_, ids, rows);
      std::fill_n(d_relative_in_, terms.count * hidden, 0.0f);
      norm_backward(NormKind::kLayer, model_.relative_norm_, gradients_->relative_norm_, rows, d_relative_, terms.count,
                    d_relative_in_, true);
      d = d_relative_in_;
    }
    embedding_backward(ids, d, hidden, static_cast<float*>(gradients_->relative_embeddings_.table));
  }

  // The distances of a bucket are one weight: each gets the sum of their gradients.
  void share_buckets() {
    const std::int64_t heads = config_.num_attention_heads, buckets = (config_.causal ? 2 : 1) * config_.t5.buckets;
    DistanceBias& bias = gradients_->distance_bias_;
    std::vector<float> sums(static_cast<std::size_t>(heads * buckets));
    const auto bucket_of = [&](std::int64_t distance) { return t5_bucket(distance, buckets, config_.t5.max_distance); };
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t d = 1 - bias.span; d < bias.span; ++d) sums[bucket_of(d) * heads + head] += bias.at(head)[d];
    }
    for (std::int64_t bucket = 0; bucket < buckets; ++bucket) {
      set_t5_bucket(bias, heads, bucket, buckets, config_.t5.max_distance, sums.data() + bucket * heads);
    }
  }

  const Transformer& model_;
  const TransformerConfig& config_;
  Transformer* gradients_;
  BackwardScope scope_;
  TapeOptions options_;
  CrossSources sources_;
  Transformer::Context context_{};
  Transformer::Pass pass_;
  std::int64_t tokens_, max_seq_, size_, buckets_ = 0;  // size_: tokens * hidden
  LayerTape scratch_{};                                 // of a layer that is not kept
  float* placed_;                                       // [tokens, qkv_width], if queries and keys have norms
  float *input_, *middle_, *normal_, *d_sum_, *d_in_;   // [tokens, hidden]
  float *output_, *d_output_;                           // [tokens, hidden], if outputs have norms
  float *d_qkv_, *d_head_, *d_context_;
  float *cross_read_, *cross_queries_, *d_cross_queries_, *cross_context_;  // [tokens, ...] of cross attention
  float *cross_kv_, *d_cross_kv_, *d_cross_states_;                         // [source tokens, ...]
  float *d_act_, *d_up_, *d_embedded_;
  float* d_router_ = nullptr;  // [tokens, experts]
  float *norm_scratch_, *linear_scratch_;
  float *lora_inner_, *d_lora_inner_;  // [rows, rank]
  float *lora_input_, *lora_added_;    // [rows, ...] with dropout
  float *d_relative_, *d_relative_qk_, *d_relative_in_;
  std::vector<float*> attention_scratch_;
};

std::int64_t tape_size(const TransformerConfig& config, std::int64_t tokens, const TapeOptions& options) {
  return TapeView(config, tokens, options, nullptr).size();
}

std::uint64_t backward_bytes(const Transformer& model, std::int64_t max_tokens, std::int64_t max_seq, int threads,
                             const SourceLimits& sources, const TapeOptions& options) {
  Arena measure;
  ThreadTeam alone;
  const Batch none;
  const TrainingPass measured(model, alone, none, {max_tokens, max_seq, threads, sources}, nullptr, {}, options, {}, measure);
  return measure.used();
}

namespace {

PassSize size_of(const Batch& batch, const CrossSources& sources, const ThreadTeam& team) {
  return {batch.tokens(), batch.longest(), team.threads(), {sources.tokens(), sources.longest()}};
}

}  // namespace

void training_forward(const Transformer& model, ThreadTeam& team, const Batch& batch, float* tape, float* hidden, Arena& arena,
                      const TapeOptions& options, const CrossSources& sources) {
  const ThreadTeam::Awake awake(team);
  TrainingPass pass(model, team, batch, size_of(batch, sources, team), nullptr, {}, options, sources, arena);
  pass.forward({model.config(), batch.tokens(), options, tape}, hidden);
}

void backward(const Transformer& model, ThreadTeam& team, const Batch& batch, float* tape, float* d_hidden, Arena& arena,
              Transformer* gradients, const BackwardScope& scope, const TapeOptions& options, const CrossSources& sources) {
  const ThreadTeam::Awake awake(team);
  TrainingPass pass(model, team, batch, size_of(batch, sources, team), gradients, scope, options, sources, arena);
  pass.backward({model.config(), batch.tokens(), options, tape}, d_hidden);
}

void lm_head_backward(const Transformer& model, ThreadTeam& team, const LmHeadGradient& gradient, Arena& arena) {
  const ThreadTeam::Awake awake(team);
  TrainingPass::lm_head(model, team, gradient, arena);
}

std::uint64_t lm_head_backward_bytes(const Transformer& model, std::int64_t most_rows, int threads) {
  Arena measure;
  const TransformerConfig& config = model.config();
  measure.take<float>(linear_backward_scratch(config.hidden_size, config.vocab_size, most_rows, threads));
  return measure.used();
}

}  // namespace wattn
