// Processor time of one training step, relative to its forward pass: bench_backward [SEQUENCES TOKENS]. The model
// has the shape of all-MiniLM-L6-v2 and random weights.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "core/random.h"
#include "learn/lora.h"
#include "models/transformer.h"
#include "pass/run.h"
#include "pass/training.h"

namespace {

using namespace wattn;

// The least of some runs.
template <class F>
double seconds(const F& run) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    run();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

TransformerConfig minilm() {
  TransformerConfig config;
  config.vocab_size = 30522;
  config.hidden_size = 384;
  config.num_hidden_layers = 6;
  config.num_attention_heads = 12;
  config.intermediate_size = 1536;
  config.max_position_embeddings = 512;
  config.type_vocab_size = 2;
  config.norm_eps = 1e-12f;
  return config;
}

Transformer make() { return std::move(Transformer::with_config(minilm(), 512, exact_kernels(), WeightType::kF32)).value(); }

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t sequences = argc > 2 ? std::atoi(argv[1]) : 16, length = argc > 2 ? std::atoi(argv[2]) : 64;
  const Transformer model = make();
  Transformer gradients = make();
  Generator generator(1);
  for (float& x : model.weights_f32()) x = static_cast<float>(generator.uniform(-0.05, 0.05));
  Batch batch;
  for (std::int64_t i = 0; i < sequences; ++i) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
    for (auto& id : ids) id = static_cast<std::int32_t>(generator.next() % 30522);
    batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
  }
  const std::int64_t tokens = batch.tokens();
  ThreadTeam alone;
  std::vector<float> hidden(static_cast<std::size_t>(tokens * model.config().hidden_size)), d_hidden(hidden.size());
  LoraSet lora;
  for (std::int64_t layer = 0; layer < model.config().num_hidden_layers; ++layer) {
    const std::int64_t width = model.config().query_width();
    for (const std::int64_t first : {std::int64_t{0}, 2 * width})
      lora.add({model.layer_at(layer).qkv, first, width}, {}, generator);
  }
  if (!lora.begin().ok()) return 1;
  Arena arena = Arena::with_bytes(
                    backward_bytes(model.training_plan(), {.tokens = tokens, .max_seq = length}, {.lora = lora.factors()}), "bench")
                    .value();
  const double plain = seconds([&] {
    arena.reset();
    forward(model.plan(), model.compute(alone), batch, {}, arena, hidden.data(), nullptr);
  });
  std::printf("forward %.3f s; arena %.1f MB\n", plain, static_cast<double>(arena.bytes()) * 1e-6);
  for (const std::int64_t kept : {6, 0}) {
    const TapeOptions options{.kept_layers = kept};
    std::vector<float> tape(static_cast<std::size_t>(tape_size(model.training_plan(), tokens, options)));
    const double taped = seconds([&] {
      arena.reset();
      training_forward(model.training_plan(), model.compute(alone), batch, tape.data(), hidden.data(), arena, options);
    });
    std::printf("%d layers kept, tape %.1f MB: forward %.2f\n", static_cast<int>(kept), static_cast<double>(tape.size()) * 4e-6,
                taped / plain);
    const auto report = [&](const char* name, const BackwardScope& scope, const TapeOptions& tape_options) {
      const double took = seconds([&] {
        std::fill(d_hidden.begin(), d_hidden.end(), 0.01f);
        arena.reset();
        backward(model.training_plan(), model.compute(alone), batch, tape.data(), d_hidden.data(), arena,
                 &gradients.training_plan(), scope, tape_options);
      });
      std::printf("  %s: backward %.2f, step %.2f\n", name, took / plain, (taped + took) / plain);
    };
    report("all weights", {}, options);
    report("without embeddings", {.embeddings = false}, options);
    TapeOptions with_lora = options;
    with_lora.lora = lora.factors();
    report("lora of queries and values", {.embeddings = false, .layers = false}, with_lora);
  }
}
