#include "tasks/insides.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace wattn {
namespace {

constexpr std::array<std::string_view, 3> kQkv = {"attention.query", "attention.key", "attention.value"};
constexpr std::array<std::string_view, 3> kCrossQkv = {"cross_attention.query", "cross_attention.key", "cross_attention.value"};

// [rows, width] of a tap that can be patched; width 0 for any other name.
struct TapRows {
  std::int64_t width = 0;
  bool of_source = false;
};

// name: of a tap inside a layer.
TapRows layer_tap(const StackShape& shape, std::string_view name) {
  if (name == "intermediate") return {shape.ffn};
  if (name == "output" || name == "attention.output") return {shape.hidden};
  if (name == "attention.query" || name == "attention.context") return {shape.queries};
  if (name == "attention.key" || name == "attention.value") return {shape.keys};
  if (!shape.cross) return {};
  if (name == "cross_attention.output") return {shape.hidden};
  if (name == "cross_attention.query" || name == "cross_attention.context") return {shape.queries};
  if (name == "cross_attention.key" || name == "cross_attention.value") return {shape.queries, true};
  return {};
}

TapRows tap_rows(const StackShape& shape, std::string_view tap) {
  if (tap == "embeddings.output" || (tap == "final_norm.output" && shape.final_norm)) return {shape.hidden};
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string prefix = "layer." + std::to_string(layer) + ".";
    if (tap.starts_with(prefix)) return layer_tap(shape, tap.substr(prefix.size()));
  }
  return {};
}

Result<void> check_mask(const char* name, const StackShape& shape, std::span<const float> mask) {
  if (mask.empty() || static_cast<std::int64_t>(mask.size()) == shape.layers * shape.heads) return {};
  return input_error(std::string(name) + ": expected [" + std::to_string(shape.layers) + ", " + std::to_string(shape.heads) +
                     "] numbers, found " + std::to_string(mask.size()));
}

Error unknown_tap(const StackShape& shape, std::string_view prefix, const std::string& tap) {
  return input_error(
      "patch: expected " + std::string(prefix) + "embeddings.output, " + (shape.final_norm ? "final_norm.output, " : "") +
      "layer.N.attention.query, .key, .value, .context, .output, " +
      (shape.cross ? "layer.N.cross_attention.query, .key, .value, .context, .output, " : "") +
      "layer.N.intermediate or layer.N.output with N below " + std::to_string(shape.layers) + ", found '" + tap + "'");
}

}  // namespace

StackShape stack_shape(const EncoderConfig& config) {
  return {.layers = config.num_hidden_layers,
          .heads = config.num_attention_heads,
          .hidden = config.hidden_size,
          .queries = config.inner_width(),
          .keys = config.inner_width(),
          .ffn = config.intermediate_size,
          .final_norm = config.norms == NormPlacement::kPre};
}

StackShape stack_shape(const DecoderConfig& config) {
  return {.layers = config.num_hidden_layers,
          .heads = config.num_attention_heads,
          .hidden = config.hidden_size,
          .queries = config.query_width(),
          .keys = config.key_width(),
          .ffn = config.intermediate_size,
          .final_norm = !config.norms_after,
          .cross = config.cross_attention};
}

Result<void> check_asked(const Asked& asked, const StackShape& shape, std::int64_t tokens, std::int64_t source_tokens,
                         const char* mask_name, const char* cross_mask_name) {
  if (auto e = check_mask(mask_name, shape, asked.head_mask); !e.ok()) return e;
  if (auto e = check_mask(cross_mask_name, shape, asked.cross_head_mask); !e.ok()) return e;
  for (const Patch& patch : asked.patches) {
    if (!patch.tap.starts_with(asked.prefix)) continue;
    const auto [width, of_source] = tap_rows(shape, std::string_view(patch.tap).substr(asked.prefix.size()));
    if (width == 0) return unknown_tap(shape, asked.prefix, patch.tap);
    const std::int64_t rows = of_source ? source_tokens : tokens;
    if (static_cast<std::int64_t>(patch.values.size()) == rows * width) continue;
    return input_error("patch: '" + patch.tap + "': expected " + std::to_string(width) + " numbers for each of " +
                       std::to_string(rows) + " tokens, found " + std::to_string(patch.values.size()) + " in all");
  }
  return {};
}

