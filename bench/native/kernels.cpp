// Matrix products at MiniLM's shapes for every variant of this build, in billions of operations per second (a
// multiply and an add are two), best of several runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/pack.h"
#include "kernels/quant.h"

namespace {

using namespace wattn;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Runs go on for a tenth of a second, as an engine compiles well only what it has run for a while.
template <class F>
double best_gops(double operations, const F& run) {
  double best = 0;
  const double begin = seconds();
  for (int i = 0; i < 15 || seconds() - begin < 0.1; ++i) {
    const double start = seconds();
    run();
    best = std::max(best, operations / (seconds() - start) * 1e-9);
  }
  return best;
}

void bench_shape(const Kernels& kernels, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::vector<float> a(static_cast<std::size_t>(m * k), 0.5f), w(static_cast<std::size_t>(n * k), 0.25f),
      c(static_cast<std::size_t>(m * n));
  std::vector<float> packed(static_cast<std::size_t>(packed_size(n, k)));
  pack_rows(packed.data(), w.data(), n, k, k);
  const double operations = 2.0 * static_cast<double>(m * n * k);
  const double f32 = best_gops(operations, [&] {
    kernels.gemm_f32({.a = a.data(), .a_stride = k, .b = packed.data(), .c = c.data(), .c_stride = n, .m = m, .n = n, .k = k});
  });
  const auto quant = [&]<class T>(T, auto quantize, auto gemm, int step) {
    const std::size_t groups = packed.size() / kQuantGroup<T>;
    std::vector<T> weights(packed.size());
    std::vector<float> scales(groups);
    std::vector<std::int32_t> sums(groups);
    for (std::int64_t j = 0; j < n; ++j) {
      quantize_weight_row(PackedQuant<T>{weights.data(), scales.data(), sums.data(), step}, j, w.data() + j * k, k);
    }
    std::vector<std::int16_t> q(a.size());
    std::vector<float> row_scales(a.size() / kQuantGroup<T>);
    std::vector<std::int32_t> zeros(row_scales.size());
    const QuantizedRows rows{q.data(), row_scales.data(), zeros.data()};
    return best_gops(operations, [&] {
      quantize(a.data(), m, k, rows);
      gemm(GemmQuant{.a = rows,
                     .b = weights.data(),
                     .b_scale = scales.data(),
                     .b_sum = sums.data(),
                     .c = c.data(),
                     .c_stride = n,
                     .m = m,
                     .n = n,
                     .k = k});
    });
  };
  std::printf("%-17s %4d x %4d x %4d   f32 %6.1f   q16 %6.1f   q8 %6.1f\n", kernels.name, int(m), int(n), int(k), f32,
              quant(std::int16_t{}, kernels.quantize_q16, kernels.gemm_q16, 2),
              quant(std::int8_t{}, kernels.quantize_q8, kernels.gemm_q8, kernels.q8_step));
}

#ifdef WATTN_BENCH_FMA
constexpr int kChains = 12;
using F32 = float __attribute__((vector_size(16)));

// Factors come from memory, as V8 makes a constant anew before each use.
void run_chains(F32* chains, const volatile F32* factors, int steps) {
  const F32 a = factors[0], b = factors[1];
  F32 s0 = chains[0], s1 = chains[1], s2 = chains[2], s3 = chains[3], s4 = chains[4], s5 = chains[5], s6 = chains[6],
      s7 = chains[7], s8 = chains[8], s9 = chains[9], s10 = chains[10], s11 = chains[11];
  for (int i = 0; i < steps; ++i) {
    for (F32* s : {&s0, &s1, &s2, &s3, &s4, &s5, &s6, &s7, &s8, &s9, &s10, &s11}) {
      *s = __builtin_wasm_relaxed_madd_f32x4(a, b, *s);
    }
  }
  const F32 out[] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11};
  std::copy(out, out + kChains, chains);
}

// Fused multiply-adds of four floats in registers alone, 12 independent chains: what no kernel here can exceed.
double fma_gops() {
  // Through a pointer, so that it stays a function: an engine swaps code only when one is called.
  void (*volatile run)(F32*, const volatile F32*, int) = run_chains;
  constexpr int kSteps = 20'000;
  F32 chains[kChains] = {}, factors[] = {{0.1f, 0.2f, 0.3f, 0.4f}, {0.5f, 0.6f, 0.7f, 0.8f}};
  const double gops = best_gops(8.0 * kChains * kSteps, [&] { run(chains, factors, kSteps); });
  // Every chain is wanted, or a compiler may leave it out.
  F32 all = {};
  for (const F32& chain : chains) all += chain;
  volatile float sink = all[0] + all[1] + all[2] + all[3];
  (void)sink;
  return gops;
}
#endif

}  // namespace

int main() {
#ifdef WATTN_BENCH_FMA
  std::printf("128-bit fused multiply-add, registers only: %.1f\n", fma_gops());
#endif
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t m : {8, 32, 128, 512}) {
      bench_shape(*kernels, m, 1152, 384);
      bench_shape(*kernels, m, 1536, 384);
      bench_shape(*kernels, m, 384, 1536);
    }
  }
}
