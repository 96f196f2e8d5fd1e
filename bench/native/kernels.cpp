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
  std::vector<std::int16_t> q16(packed.size()), rows(static_cast<std::size_t>(m * padded_depth(k)));
  std::vector<std::int8_t> q8(packed.size());
  std::vector<float> scales(packed.size() / kQuantGroup), row_scales(rows.size() / kQuantGroup);
  for (std::int64_t j = 0; j < n; ++j) quantize_weight_row(q16.data(), scales.data(), j, w.data() + j * k, k);
  for (std::int64_t j = 0; j < n; ++j) quantize_weight_row(q8.data(), scales.data(), j, w.data() + j * k, k);
  const QuantizedRows quantized{rows.data(), row_scales.data()};
  const double operations = 2.0 * static_cast<double>(m * n * k);

  const double f32 = best_gops(operations, [&] {
    kernels.gemm_f32({.a = a.data(), .a_stride = k, .b = packed.data(), .c = c.data(), .c_stride = n, .m = m, .n = n, .k = k});
  });
  const auto quant = [&](auto gemm, const void* weights) {
    return best_gops(operations, [&] {
      kernels.quantize_rows(a.data(), m, k, quantized);
      gemm(GemmQuant{.a = quantized,
                     .b = weights,
                     .b_scale = scales.data(),
                     .c = c.data(),
                     .c_stride = n,
                     .m = m,
                     .n = n,
                     .k = padded_depth(k)});
    });
  };
  std::printf("%-8s %4d x %4d x %4d   f32 %6.1f   q16 %6.1f   q8 %6.1f\n", kernels.name, int(m), int(n), int(k), f32,
              quant(kernels.gemm_q16, q16.data()), quant(kernels.gemm_q8, q8.data()));
}

}  // namespace

int main() {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t m : {8, 32, 128, 512}) {
      bench_shape(*kernels, m, 1152, 384);
      bench_shape(*kernels, m, 1536, 384);
      bench_shape(*kernels, m, 384, 1536);
    }
  }
}
