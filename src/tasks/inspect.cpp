#include "tasks/inspect.h"

#include <algorithm>
#include <initializer_list>

#include "ops/macs.h"

namespace wattn {
namespace {

// MACs of a layer's self-attention.
std::int64_t attention_work(const Transformer& transformer, std::int64_t layer, std::int64_t seq) {
  const TransformerConfig& config = transformer.config();
  const std::int64_t window = config.is_local(layer) ? config.local_window : -1;
  const ScoreTerms terms{.causal = config.causal, .window_before = window, .window_after = window};
  std::int64_t work = attention_macs(config.attention_shape(), scored_pairs(terms, seq, seq));
  if (config.relative_positions == RelativePositions::kDisentangled) {
    const std::int64_t buckets = std::min(config.relative_rows(), 2 * seq);
    work += 2 * buckets * config.query_width() * (seq + config.hidden_size);
  }
  return work;
}

// The rows of one stack, from its weight targets, which are in the order of computation except for the head's.
class StackRows {
 public:
  StackRows(const Transformer& transformer, const TransformerNames& names, std::int64_t seq, std::vector<SummaryRow>& rows)
      : transformer_(transformer), config_(transformer.config()), names_(names), seq_(seq), rows_(rows) {
    const std::string pooler = names.pooler && !transformer.has_pooler() ? names.pooler : "";
    for (const WeightTarget& target : transformer.weight_targets(names, false)) {
      if (!target.twin.empty()) continue;
      const std::size_t dot = target.name.rfind('.');
      const std::string name = target.name.substr(0, dot);
      if (!pooler.empty() && name == pooler) continue;
      const std::int64_t size = target.below > 0 ? 0 : num_elements(target.shape).value_or(0);  // indices are no parameters
      if (config_.lm_head && (is(name, {names.lm_head}) || is(target.name, {names.lm_head_bias}))) {
        head_parameters_ += size;
      } else if (target.name.substr(dot) == ".weight") {
        add_weight(name, target.shape, size);
      } else {
        rows_.back().parameters += size;
      }
    }
    end_layers();
    if (!config_.lm_head) return;
    const Shape kernel{config_.vocab_size, config_.hidden_size};
    rows_.push_back({names.lm_head, "Linear", kernel, {seq, kernel[0]}, head_parameters_, seq * kernel[0] * kernel[1]});
  }

 private:
  // Whether name is one of these weights, in the current layer.
  bool is(const std::string& name, std::initializer_list<const char*> patterns) const {
    const auto group = static_cast<std::size_t>(config_.group_layers);
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const char* one) { return one && name == layer_name(one, static_cast<std::size_t>(layer_), group); });
  }

  void add_attention(std::int64_t macs) {
    rows_.push_back({"softmax(q k^T / sqrt(head_dim)) v", "Attention", {}, {seq_, config_.query_width()}, 0, macs});
  }

  void add_weight(const std::string& name, Shape shape, std::int64_t size) {
    const bool is_table =
        is(name, {names_.word_embeddings, names_.position_embeddings, names_.token_type_embeddings, names_.relative_attention_bias,
                  names_.relative_embeddings, names_.token_rows, names_.token_weights});
    const bool in_layer = !is_table && !is(name, {names_.embeddings_norm, names_.embeddings_projection, names_.relative_norm,
                                                  names_.final_norm, names_.pooler});
    if (in_layer && layers_begin_ < 0) layers_begin_ = static_cast<std::int64_t>(rows_.size());
    if (!in_layer && layers_begin_ >= 0) end_layers();
    if (is(name, {names_.attention_output})) add_attention(attention_work(transformer_, layer_, seq_));
    if (is(name, {names_.cross_output})) add_attention(attention_macs(config_.attention_shape(), scored_pairs({}, seq_, seq_)));
    if (shape.size() == 1 && !is_table) {
      constexpr const char* kTypes[] = {"LayerNorm", "RMSNorm", "NoNorm"};  // in the order of NormKind
      const char* type = kTypes[static_cast<std::size_t>(config_.norm)];
      rows_.push_back({name, type, shape, {seq_, size}, size, 0});
    } else if (is_table) {
      const bool by_distance = is(name, {names_.relative_attention_bias});
      rows_.push_back({name, "Embedding", shape, by_distance ? Shape() : Shape{seq_, shape.size() > 1 ? shape[1] : 1}, size, 0});
    } else {
      const std::int64_t tokens = is(name, {names_.pooler}) ? 1 : seq_;
      if (in_layer && names_.transposed) std::swap(shape[0], shape[1]);
      rows_.push_back({name, shape.size() == 3 ? "Conv1d" : "Linear", shape, {tokens, shape[0]}, size, tokens * size});
    }
    if (is(name, {config_.norm_placement == NormPlacement::kPre ? names_.down : names_.ffn_norm})) {
      ++layer_;
      layer_ends_.push_back(rows_.size());
    }
  }

  // Where layers share weights: one after the other as they run, with parameters at the first use.
  void end_layers() {
    if (!config_.shares_layers() || layer_ends_.empty()) return;
    const auto first = static_cast<std::size_t>(layers_begin_);
    std::vector<SummaryRow> own = std::move(rows_);
    rows_.clear();
    const auto add = [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; ++at) {
        rows_.push_back(own[at]);
        own[at].parameters = 0;
      }
    };
    add(0, first);
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      const auto weights = static_cast<std::size_t>(config_.weights_of(i));
      add(weights > 0 ? layer_ends_[weights - 1] : first, layer_ends_[weights]);
    }
    layer_ends_.clear();
  }

  const Transformer& transformer_;
  const TransformerConfig& config_;
  const TransformerNames& names_;
  const std::int64_t seq_;
  std::vector<SummaryRow>& rows_;
  std::int64_t layer_ = 0;          // the current one
  std::int64_t layers_begin_ = -1;  // first row of layer 0; -1: not reached
  std::vector<std::size_t> layer_ends_;
  std::int64_t head_parameters_ = 0;
};

}  // namespace

std::vector<SummaryRow> inspect(const Model& model, std::int64_t seq) {
  const Arch& arch = model.arch();
  std::vector<SummaryRow> rows;
  const StackRows encoder(model.transformer(), arch.names, seq, rows);
  if (!model.decoder()) return rows;
  const std::size_t begin = rows.size();
  const StackRows decoder(*model.decoder(), arch.decoder_names, seq, rows);
  if (std::string_view(arch.names.word_embeddings) == arch.decoder_names.word_embeddings)
    rows[begin].parameters = 0;  // counted with the encoder
  return rows;
}

}  // namespace wattn
