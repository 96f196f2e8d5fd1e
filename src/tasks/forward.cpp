#include "tasks/forward.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace wattn {
namespace {

constexpr std::string_view kQkv[] = {"attention.query", "attention.key", "attention.value"};

// The width of a tap that can be patched; 0 for any other name.
std::int64_t patch_width(const EncoderConfig& config, std::string_view tap) {
  if (tap == "embeddings.output" || (tap == "final_norm.output" && config.norms == NormPlacement::kPre)) return config.hidden_size;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string prefix = "layer." + std::to_string(layer) + ".";
    if (!tap.starts_with(prefix)) continue;
    const std::string_view name = tap.substr(prefix.size());
    if (name == "intermediate") return config.intermediate_size;
    if (name == "output" || name == "attention.output" || name == "attention.context") return config.hidden_size;
    if (std::find(std::begin(kQkv), std::end(kQkv), name) != std::end(kQkv)) return config.hidden_size;
  }
  return 0;
}

Result<void> check_options(const EncoderConfig& config, std::int64_t tokens, const ForwardOptions& options) {
  const std::int64_t heads = config.num_hidden_layers * config.num_attention_heads;
  if (!options.head_mask.empty() && static_cast<std::int64_t>(options.head_mask.size()) != heads) {
    return input_error("head_mask: expected [" + std::to_string(config.num_hidden_layers) + ", " +
                       std::to_string(config.num_attention_heads) + "] numbers, found " + std::to_string(options.head_mask.size()));
  }
  for (const Patch& patch : options.patches) {
    const std::int64_t width = patch_width(config, patch.tap);
    if (width == 0) {
      return input_error(
          "patch: expected embeddings.output, layer.N.attention.query, .key, .value, .context, .output, "
          "layer.N.intermediate or layer.N.output with N below " +
          std::to_string(config.num_hidden_layers) + ", found '" + patch.tap + "'");
    }
    if (static_cast<std::int64_t>(patch.values.size()) != tokens * width) {
      return input_error("patch: '" + patch.tap + "': expected " + std::to_string(width) + " numbers for each of " +
                         std::to_string(tokens) + " tokens, found " + std::to_string(patch.values.size()) + " in all");
    }
  }
  return {};
}

class Collector : public Taps {
 public:
  Collector(const ForwardOptions& options, const EncoderConfig& config, ForwardResult& result)
      : options_(options), config_(config), result_(result) {
    const auto layers = static_cast<std::size_t>(config.num_hidden_layers);
    if (options.output_attentions) result.attentions.resize(layers);
    for (auto& one : result.qkv) one.resize(options.output_qkv ? layers : 0);
  }

  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    const auto append_to = [&](std::vector<float>& out) {
      const std::int64_t count = num_elements({tensor.shape.begin(), tensor.shape.end()}).value_or(0);
      out.insert(out.end(), tensor.data, tensor.data + count);
    };
    if (options_.output_hidden_states && (point.name == "embeddings.output" || point.name == "output")) {
      append_to(result_.hidden_states.emplace_back());
    }
    if (options_.output_attentions && point.name == "attention.probs") append_to(result_.attentions[point.layer]);
    for (int i = 0; options_.output_qkv && i < 3; ++i) {
      if (point.name == kQkv[i]) append_to(result_.qkv[i][point.layer]);
    }
  }

  void patch(const TapPoint& point, float* rows, std::int64_t width, std::int64_t stride) override {
    if (options_.patches.empty()) return;
    const std::string name = to_string(point);
    for (const Patch& patch : options_.patches) {
      if (patch.tap != name) continue;
      for (auto from = patch.values.begin(); from != patch.values.end(); from += width, rows += stride)
        std::copy_n(from, width, rows);
      return;
    }
  }

  const float* head_mask(int layer) override {
    return options_.head_mask.empty() ? nullptr : options_.head_mask.data() + layer * config_.num_attention_heads;
  }

 private:
  const ForwardOptions& options_;
  const EncoderConfig& config_;
  ForwardResult& result_;
};

}  // namespace

Result<ForwardResult> forward(Engine& engine, const Batch& batch, const ForwardOptions& options) {
  ForwardResult result;
  const Encoder& encoder = engine.encoder();
  const EncoderConfig& config = encoder.config();
  if (auto checked = check_options(config, batch.tokens(), options); !checked.ok()) return checked.error();
  const bool looks = options.output_hidden_states || options.output_attentions || options.output_qkv;
  std::optional<Collector> collector;
  if (looks || !options.head_mask.empty() || !options.patches.empty()) collector.emplace(options, config, result);
  const auto hidden = engine.run(batch, collector ? &*collector : nullptr);
  if (!hidden.ok()) return hidden.error();
  result.last_hidden_state.assign(hidden.value(), hidden.value() + batch.tokens() * config.hidden_size);
  // As transformers has it: the last of them has passed the final norm.
  if (options.output_hidden_states) result.hidden_states.back() = result.last_hidden_state;
  if (encoder.has_pooler()) {
    result.pooler_output.resize(static_cast<std::size_t>(batch.batch() * config.hidden_size));
    encoder.pooler(batch, hidden.value(), result.pooler_output.data());
  }
  if (!engine.head()) return result;
  std::vector<std::int32_t> tokens(batch.seq_start.begin(), batch.seq_start.end() - 1);
  if (engine.head()->kind() != HeadKind::kSequence) {
    tokens.resize(static_cast<std::size_t>(batch.tokens()));
    std::iota(tokens.begin(), tokens.end(), 0);
  }
  if (auto ran = engine.run_head(hidden.value(), batch, tokens, result.logits); !ran.ok()) return ran.error();
  return result;
}

}  // namespace wattn
