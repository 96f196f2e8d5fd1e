#include "tasks/inspect.h"

namespace wattn {

std::vector<SummaryRow> inspect(const Engine& engine, std::int64_t seq) {
  const EncoderConfig& config = engine.encoder().config();
  const EncoderNames& names = engine.arch().names;
  const std::int64_t hidden = config.hidden_size;
  std::vector<SummaryRow> rows;
  const auto embedding = [&](const char* name, std::int64_t count) {
    rows.push_back({name, "Embedding", {count, hidden}, {seq, hidden}, count * hidden, 0});
  };
  const auto norm = [&](std::string name) {
    rows.push_back({std::move(name), "LayerNorm", {hidden}, {seq, hidden}, 2 * hidden, 0});
  };
  const auto linear = [&](std::string name, std::int64_t in, std::int64_t out, std::int64_t tokens) {
    rows.push_back({std::move(name), "Linear", {out, in}, {tokens, out}, out * in + out, tokens * out * in});
  };

  embedding(names.word_embeddings, config.vocab_size);
  embedding(names.token_type_embeddings, config.type_vocab_size);
  embedding(names.position_embeddings, config.max_position_embeddings);
  norm(names.embeddings_norm);
  for (std::size_t i = 0; i < static_cast<std::size_t>(config.num_hidden_layers); ++i) {
    linear(layer_name(names.query, i), hidden, hidden, seq);
    linear(layer_name(names.key, i), hidden, hidden, seq);
    linear(layer_name(names.value, i), hidden, hidden, seq);
    rows.push_back({"softmax(q k^T / sqrt(head_dim)) v", "Attention", {}, {seq, hidden}, 0, 2 * seq * seq * hidden});
    linear(layer_name(names.attention_output, i), hidden, hidden, seq);
    norm(layer_name(names.attention_norm, i));
    linear(layer_name(names.intermediate, i), hidden, config.intermediate_size, seq);
    linear(layer_name(names.output, i), config.intermediate_size, hidden, seq);
    norm(layer_name(names.output_norm, i));
  }
  if (engine.encoder().has_pooler()) linear(names.pooler, hidden, hidden, 1);
  return rows;
}

}  // namespace wattn
