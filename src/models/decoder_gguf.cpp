#include "models/decoder_gguf.h"

#include <algorithm>

#include "core/gguf.h"
#include "core/utf.h"
#include "io/gguf.h"
#include "models/decoder_arch.h"

namespace wattn {
namespace {

// As config.json writes it: sizes without a point.
std::string number_text(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? std::to_string(whole) : json_text(value);
}

bool has_tensor(const GgufHeader& header, std::string_view name) {
  return std::any_of(header.tensors.begin(), header.tensors.end(), [&](const TensorInfo& info) { return info.name == name; });
}

// What else of the metadata changes the arithmetic, as config.json says it.
Result<std::string> rope_text(const GgufMetadata& metadata, const std::string& prefix, const std::string& file) {
  const auto type = metadata.string(prefix + "rope.scaling.type").value_or("none");
  if (type == "none") return std::string();
  const auto factor = metadata.number(prefix + "rope.scaling.factor");
  if (type == "linear" && factor && *factor > 0 && *factor < 1e6) {
    return R"(, "rope_scaling": {"type": "linear", "factor": )" + json_text(*factor) + "}";
  }
  return unsupported_error(file + ": " + prefix + "rope.scaling.type: expected \"none\" or \"linear\" with a factor, found " +
                           shown_text(type));
}

std::string token_ids(const GgufMetadata& metadata) {
  std::string out;
  for (const auto& [field, key] :
       {std::pair("bos_token_id", "tokenizer.ggml.bos_token_id"), std::pair("eos_token_id", "tokenizer.ggml.eos_token_id"),
        std::pair("pad_token_id", "tokenizer.ggml.padding_token_id")}) {
    const auto id = metadata.number(key);
    if (id && *id >= 0 && *id < 1 << 30) out += std::string(out.empty() ? "\"" : ", \"") + field + "\": " + number_text(*id);
  }
  return out;
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> gguf_decoder_documents(std::string_view header, std::string_view file) {
  const auto read = GgufMetadata::read(header);
  if (!read.ok()) return read.error();
  const GgufMetadata& metadata = read.value();
  const auto parsed = parse_gguf_header(header, UINT64_MAX / 2, file);
  if (!parsed.ok()) return parsed.error();
  const std::string name(file);
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [packed, bytes] : metadata.packed_files()) out.emplace_back(packed, bytes);
  if (!out.empty()) return out;
  const auto architecture = metadata.string("general.architecture").value_or("");
  const auto arch = find_gguf_decoder(architecture);
  if (!arch.ok()) return unsupported_error(name + ": " + arch.error().message);
  const std::string prefix = std::string(architecture) + ".";
  std::string config = std::string("{\"model_type\": \"") + arch.value()->model_type + "\", " + arch.value()->gguf_rest;
  for (const auto& [field, suffix, required] : arch.value()->gguf_fields) {
    const std::string key = prefix + suffix;
    const auto value = metadata.number(key);
    if (!value && !required) continue;
    if (!value) return model_format_error(std::string(file).append(": ").append(key).append(": expected a number, found none"));
    if (!(*value > -1e15 && *value < 1e15)) {
      return model_format_error(std::string(file).append(": ").append(key).append(": expected a size, found another number"));
    }
    config += std::string(", \"") + field + "\": " + number_text(*value);
  }
  std::int64_t vocab = 0;
  for (const TensorInfo& info : parsed.value().tensors) {
    if (info.name == "token_embd.weight" && info.shape.size() == 2) vocab = info.shape[0];
  }
  config += ", \"vocab_size\": " + std::to_string(vocab);
  config += std::string(", \"tie_word_embeddings\": ") + (has_tensor(parsed.value(), "output.weight") ? "false" : "true");
  // llama.cpp runs what is gated with GELU, and the rest with ReLU.
  if (architecture == "t5" && has_tensor(parsed.value(), "enc.blk.0.ffn_gate.weight")) {
    config += ", \"feed_forward_proj\": \"gated-gelu\"";
  }
  const auto rope = rope_text(metadata, prefix, name);
  if (!rope.ok()) return rope.error();
  const std::string ids = token_ids(metadata);
  out.emplace_back("config.json", config + rope.value() + (ids.empty() ? "}" : ", " + ids + "}"));
  out.emplace_back("generation_config.json", "{" + ids + "}");
  const auto chat = metadata.string("tokenizer.chat_template");
  if (chat && is_utf8(*chat)) {
    out.emplace_back("tokenizer_config.json", "{\"chat_template\": " + json_text(*chat) + "}");
  }
  return out;
}

}  // namespace wattn
