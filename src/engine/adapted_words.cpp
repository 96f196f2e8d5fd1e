// An adapter may have a larger vocabulary than its base model; it then contains all embeddings.
#include "engine/model.h"

namespace wattn {
namespace {

bool take_adapted_words(const LoadOptions& options, const Arch& arch, TransformerConfig& config) {
  const std::string words = std::string(arch.names.word_embeddings) + ".weight";
  bool found = false;
  for (std::size_t i = 0; i < options.adapted_names.size(); ++i) {
    if (canonical_weight_name(arch, options.adapted_names[i], false) != words) continue;
    config.vocab_size = options.adapted_rows[i];
    found = true;
  }
  return found;
}

}  // namespace

const AdaptedWords kAdaptedWords{take_adapted_words};

}  // namespace wattn
