#include "tasks/causal_forward.h"

#include <algorithm>
#include <numeric>

namespace wattn {
namespace {

// Takes what is asked for out of the passes over the pieces of one sequence.
class Collector : public Taps {
 public:
  Collector(const CausalForwardOptions& options, const DecoderConfig& config, std::int64_t tokens, CausalForwardResult& result)
      : options_(options), config_(config), tokens_(tokens), result_(result) {
    const auto layers = static_cast<std::size_t>(config.num_hidden_layers);
    if (keeps_states()) result.hidden_states.resize(layers + 1);
    if (options.output_attentions) {
      result.attentions.assign(layers, std::vector<float>(static_cast<std::size_t>(config.num_attention_heads * tokens * tokens)));
    }
  }

  bool is_needed() const { return keeps_states() || options_.output_attentions || !options_.head_mask.empty(); }
  // Of the piece that comes next.
  void begin_at(std::int64_t token) { first_ = token; }

  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    if (keeps_states() && (point.name == "embeddings.output" || point.name == "output")) {
      auto& out = result_.hidden_states[static_cast<std::size_t>(point.layer) + 1];
      out.insert(out.end(), tensor.data, tensor.data + tensor.shape[0] * tensor.shape[1]);
    }
    if (!options_.output_attentions) return;
    const auto layer = static_cast<std::size_t>(point.layer);
    if (point.name == "attention.probs") put(tensor, tokens_, result_.attentions[layer]);
    if (point.name == "cross_attention.probs") {
      const std::int64_t source = tensor.shape[2];
      result_.cross_attentions.resize(static_cast<std::size_t>(config_.num_hidden_layers));
      result_.cross_attentions[layer].resize(static_cast<std::size_t>(config_.num_attention_heads * tokens_ * source));
      put(tensor, source, result_.cross_attentions[layer]);
    }
  }
  const float* head_mask(int layer) override {
    return options_.head_mask.empty() ? nullptr : options_.head_mask.data() + layer * config_.num_attention_heads;
  }

 private:
  // [heads, rows, keys] of the piece to its rows of [heads, tokens, width].
  void put(const TensorView& tensor, std::int64_t width, std::vector<float>& out) const {
    const std::int64_t rows = tensor.shape[1], keys = tensor.shape[2];
    for (std::int64_t head = 0; head < config_.num_attention_heads; ++head) {
      for (std::int64_t row = 0; row < rows; ++row) {
        std::copy_n(tensor.data + (head * rows + row) * keys, keys, out.data() + (head * tokens_ + first_ + row) * width);
      }
    }
  }
  bool keeps_states() const { return options_.output_hidden_states || options_.logit_lens > 0; }

  const CausalForwardOptions& options_;
  const DecoderConfig& config_;
  std::int64_t tokens_;
  std::int64_t first_ = 0;
  CausalForwardResult& result_;
};

class SourceCollector : public Taps {
 public:
  SourceCollector(const CausalForwardOptions& options, std::int64_t layers, SourceResult& result)
      : options_(options), result_(result) {
    if (options.output_attentions) result.attentions.resize(static_cast<std::size_t>(layers));
  }
  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    const std::int64_t count = num_elements({tensor.shape.begin(), tensor.shape.end()}).value_or(0);
    if (options_.output_hidden_states && (point.name == "embeddings.output" || point.name == "output")) {
      result_.hidden_states.emplace_back(tensor.data, tensor.data + count);
    }
    if (options_.output_attentions && point.name == "attention.probs") {
      result_.attentions[static_cast<std::size_t>(point.layer)].assign(tensor.data, tensor.data + count);
    }
  }

 private:
  const CausalForwardOptions& options_;
  SourceResult& result_;
};

Result<void> read_source(Generator& generator, const CausalForwardOptions& options, std::span<const std::int32_t> source,
                         SourceResult& out) {
  const EncoderConfig& config = generator.encoder()->config();
  SourceCollector collector(options, config.num_hidden_layers, out);
  const auto states =
      generator.read_source(0, source, options.output_hidden_states || options.output_attentions ? &collector : nullptr);
  if (!states.ok()) return states.error();
  out.last_hidden_state.assign(states.value(), states.value() + static_cast<std::int64_t>(source.size()) * config.hidden_size);
  if (options.output_hidden_states) out.hidden_states.back() = out.last_hidden_state;
  return {};
}

