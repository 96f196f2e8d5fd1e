#include "tasks/stack_outputs.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace wattn {
namespace {

constexpr std::array<std::string_view, 3> kQkv = {"attention.query", "attention.key", "attention.value"};
constexpr std::array<std::string_view, 3> kCrossQkv = {"cross_attention.query", "cross_attention.key", "cross_attention.value"};

// Shape of a tap that can be patched; width 0 for any other name.
struct TapRows {
  std::int64_t width = 0;
  bool of_source = false;
};

// name: of a tap inside a layer. One with experts, or without attention, lacks some.
TapRows layer_tap(const TransformerConfig& config, std::int64_t layer, std::string_view name) {
  if (name == "intermediate") return {config.has_experts(layer) ? 0 : config.intermediate_size};
  if (name == "output") return {config.hidden_size};
  if (name == "attention.output") return {config.layer_size()};
  if (config.convolves(layer) || config.is_recurrent(layer)) return {};
  if (name == "attention.query" || name == "attention.context") return {config.query_width()};
  if (name == "attention.key" || name == "attention.value") return {config.kv_width()};
  if (!config.cross_attention) return {};
  if (name == "cross_attention.output") return {config.hidden_size};
  if (name == "cross_attention.query" || name == "cross_attention.context") return {config.query_width()};
  if (name == "cross_attention.key" || name == "cross_attention.value") return {config.query_width(), true};
  return {};
}

bool has_final_norm(const TransformerConfig& config) { return config.norm_placement == NormPlacement::kPre; }

TapRows tap_rows(const TransformerConfig& config, std::string_view tap) {
  if (tap == "embeddings.output" || (tap == "final_norm.output" && has_final_norm(config))) return {config.hidden_size};
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string prefix = "layer." + std::to_string(layer) + ".";
    if (tap.starts_with(prefix)) return layer_tap(config, layer, tap.substr(prefix.size()));
  }
  return {};
}

Result<void> check_mask(const char* name, const TransformerConfig& config, std::span<const float> mask) {
  const std::int64_t layers = config.num_hidden_layers, heads = config.num_attention_heads;
  if (mask.empty() || static_cast<std::int64_t>(mask.size()) == layers * heads) return {};
  return input_error(std::string(name) + ": expected [" + std::to_string(layers) + ", " + std::to_string(heads) +
                     "] numbers, found " + std::to_string(mask.size()));
}

Error unknown_tap(const TransformerConfig& config, std::string_view prefix, const std::string& tap) {
  return input_error(
      "patch: expected " + std::string(prefix) + "embeddings.output, " + (has_final_norm(config) ? "final_norm.output, " : "") +
      "layer.N.attention.query, .key, .value, .context, .output, " +
      (config.cross_attention ? "layer.N.cross_attention.query, .key, .value, .context, .output, " : "") +
      "layer.N.intermediate or layer.N.output with N below " + std::to_string(config.num_hidden_layers) + ", found '" + tap + "'");
}

}  // namespace

Result<void> check_request(const StackRequest& request, const TransformerConfig& config, std::int64_t tokens,
                           std::int64_t source_tokens, const char* mask_name, const char* cross_mask_name) {
  if (auto e = check_mask(mask_name, config, request.head_mask); !e.ok()) return e;
  if (auto e = check_mask(cross_mask_name, config, request.cross_head_mask); !e.ok()) return e;
  for (const Patch& patch : request.patches) {
    if (!patch.tap.starts_with(request.prefix)) continue;
    const auto [width, of_source] = tap_rows(config, std::string_view(patch.tap).substr(request.prefix.size()));
    if (width == 0) return unknown_tap(config, request.prefix, patch.tap);
    const std::int64_t rows = of_source ? source_tokens : tokens;
    if (static_cast<std::int64_t>(patch.values.size()) == rows * width) continue;
    return input_error("patch: '" + patch.tap + "': expected " + std::to_string(width) + " numbers for each of " +
                       std::to_string(rows) + " tokens, found " + std::to_string(patch.values.size()) + " in all");
  }
  return {};
}

