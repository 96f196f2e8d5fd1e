#include <algorithm>
#include <array>

#include "tasks/inspect.h"

namespace wattn {
namespace {

// What the checkpoint's tensors are says nearly all: the slots are in the order of the computation.
struct Stack {
  std::vector<WeightSlot> slots;
  std::array<const char*, 3> tables;  // names of embeddings and biases by distance
  const char* attention_output;
  const char* cross_output;
  const char* last;  // of a layer
  NormKind norm;
  std::int64_t width;  // of queries
  // Query and key pairs of a layer's own attention.
  std::int64_t (*pairs)(const Generator& generator, std::int64_t layer, std::int64_t seq);
};

std::int64_t causal_pairs(const Generator& generator, std::int64_t layer, std::int64_t seq) {
  const DecoderConfig& config = generator.decoder().config();
  const std::int64_t keys = config.is_local(layer) ? std::min(seq, config.local_window) : seq;
  return keys * seq - keys * (keys - 1) / 2;
}

std::int64_t all_pairs(const Generator& /*generator*/, std::int64_t /*layer*/, std::int64_t seq) { return seq * seq; }

void add_rows(const Generator& generator, const Stack& stack, std::int64_t seq, std::vector<SummaryRow>& rows) {
  std::int64_t layer = 0;
  const auto is = [&](const std::string& name, const char* pattern) {
    return pattern && name == layer_name(pattern, static_cast<std::size_t>(layer)) + ".weight";
  };
  const auto attention = [&](std::int64_t pairs) {
    rows.push_back({"softmax(q k^T / sqrt(head_dim)) v", "Attention", {}, {seq, stack.width}, 0, 2 * pairs * stack.width});
  };
  for (const WeightSlot& slot : stack.slots) {
    const std::int64_t size = num_elements(slot.shape).value_or(0);
    if (slot.name.ends_with("bias")) {
      rows.back().parameters += size;
      continue;
    }
    if (is(slot.name, stack.attention_output)) attention(stack.pairs(generator, layer, seq));
    if (is(slot.name, stack.cross_output)) attention(seq * seq);
    const std::string name = slot.name.substr(0, slot.name.rfind('.'));
    const bool table = std::any_of(stack.tables.begin(), stack.tables.end(), [&](const char* one) { return one && name == one; });
    const bool norm = slot.shape.size() == 1;
    const char* norm_name = stack.norm == NormKind::kRms ? "RMSNorm" : "LayerNorm";
    const Shape output = norm ? Shape{seq, size} : Shape{seq, table ? slot.shape[1] : slot.shape[0]};
    rows.push_back({name,
                    table  ? "Embedding"
                    : norm ? norm_name
                           : "Linear",
                    slot.shape, output, size, table || norm ? 0 : seq * size});
    if (is(slot.name, stack.last)) ++layer;
  }
}

}  // namespace

std::vector<SummaryRow> inspect(const Generator& generator, std::int64_t seq) {
  const DecoderConfig& config = generator.decoder().config();
  const DecoderNames& names = generator.arch().names;
  std::vector<SummaryRow> rows;
  if (const Encoder* encoder = generator.encoder()) {
    const EncoderNames& own = generator.arch().encoder_names;
    add_rows(generator,
             {.slots = encoder->weight_slots(own),
              .tables = {own.word_embeddings, own.position_embeddings, own.distance_bias},
              .attention_output = own.attention_output,
              .cross_output = nullptr,
              .last = own.output,
              .norm = encoder->config().norm,
              .width = encoder->config().inner_width(),
              .pairs = all_pairs},
             seq, rows);
  }
  const std::size_t begin = rows.size();
  add_rows(generator,
           {.slots = generator.decoder().weight_slots(names, true),  // as in GGUF: matrices are [out, in]
            .tables = {names.word_embeddings, names.position_embeddings, names.distance_bias},
            .attention_output = names.attention_output,
            .cross_output = names.cross_output,
            .last = names.down,
            .norm = config.norm,
            .width = config.query_width(),
            .pairs = causal_pairs},
           seq, rows);
  if (generator.encoder()) rows[begin].parameters -= config.vocab_size * config.hidden_size;  // the encoder's own table
  if (config.tie_word_embeddings) {
    const Shape kernel{config.vocab_size, config.hidden_size};
    rows.push_back({names.head, "Linear", kernel, {seq, config.vocab_size}, 0, seq * config.vocab_size * config.hidden_size});
  }
  return rows;
}

}  // namespace wattn