void look_through_lens(Generator& generator, std::int64_t count, CausalForwardResult& result) {
  const DecoderConfig& config = generator.decoder().config();
  std::vector<std::int32_t> order(static_cast<std::size_t>(config.vocab_size));
  for (const auto& states : result.hidden_states) {
    for (auto row = states.begin(); row != states.end(); row += config.hidden_size) {
      const float* logits = generator.look_through_head(&*row);
      std::iota(order.begin(), order.end(), 0);
      // Comparisons with NaN are false both ways; the sum with the index keeps the order strict.
      std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](std::int32_t a, std::int32_t b) {
        return logits[a] > logits[b] || (!(logits[b] > logits[a]) && a < b);
      });
      for (std::int64_t i = 0; i < count; ++i) {
        result.lens_ids.push_back(order[static_cast<std::size_t>(i)]);
        result.lens_logits.push_back(logits[order[static_cast<std::size_t>(i)]]);
      }
    }
  }
}

Result<void> check_options(const DecoderConfig& config, const CausalForwardOptions& options) {
  const std::int64_t heads = config.num_hidden_layers * config.num_attention_heads;
  if (!options.head_mask.empty() && static_cast<std::int64_t>(options.head_mask.size()) != heads) {
    return input_error("head_mask: expected [" + std::to_string(config.num_hidden_layers) + ", " +
                       std::to_string(config.num_attention_heads) + "] numbers, found " + std::to_string(options.head_mask.size()));
  }
  if (options.logit_lens >= 0 && options.logit_lens <= config.vocab_size) return {};
  return input_error("logit_lens: expected a whole number from 0 to vocab_size " + std::to_string(config.vocab_size) + ", found " +
                     std::to_string(options.logit_lens));
}

}  // namespace

Result<CausalForwardResult> causal_forward(Generator& generator, std::span<const std::int32_t> ids,
                                           const CausalForwardOptions& options, std::span<const std::int32_t> source) {
  const DecoderConfig& config = generator.decoder().config();
  if (auto e = check_options(config, options); !e.ok()) return e.error();
  const auto tokens = static_cast<std::int64_t>(ids.size());
  if (tokens > generator.context_length()) {
    return input_error("input_ids: expected at most context_length = " + std::to_string(generator.context_length()) +
                       " tokens, found " + std::to_string(tokens));
  }
  CausalForwardResult result;
  if (tokens == 0) return result;
  Room room{.places = 1, .length = tokens};
  if (generator.encoder()) room.sources = 1;
  room.source_length = static_cast<std::int64_t>(source.size());
  if (generator.encoder() && room.source_length > generator.encoder()->config().max_position_embeddings) {
    return input_error("input_ids: expected at most " + std::to_string(generator.encoder()->config().max_position_embeddings) +
                       " tokens (the encoder's positions), found " + std::to_string(room.source_length));
  }
  if (auto e = generator.make_room(room); !e.ok()) return e.error();
  if (generator.encoder()) {
    if (auto e = read_source(generator, options, source, result.source); !e.ok()) return e.error();
  }
  Collector collector(options, config, tokens, result);
  DecoderBatch batch;
  for (std::int64_t first = 0; first < tokens; first += generator.token_budget()) {
    const std::int64_t count = std::min(generator.token_budget(), tokens - first);
    batch.clear();
    batch.add(0, static_cast<std::int32_t>(first), ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    if (generator.encoder()) batch.sources.assign(1, 0);
    collector.begin_at(first);
    const auto hidden = generator.run(batch, collector.is_needed() ? &collector : nullptr);
    if (!hidden.ok()) return hidden.error();
    result.last_hidden_state.insert(result.last_hidden_state.end(), hidden.value(), hidden.value() + count * config.hidden_size);
    for (std::int64_t row = 0; options.output_logits && row < count; ++row) {
      const float* logits = generator.run_head(hidden.value(), {&row, 1});
      result.logits.insert(result.logits.end(), logits, logits + config.vocab_size);
    }
  }
  if (options.logit_lens > 0) look_through_lens(generator, options.logit_lens, result);
  if (!options.output_hidden_states) result.hidden_states.clear();
  if (options.output_hidden_states) result.hidden_states.back() = result.last_hidden_state;
  return result;
}

}  // namespace wattn
