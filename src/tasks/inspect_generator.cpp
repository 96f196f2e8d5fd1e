#include <algorithm>

#include "tasks/inspect.h"

namespace wattn {

// What the checkpoint's tensors are says nearly all: the slots are in the order of the computation.
std::vector<SummaryRow> inspect(const Generator& generator, std::int64_t seq) {
  const DecoderConfig& config = generator.decoder().config();
  const DecoderNames& names = generator.arch().names;
  std::vector<SummaryRow> rows;
  std::int64_t layer = 0;
  const auto is = [&](const std::string& name, const char* pattern) {
    return pattern && name == layer_name(pattern, static_cast<std::size_t>(layer)) + ".weight";
  };
  for (const WeightSlot& slot : generator.decoder().weight_slots(names, true)) {  // as in GGUF: matrices are [out, in]
    const std::int64_t size = num_elements(slot.shape).value_or(0);
    if (slot.name.ends_with(".bias")) {
      rows.back().parameters += size;
      continue;
    }
    if (is(slot.name, names.attention_output)) {
      const std::int64_t keys = config.is_local(layer) ? std::min(seq, config.local_window) : seq;
      const std::int64_t pairs = keys * seq - keys * (keys - 1) / 2;  // queries and the keys they see
      rows.push_back(
          {"softmax(q k^T / sqrt(head_dim)) v", "Attention", {}, {seq, config.query_width()}, 0, 2 * pairs * config.query_width()});
    }
    const std::string name = slot.name.substr(0, slot.name.rfind('.'));
    const bool table = name == names.word_embeddings || (names.position_embeddings && name == names.position_embeddings);
    const bool norm = slot.shape.size() == 1;
    const char* norm_name = config.norm == NormKind::kRms ? "RMSNorm" : "LayerNorm";
    const Shape output = norm ? Shape{seq, size} : Shape{seq, table ? slot.shape[1] : slot.shape[0]};
    rows.push_back({name,
                    table  ? "Embedding"
                    : norm ? norm_name
                           : "Linear",
                    slot.shape, output, size, table || norm ? 0 : seq * size});
    if (is(slot.name, names.down)) ++layer;
  }
  if (config.tie_word_embeddings) {
    const Shape kernel{config.vocab_size, config.hidden_size};
    rows.push_back({names.head, "Linear", kernel, {seq, config.vocab_size}, 0, seq * config.vocab_size * config.hidden_size});
  }
  return rows;
}

}  // namespace wattn
