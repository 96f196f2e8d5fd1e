// Loads and runs a checkpoint's transformer without the engine.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/arch.h"
#include "models/transformer.h"
#include "native/support/files.h"
#include "pass/run.h"

namespace wattn::test {

// folder: with config.json and model.safetensors, and a final slash. Loads the encoder of an encoder-decoder. weights: of another
// file than that in the folder.
inline Result<Transformer> load_transformer(const std::string& folder, const Kernels& kernels, WeightType type = WeightType::kF32,
                                            const std::string& weights_file = "", bool lm_head = false,
                                            GlobalTokens global_tokens = GlobalTokens::kNone) {
  const auto config = read_config_json(read_file(folder + "config.json"));
  if (!config.ok()) return config.error();
  const auto arch = find_arch(config.value().root());
  if (!arch.ok()) return arch.error();
  auto parsed = parse_model_config(*arch.value(), config.value().root());
  if (!parsed.ok()) return parsed.error();
  TransformerConfig& stack = parsed.value().transformer;
  stack.lm_head = stack.lm_head && lm_head;
  stack.global_tokens = global_tokens;
  auto transformer = Transformer::with_config(stack, stack.max_position_embeddings, kernels, type);
  if (!transformer.ok()) return transformer;
  WeightLoader loader(transformer.value().weight_targets(arch.value()->names, false),
                      ignored_tensors(*arch.value(), parsed.value()),
                      [&](std::string_view tensor) { return canonical_weight_name(*arch.value(), tensor, false); });
  const std::string weights = read_file(weights_file.empty() ? folder + "model.safetensors" : weights_file);
  if (auto e = loader.begin_file(folder, weights.size()); !e.ok()) return e.error();
  if (auto e = loader.push(weights); !e.ok()) return e.error();
  if (auto e = loader.finish(); !e.ok()) return e.error();
  const std::string pooler = stack.pooler ? arch.value()->names.pooler + std::string(".weight") : "";
  transformer.value().set_has_pooler(std::any_of(loader.targets().begin(), loader.targets().end(), [&](const WeightTarget& target) {
    return target.filled && target.name == pooler;
  }));
  return transformer;
}

inline std::vector<float> run(const Transformer& transformer, ThreadTeam& team, const Batch& batch, Taps* taps = nullptr) {
  const PassSizes limits{.tokens = batch.tokens(), .keys = batch.tokens(), .own_keys = batch.tokens(), .threads = team.threads()};
  Arena arena = Arena::with_bytes(forward_bytes(transformer.plan(), limits), "test").value();
  std::vector<float> hidden(static_cast<std::size_t>(batch.tokens() * transformer.config().hidden_size));
  forward(transformer.plan(), transformer.compute(team), batch, {}, arena, hidden.data(), taps);
  return hidden;
}

}  // namespace wattn::test
