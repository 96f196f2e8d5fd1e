#include "tasks/inspect.h"

#include <algorithm>

namespace wattn {
namespace {

// The rows of one model, for one sequence of seq tokens.
class Summary {
 public:
  Summary(const Engine& engine, std::int64_t seq) : config_(engine.encoder().config()), names_(engine.arch().names), seq_(seq) {
    embeddings();
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      owned_ = i == 0 || !config_.one_layer_for_all;
      layer(i);
    }
    owned_ = true;
    if (config_.norms == NormPlacement::kPre) norm(names_.final_norm, config_.hidden_size, config_.biases.norms);
    if (engine.encoder().has_pooler()) linear(names_.pooler, config_.hidden_size, config_.hidden_size, 1, true);
  }
  std::vector<SummaryRow> rows;

 private:
  void embedding(const char* name, std::int64_t count, std::int64_t width) {
    rows.push_back({name, "Embedding", {count, width}, {seq_, width}, count * width, 0});
  }
  void norm(std::string name, std::int64_t size, bool bias) {
    rows.push_back({std::move(name), "LayerNorm", {size}, {seq_, size}, owned_ ? size * (bias ? 2 : 1) : 0, 0});
  }
  void linear(std::string name, std::int64_t in, std::int64_t out, std::int64_t tokens, bool bias) {
    const std::int64_t parameters = owned_ ? out * in + (bias ? out : 0) : 0;
    rows.push_back({std::move(name), "Linear", {out, in}, {tokens, out}, parameters, tokens * out * in});
  }

  void embeddings() {
    const std::int64_t width = config_.embedding_width();
    embedding(names_.word_embeddings, config_.vocab_size, width);
    if (config_.type_vocab_size > 0) embedding(names_.token_type_embeddings, config_.type_vocab_size, width);
    const std::int64_t before = config_.positions == Positions::kAfterPadding ? config_.padding_idx + 1 : 0;
    if (config_.positions != Positions::kNone) {
      embedding(names_.position_embeddings, before + config_.max_position_embeddings, width);
    }
    norm(names_.embeddings_norm, width, config_.biases.norms);
    if (config_.embedding_size > 0) linear(names_.embeddings_projection, width, config_.hidden_size, seq_, true);
    if (config_.distances == Distances::kT5Buckets) {
      rows.push_back(
          {names_.distance_bias, "Embedding", {32, config_.num_attention_heads}, {}, 32 * config_.num_attention_heads, 0});
    }
    if (config_.distances != Distances::kDisentangled) return;
    embedding(names_.relative_embeddings, config_.relative_rows(), config_.hidden_size);
    if (config_.relative.norm) norm(names_.relative_norm, config_.hidden_size, true);
  }

  void attention(std::int64_t i) {
    const std::int64_t hidden = config_.hidden_size;
    const std::int64_t keys = config_.is_local(i) ? std::min(seq_, 2 * config_.local_window + 1) : seq_;
    std::int64_t mult_adds = 2 * seq_ * keys * hidden;
    if (config_.distances == Distances::kDisentangled) {
      const std::int64_t buckets = std::min(config_.relative_rows(), 2 * seq_);
      mult_adds += 2 * buckets * hidden * (seq_ + hidden);
    }
    rows.push_back({"softmax(q k^T / sqrt(head_dim)) v", "Attention", {}, {seq_, hidden}, 0, mult_adds});
  }

  void layer(std::int64_t i) {
    const std::int64_t hidden = config_.hidden_size;
    const std::int64_t ffn = config_.intermediate_size;
    const auto& biases = config_.biases;
    const auto named = [&](const char* pattern) { return layer_name(pattern, static_cast<std::size_t>(i)); };
    const bool before = config_.norms == NormPlacement::kPre;
    const bool attention_norm = i > 0 || config_.norms_first_attention;
    if (before && attention_norm) norm(named(names_.attention_norm), hidden, biases.norms);
    linear(named(names_.query), hidden, names_.key ? hidden : 3 * hidden, seq_, biases.qkv);
    if (names_.key) linear(named(names_.key), hidden, hidden, seq_, biases.qkv);
    if (names_.key) linear(named(names_.value), hidden, hidden, seq_, biases.qkv);
    attention(i);
    linear(named(names_.attention_output), hidden, hidden, seq_, biases.attention_output);
    norm(named(before ? names_.output_norm : names_.attention_norm), hidden, biases.norms);
    linear(named(names_.intermediate), hidden, config_.gated() && !names_.multiplied ? 2 * ffn : ffn, seq_, biases.intermediate);
    if (names_.multiplied) linear(named(names_.multiplied), hidden, ffn, seq_, biases.intermediate);
    linear(named(names_.output), ffn, hidden, seq_, biases.output);
    if (!before) norm(named(names_.output_norm), hidden, biases.norms);
  }

  const EncoderConfig& config_;
  const EncoderNames& names_;
  std::int64_t seq_;
  bool owned_ = true;  // false: a layer's weights that were counted already
};

}  // namespace

std::vector<SummaryRow> inspect(const Engine& engine, std::int64_t seq) { return std::move(Summary(engine, seq).rows); }

}  // namespace wattn
