#include "tasks/forward.h"

#include <optional>

namespace wattn {
namespace {

class Collector : public Taps {
 public:
  Collector(const ForwardOptions& options, std::size_t layers, ForwardResult& result) : options_(options), result_(result) {
    if (options.output_attentions) result.attentions.resize(layers);
  }

  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    const auto append_to = [&](std::vector<float>& out) {
      const std::int64_t count = num_elements({tensor.shape.begin(), tensor.shape.end()}).value_or(0);
      out.insert(out.end(), tensor.data, tensor.data + count);
    };
    if (options_.output_hidden_states && (point.name == "embeddings.output" || point.name == "output")) {
      append_to(result_.hidden_states.emplace_back());
    }
    if (options_.output_attentions && point.name == "attention.probs") append_to(result_.attentions[point.layer]);
  }

 private:
  const ForwardOptions& options_;
  ForwardResult& result_;
};

}  // namespace

Result<ForwardResult> forward(Engine& engine, const Batch& batch, const ForwardOptions& options) {
  ForwardResult result;
  const Encoder& encoder = engine.encoder();
  std::optional<Collector> collector;
  if (options.output_hidden_states || options.output_attentions) {
    collector.emplace(options, static_cast<std::size_t>(encoder.config().num_hidden_layers), result);
  }
  const auto hidden = engine.run(batch, collector ? &*collector : nullptr);
  if (!hidden.ok()) return hidden.error();
  result.last_hidden_state.assign(hidden.value(), hidden.value() + batch.tokens() * encoder.config().hidden_size);
  if (encoder.has_pooler()) {
    result.pooler_output.resize(static_cast<std::size_t>(batch.batch() * encoder.config().hidden_size));
    encoder.pooler(batch, hidden.value(), result.pooler_output.data());
  }
  return result;
}

}  // namespace wattn