StackTaps::StackTaps(const StackRequest& request, const TransformerConfig& config, std::int64_t whole, StackOutputs& out)
    : request_(request), heads_(config.num_attention_heads), whole_(whole), out_(out) {
  const auto layers = static_cast<std::size_t>(config.num_hidden_layers);
  if (request.hidden_states) out.hidden_states.resize(layers + 1);
  if (request.attentions) out.attentions.resize(layers);
  if (request.attentions && config.cross_attention) out.cross_attentions.resize(layers);
  for (std::size_t i = 0; request.qkv && i < kQkv.size(); ++i) {
    out.qkv[i].resize(layers);
    if (config.cross_attention) out.cross_qkv[i].resize(layers);
  }
}

Taps* StackTaps::taps() {
  const bool shows = request_.hidden_states || request_.attentions || request_.qkv;
  const bool changes = !request_.head_mask.empty() || !request_.cross_head_mask.empty() || !request_.patches.empty();
  return shows || changes ? this : nullptr;
}

void StackTaps::on_tensor(const TapPoint& point, const TensorView& tensor) {
  const auto layer = static_cast<std::size_t>(point.layer);
  const auto append_to = [&](std::vector<float>& out) {
    const std::int64_t count = num_elements({tensor.shape.begin(), tensor.shape.end()}).value_or(0);
    out.insert(out.end(), tensor.data, tensor.data + count);
  };
  if (request_.hidden_states && (point.name == "embeddings.output" || point.name == "output")) {
    append_to(out_.hidden_states[layer + 1]);  // -1: the embeddings
  }
  if (request_.attentions && point.name == "attention.probs") {
    whole_ > 0 ? keep_probs(tensor, whole_, out_.attentions[layer]) : append_to(out_.attentions[layer]);
  }
  if (request_.attentions && point.name == "cross_attention.probs")
    keep_probs(tensor, tensor.shape[2], out_.cross_attentions[layer]);
  for (std::size_t i = 0; request_.qkv && i < kQkv.size(); ++i) {
    if (point.name == kQkv[i]) append_to(out_.qkv[i][layer]);
    if (point.name == kCrossQkv[i]) append_to(out_.cross_qkv[i][layer]);
  }
}

// Copies a piece's [heads, rows, keys so far] into its rows of [heads, whole, keys].
void StackTaps::keep_probs(const TensorView& tensor, std::int64_t keys, std::vector<float>& out) const {
  out.resize(static_cast<std::size_t>(heads_ * whole_ * keys));
  const std::int64_t rows = tensor.shape[1], seen = tensor.shape[2];
  for (std::int64_t head = 0; head < heads_; ++head) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(tensor.data + (head * rows + row) * seen, seen, out.data() + (head * whole_ + first_ + row) * keys);
    }
  }
}

void StackTaps::patch(const TapPoint& point, float* rows, std::int64_t count, std::int64_t width, std::int64_t stride) {
  if (request_.patches.empty()) return;
  const std::string name = std::string(request_.prefix) + to_string(point);
  const auto found =
      std::find_if(request_.patches.begin(), request_.patches.end(), [&](const Patch& one) { return one.tap == name; });
  if (found == request_.patches.end()) return;
  const float* from = found->values.data() + first_ * width;
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(from + i * width, width, rows + i * stride);
}

const float* StackTaps::head_mask(const TapPoint& probs) {
  const auto& mask = probs.name == "attention.probs" ? request_.head_mask : request_.cross_head_mask;
  return mask.empty() ? nullptr : mask.data() + probs.layer * heads_;
}

Result<void> check_logit_lens(std::int64_t count, std::int64_t vocab_size) {
  if (count >= 0 && count <= vocab_size) return {};
  return input_error("logit_lens: expected a whole number from 0 to vocab_size " + std::to_string(vocab_size) + ", found " +
                     std::to_string(count));
}

void add_best_tokens(std::span<const float> logits, std::int64_t count, std::vector<std::int32_t>& order, StackOutputs& out) {
  order.resize(logits.size());
  std::iota(order.begin(), order.end(), 0);
  // Ties, and NaN, which compares false both ways, are ordered by index.
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b] || (!(logits[b] > logits[a]) && a < b); });
  for (std::int64_t i = 0; i < count; ++i) {
    out.lens_ids.push_back(order[static_cast<std::size_t>(i)]);
    out.lens_logits.push_back(logits[order[static_cast<std::size_t>(i)]]);
  }
}

}  // namespace wattn
