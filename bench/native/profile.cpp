// Where a forward pass spends its time: a transformer of all-MiniLM-L6-v2's shape with made-up weights, run with a
// kernel table whose every entry is timed. Milliseconds a kernel in the best run, for each number format and batch;
// "rest" is what no kernel does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

#include "models/transformer.h"
#include "pass/run.h"

namespace {

using namespace wattn;

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

const Kernels* timed_kernels = nullptr;
enum Entry { kMatrix, kAttentionProduct, kQuantize, kSoftmax, kNorm, kNumEntries };
constexpr const char* kEntryNames[] = {"linear", "attention products", "quantize", "softmax", "layer norm"};
double spent[kNumEntries];

template <class F>
void timed(Entry entry, const F& run) {
  const double start = now_ms();
  run();
  spent[entry] += now_ms() - start;
}

// The table of timed_kernels with a clock around each entry.
Kernels with_clocks(const Kernels& kernels) {
  timed_kernels = &kernels;
  Kernels out = kernels;
  out.gemm_f32 = [](const GemmF32& gemm) {
    timed(gemm.bias ? kMatrix : kAttentionProduct, [&] { timed_kernels->gemm_f32(gemm); });
  };
  out.gemm_q16 = [](const GemmQuant& gemm) { timed(kMatrix, [&] { timed_kernels->gemm_q16(gemm); }); };
  out.gemm_q8 = [](const GemmQuant& gemm) { timed(kMatrix, [&] { timed_kernels->gemm_q8(gemm); }); };
  out.quantize_q16 = [](const float* x, std::int64_t rows, std::int64_t cols, const QuantizedRows& to) {
    timed(kQuantize, [&] { timed_kernels->quantize_q16(x, rows, cols, to); });
  };
  out.quantize_q8 = [](const float* x, std::int64_t rows, std::int64_t cols, const QuantizedRows& to) {
    timed(kQuantize, [&] { timed_kernels->quantize_q8(x, rows, cols, to); });
  };
  out.softmax_rows = [](float* x, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    timed(kSoftmax, [&] { timed_kernels->softmax_rows(x, rows, cols, stride); });
  };
  out.layer_norm_rows = [](const float* x, const float* residual, const float* gamma, const float* beta, float epsilon, float* to,
                           std::int64_t rows, std::int64_t cols) {
    timed(kNorm, [&] { timed_kernels->layer_norm_rows(x, residual, gamma, beta, epsilon, to, rows, cols); });
  };
  return out;
}

Transformer make_transformer(const Kernels& kernels, WeightType type) {
  TransformerConfig config;
  config.vocab_size = 30522;
  config.hidden_size = 384;
  config.num_hidden_layers = 6;
  config.num_attention_heads = 12;
  config.intermediate_size = 1536;
  config.max_position_embeddings = 512;
  config.type_vocab_size = 2;
  config.norm_eps = 1e-12f;
  config.hidden_act = Activation::kGelu;
  const TransformerNames names{.word_embeddings = "w",
                               .position_embeddings = "p",
                               .token_type_embeddings = "t",
                               .embeddings_norm = "n",
                               .query = "q{}",
                               .key = "k{}",
                               .value = "v{}",
                               .attention_output = "o{}",
                               .attention_norm = "a{}",
                               .up = "i{}",
                               .down = "f{}",
                               .ffn_norm = "m{}"};
  Transformer transformer = std::move(Transformer::with_config(config, config.max_position_embeddings, kernels, type).value());
  std::uint32_t seed = 1;
  for (const WeightTarget& weight : transformer.weight_targets(names, false)) {
    const std::int64_t rows = weight.shape.size() == 2 ? weight.shape[0] : 1;
    std::vector<float> row(static_cast<std::size_t>(weight.shape.back()));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (float& x : row) x = static_cast<float>((seed = seed * 1664525u + 1013904223u) >> 8) * 6e-9f - 0.05f;
      weight.write_row(i, row.data());
    }
  }
  return transformer;
}

void profile(const Transformer& transformer, const char* name, const char* dtype, std::int64_t b, std::int64_t s) {
  Batch batch;
  const std::vector<std::int32_t> ids(static_cast<std::size_t>(s), 2003), types(ids.size());
  for (std::int64_t i = 0; i < b; ++i) batch.add_sequence(ids, types);
  std::vector<float> hidden(static_cast<std::size_t>(b * s * 384));
  Arena arena = std::move(
      Arena::with_bytes(forward_bytes(transformer.plan(), {.tokens = b * s, .keys = s, .own_keys = s}), "profile").value());
  ThreadTeam alone;
  const int repeats = static_cast<int>(std::max<std::int64_t>(12, 4000 / (b * s)));
  double whole = 1e30;
  double best[kNumEntries];
  for (int i = 0; i < repeats; ++i) {
    std::fill(spent, spent + kNumEntries, 0.0);
    arena.reset();
    const double start = now_ms();
    forward(transformer.plan(), transformer.compute(alone), batch, {}, arena, hidden.data(), nullptr);
    const double took = now_ms() - start;
    if (took >= whole) continue;
    whole = took;
    std::copy(spent, spent + kNumEntries, best);
  }
  std::printf("%-17s %-4s b%ds%-4d whole %8.2f", name, dtype, int(b), int(s), whole);
  for (int i = 0; i < kNumEntries; ++i) std::printf("   %s %.2f", kEntryNames[i], best[i]);
  std::printf("   rest %.2f\n", std::accumulate(best, best + kNumEntries, whole, std::minus<>()));
}

}  // namespace

int main() {
  const std::pair<WeightType, const char*> types[] = {
      {WeightType::kF32, "f32"}, {WeightType::kQ16, "q16"}, {WeightType::kQ8, "q8"}, {WeightType::kQ4, "q4"}};
  for (const auto& [type, name] : types) {
    for (const Kernels* kernels : {&exact_kernels(), &fast_kernels()}) {
      const Kernels clocked = with_clocks(*kernels);
      const Transformer transformer = make_transformer(clocked, type);
      for (const auto& [b, s] : {std::pair{1, 8}, {1, 32}, {1, 128}, {8, 32}}) profile(transformer, kernels->name, name, b, s);
      if (&exact_kernels() == &fast_kernels()) break;
    }
  }
}