Collector::Collector(const Asked& asked, const StackShape& shape, std::int64_t whole, Insides& out)
    : asked_(asked), shape_(shape), whole_(whole), out_(out) {
  const auto layers = static_cast<std::size_t>(shape.layers);
  if (asked.hidden_states) out.hidden_states.resize(layers + 1);
  if (asked.attentions) out.attentions.resize(layers);
  if (asked.attentions && shape.cross) out.cross_attentions.resize(layers);
  for (std::size_t i = 0; asked.qkv && i < kQkv.size(); ++i) {
    out.qkv[i].resize(layers);
    if (shape.cross) out.cross_qkv[i].resize(layers);
  }
}

Taps* Collector::taps() {
  const bool looks = asked_.hidden_states || asked_.attentions || asked_.qkv;
  const bool changes = !asked_.head_mask.empty() || !asked_.cross_head_mask.empty() || !asked_.patches.empty();
  return looks || changes ? this : nullptr;
}

void Collector::on_tensor(const TapPoint& point, const TensorView& tensor) {
  const auto layer = static_cast<std::size_t>(point.layer);
  const auto append_to = [&](std::vector<float>& out) {
    const std::int64_t count = num_elements({tensor.shape.begin(), tensor.shape.end()}).value_or(0);
    out.insert(out.end(), tensor.data, tensor.data + count);
  };
  if (asked_.hidden_states && (point.name == "embeddings.output" || point.name == "output")) {
    append_to(out_.hidden_states[layer + 1]);  // -1: the embeddings
  }
  if (asked_.attentions && point.name == "attention.probs") {
    whole_ > 0 ? keep_probs(tensor, whole_, out_.attentions[layer]) : append_to(out_.attentions[layer]);
  }
  if (asked_.attentions && point.name == "cross_attention.probs") keep_probs(tensor, tensor.shape[2], out_.cross_attentions[layer]);
  for (std::size_t i = 0; asked_.qkv && i < kQkv.size(); ++i) {
    if (point.name == kQkv[i]) append_to(out_.qkv[i][layer]);
    if (point.name == kCrossQkv[i]) append_to(out_.cross_qkv[i][layer]);
  }
}

// [heads, rows, keys there are so far] of a piece to its rows of [heads, whole, keys].
void Collector::keep_probs(const TensorView& tensor, std::int64_t keys, std::vector<float>& out) const {
  out.resize(static_cast<std::size_t>(shape_.heads * whole_ * keys));
  const std::int64_t rows = tensor.shape[1], seen = tensor.shape[2];
  for (std::int64_t head = 0; head < shape_.heads; ++head) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(tensor.data + (head * rows + row) * seen, seen, out.data() + (head * whole_ + first_ + row) * keys);
    }
  }
}

void Collector::patch(const TapPoint& point, float* rows, std::int64_t count, std::int64_t width, std::int64_t stride) {
  if (asked_.patches.empty()) return;
  const std::string name = std::string(asked_.prefix) + to_string(point);
  const auto found = std::find_if(asked_.patches.begin(), asked_.patches.end(), [&](const Patch& one) { return one.tap == name; });
  if (found == asked_.patches.end()) return;
  const float* from = found->values.data() + first_ * width;
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(from + i * width, width, rows + i * stride);
}

const float* Collector::head_mask(const TapPoint& probs) {
  const auto& mask = probs.name == "attention.probs" ? asked_.head_mask : asked_.cross_head_mask;
  return mask.empty() ? nullptr : mask.data() + probs.layer * shape_.heads;
}

Result<void> check_logit_lens(std::int64_t count, std::int64_t vocab_size) {
  if (count >= 0 && count <= vocab_size) return {};
  return input_error("logit_lens: expected a whole number from 0 to vocab_size " + std::to_string(vocab_size) + ", found " +
                     std::to_string(count));
}

void add_likeliest(std::span<const float> logits, std::int64_t count, std::vector<std::int32_t>& order, Insides& out) {
  order.resize(logits.size());
  std::iota(order.begin(), order.end(), 0);
  // Comparisons with NaN are false both ways; the sum with the index keeps the order strict.
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b] || (!(logits[b] > logits[a]) && a < b); });
  for (std::int64_t i = 0; i < count; ++i) {
    out.lens_ids.push_back(order[static_cast<std::size_t>(i)]);
    out.lens_logits.push_back(logits[order[static_cast<std::size_t>(i)]]);
  }
}

}  // namespace wattn
