// Every stack of the tiny models among the goldens, by its configuration alone.
#pragma once

#include <string>
#include <vector>

#include "models/arch.h"
#include "models/transformer.h"
#include "native/support/goldens.h"

namespace wattn::test {

struct NamedStack {
  std::string name;  // "architectures/roberta", with "/decoder" for that of an encoder-decoder
  TransformerConfig config;
};

inline std::vector<NamedStack> golden_stacks() {
  std::vector<std::string> folders{"bert-tiny/model", "embedders/embeddinggemma/model", "hub_layouts/nomic-moe"};
  for (const char* group : {"architectures/", "decoders/", "seq2seq/", "hub_layouts/", "variants/encoders/", "variants/decoders/",
                            "variants/seq2seq/", "eurobert/"}) {
    for (const std::string& name : case_names(group)) folders.push_back(group + name);
  }
  std::vector<NamedStack> out;
  for (const std::string& folder : folders) {
    const auto text = read_config_json(read_file(golden(folder + "/config.json")));
    const auto arch = text.ok() ? find_arch(text.value().root()) : Result<const Arch*>(text.error());
    if (!arch.ok()) {
      ADD_FAILURE() << folder << ": " << arch.error().message;
      continue;
    }
    const auto config = parse_model_config(*arch.value(), text.value().root());
    if (!config.ok()) {
      ADD_FAILURE() << folder << ": " << config.error().message;
      continue;
    }
    out.push_back({folder, config.value().transformer});
    if (config.value().decoder) out.push_back({folder + "/decoder", *config.value().decoder});
  }
  return out;
}

inline Result<Transformer> empty_transformer(const TransformerConfig& config) {
  return Transformer::with_config(config, config.max_position_embeddings, exact_kernels(), WeightType::kF32);
}

}  // namespace wattn::test
