// Matrix products at MiniLM's shapes for every variant of this build, in billions of operations a second (a multiply and
// an add are two), best of several runs. The clock is the process's own CPU time where the system tells it.
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

template <class F>
double best_gops(double operations, const F& run) {
  double best = 0;
  for (int i = 0; i < 15; ++i) {
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
// Fused multiply-adds of four floats in registers alone, 12 independent chains: what no kernel here can exceed.
[[gnu::noinline]] double fma_gops() {
  using F32 = float __attribute__((vector_size(16)));
  constexpr int kChains = 12, kSteps = 2'000'000;
  F32 sum[kChains] = {};
  volatile float source = 0.999f;
  const F32 a = {source, source, source, source};
  const double gops = best_gops(8.0 * kChains * kSteps, [&] {
    F32 s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3], s4 = sum[4], s5 = sum[5], s6 = sum[6], s7 = sum[7], s8 = sum[8],
        s9 = sum[9], s10 = sum[10], s11 = sum[11];
    for (int i = 0; i < kSteps; ++i) {
      for (F32* s : {&s0, &s1, &s2, &s3, &s4, &s5, &s6, &s7, &s8, &s9, &s10, &s11})
        *s = __builtin_wasm_relaxed_madd_f32x4(a, *s, a);
    }
    const F32 out[] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11};
    std::copy(out, out + kChains, sum);
  });
  volatile float sink = sum[0][0];
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
