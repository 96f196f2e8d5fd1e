#include "kernels/scan.h"

#include <cmath>
#include <cstddef>
#include <cstring>

#include "kernels/quant.h"
#include "kernels/rows.h"
#include "kernels/vec_scalar.h"
#ifdef WATTN_HAVE_WASM_SIMD
#include "kernels/vec_wasm.h"
#endif

namespace wattn {
namespace {

#ifdef WATTN_HAVE_WASM_SIMD
using Vec = VecWasm;
#else
using Vec = VecScalar;
#endif
using Size = std::ptrdiff_t;

}  // namespace

void scan_f32(const float* query, const float* rows, std::int64_t n, std::int64_t depth, float* out) {
  for (std::int64_t i = 0; i < n; ++i, rows += depth) out[i] = dot_body<Vec>(query, rows, depth);
}

void scan_q8(const std::int16_t* query, const std::int8_t* rows, std::int64_t n, std::int64_t depth, std::int32_t* out) {
  const Size size = static_cast<Size>(depth);
  std::int64_t i = 0;
  // Four rows share each load of the query.
  for (; i + 4 <= n; i += 4, rows += 4 * size) {
    Vec::I32 sum0 = Vec::zero_i32(), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (Size j = 0; j < size; j += 8) {
      const Vec::I16 q = Vec::load_q16(query + j);
      sum0 = Vec::dot(Vec::load_q8(rows + j), q, sum0);
      sum1 = Vec::dot(Vec::load_q8(rows + size + j), q, sum1);
      sum2 = Vec::dot(Vec::load_q8(rows + 2 * size + j), q, sum2);
      sum3 = Vec::dot(Vec::load_q8(rows + 3 * size + j), q, sum3);
    }
    out[i] = Vec::sum_i32(sum0);
    out[i + 1] = Vec::sum_i32(sum1);
    out[i + 2] = Vec::sum_i32(sum2);
    out[i + 3] = Vec::sum_i32(sum3);
  }
  for (; i < n; ++i, rows += size) {
    Vec::I32 sum = Vec::zero_i32();
    for (Size j = 0; j < size; j += 8) sum = Vec::dot(Vec::load_q8(rows + j), Vec::load_q16(query + j), sum);
    out[i] = Vec::sum_i32(sum);
  }
}

void scan_bits(const std::uint8_t* query, const std::uint8_t* rows, std::int64_t n, std::int64_t bytes, std::int32_t* out) {
  const Size size = static_cast<Size>(bytes);
  for (std::int64_t i = 0; i < n; ++i, rows += size) out[i] = Vec::differing_bits(query, rows, size);
}

float dot_q8(const float* query, const std::int8_t* row, std::int64_t depth) {
  Vec::F32 sum0 = Vec::splat(0.0f), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  for (Size j = 0; j < static_cast<Size>(depth); j += kScanStep) {
    const Vec::I16 first = Vec::load_q8(row + j), second = Vec::load_q8(row + j + 8);
    sum0 = Vec::madd(Vec::load(query + j), Vec::low_f32(first), sum0);
    sum1 = Vec::madd(Vec::load(query + j + 4), Vec::high_f32(first), sum1);
    sum2 = Vec::madd(Vec::load(query + j + 8), Vec::low_f32(second), sum2);
    sum3 = Vec::madd(Vec::load(query + j + 12), Vec::high_f32(second), sum3);
  }
  return Vec::sum(Vec::add(Vec::add(sum0, sum1), Vec::add(sum2, sum3)));
}

float quantize_row_q8(const float* x, std::int64_t n, std::int8_t* out) {
  const float scale = largest_magnitude(x, n) / 127;
  round_all(x, finite_or_zero(1 / scale), n, out);
  return scale;
}

void quantize_query(const float* x, std::int64_t n, std::int64_t most, std::int16_t* out) {
  round_all(x, finite_or_zero(static_cast<float>(most) / largest_magnitude(x, n)), n, out);
}

void sign_bits(const std::int8_t* row, std::int64_t depth, std::uint8_t* out) {
  for (Size j = 0; j < static_cast<Size>(depth); j += kScanStep) {
    const std::uint16_t bits = Vec::positive_bits(row + j);
    std::memcpy(out + j / 8, &bits, sizeof bits);
  }
}

bool all_within(const float* x, std::int64_t n, float most) {
  bool within = true;
  for (std::int64_t j = 0; j < n; ++j) within &= std::abs(x[j]) <= most;
  return within;
}

}  // namespace wattn
