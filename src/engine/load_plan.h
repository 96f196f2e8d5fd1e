// What is loaded from a repository, decided from its documents before a weight is read.
#pragma once

#include <string>
#include <vector>

#include "engine/documents.h"
#include "engine/model.h"

namespace wattn {

struct LoadPlan {
  const Arch* arch = nullptr;
  ModelConfig stacks{};  // without a decoder or lm head that the task does not need
  HeadKind head = HeadKind::kNone;
  HeadLayers layers{};  // of a head other than an lm head
  SpecialIds special_ids{};
  std::vector<std::string> ignored{};  // tensors that may be present but are unused
};

inline bool is_lm(HeadKind head) { return head == HeadKind::kCausalLm || head == HeadKind::kSeq2SeqLm; }
inline bool has_layers(HeadKind head) {
  return head != HeadKind::kNone && head != HeadKind::kSpans && head != HeadKind::kLabels && !is_lm(head);
}

// config.json, with the defaults that transformers has; a GGUF file is read as llama.cpp reads it.
Result<Json> read_config(const Documents& documents);

// modules.json, the configurations of its modules, and what sentence-transformers has beside them.
Result<SentenceConfig> read_sentence_config(const Documents& documents);

Result<LoadPlan> make_load_plan(JsonRef config, const LoadOptions& options);

}  // namespace wattn
