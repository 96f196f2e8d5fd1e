// Kernels over rows: softmax, LayerNorm, pooling sums, normalisation. Formulas and shapes in kernels.h.
// Sums over a row: lane l adds elements l, l + 4, l + 8, ... in order, with the tail padded with zeros; then V::sum.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "kernels/kernels.h"
#include "kernels/math.h"

namespace wattn {

// Calls f(offset, count) for each step of four over n elements; count is 4 except in the last step.
template <class V, class F>
void for_each_step(std::int64_t n, const F& f) {
  std::int64_t j = 0;
  for (; j + V::kLanes <= n; j += V::kLanes) f(j, V::kLanes);
  if (j < n) f(j, static_cast<int>(n - j));
}

// The same with a single copy of f in the code, for long ones.
template <class V, class F>
void for_each_long_step(std::int64_t n, const F& f) {
  for (std::int64_t j = 0; j < n; j += V::kLanes) f(j, static_cast<int>(std::min<std::int64_t>(V::kLanes, n - j)));
}

template <class V>
typename V::F32 load_step(const float* p, int count) {
  return count == V::kLanes ? V::load(p) : V::load_partial(p, count);
}

template <class V>
void store_step(float* p, typename V::F32 x, int count) {
  if (count == V::kLanes) {
    V::store(p, x);
  } else {
    V::store_partial(p, x, count);
  }
}

// Eight floats at p as two vectors (or fewer, in a buffer of eight), for loops that process eight at a time. V8 joins two adjacent
// vectors into one of 256 bits (--wasm-revectorize) if both are loaded before and stored after all computation on them.
struct Eight {
  // The floats at p, count of them; if fewer than eight, copies of them, and then fill.
  const float* read(const float* p, std::int64_t count, float fill) {
    if (count >= 8) return p;
    std::fill(std::copy_n(p, count, copies), copies + 8, fill);
    return copies;
  }
  // Opaque, so that the compiler moves no store before a load.
  float* write(float* p, std::int64_t count) { return opaque(count >= 8 ? p : copies); }
  // To be called after writing to write().
  void finish(float* p, std::int64_t count) const {
    if (count < 8) std::copy_n(copies, count, p);
  }
  alignas(16) float copies[8];
};

// out[j] = f(x[0][j], x[1][j], ...), j < n. out may be one of x.
template <class V, std::size_t kInputs, class F>
void map_row(std::array<const float*, kInputs> x, float* out, std::int64_t n, const F& f) {
  for (std::int64_t j = 0; j < n; j += 8) {
    Eight eight[kInputs];
    std::array<const float*, kInputs> from;
    for (std::size_t i = 0; i < kInputs; ++i) from[i] = eight[i].read(x[i] + j, n - j, 0.0f);
    const auto at = [&](int offset) __attribute__((always_inline)) {
      return std::apply([&](auto... p) __attribute__((always_inline)) { return f(V::load(p + offset)...); }, from);
    };
    const typename V::F32 first = at(0), second = at(4);
    float* to = eight[0].write(out + j, n - j);
    V::store(to, first);
    V::store(to + 4, second);
    eight[0].finish(out + j, n - j);
  }
}

// Three passes: maximum, exponentials and their sum, division.
template <class V>
void softmax_rows_body(float* x, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  using F32 = typename V::F32;
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = x + i * stride;
    F32 largest = V::splat(-std::numeric_limits<float>::infinity());
    std::int64_t j = 0;
    for (; j + V::kLanes <= cols; j += V::kLanes) largest = V::max(largest, V::load(row + j));
    float max = V::max_lane(largest);
    for (; j < cols; ++j) max = max < row[j] ? row[j] : max;

    const F32 max_vec = V::splat(max);
    F32 sum = V::splat(0.0f);
    // Not map_row(): V8 would keep a captured sum in memory.
    for (j = 0; j < cols; j += 8) {
      Eight eight;
      const float* from = eight.read(row + j, cols - j, -std::numeric_limits<float>::infinity());  // whose exponential is 0
      const F32 first = exp_vec<V>(V::sub(V::load(from), max_vec)), second = exp_vec<V>(V::sub(V::load(from + 4), max_vec));
      float* to = eight.write(row + j, cols - j);
      V::store(to, first);
      V::store(to + 4, second);
      eight.finish(row + j, cols - j);
      sum = V::add(V::add(sum, first), second);
    }
    const F32 scale = V::splat(1.0f / V::sum(sum));
    map_row<V, 1>({row}, row, cols, [&](F32 e) { return V::mul(e, scale); });
  }
}

// arXiv 1607.06450; the row stays in the first-level cache between passes.
template <class V>
void layer_norm_rows_body(const float* x, const float* residual, const float* gamma, const float* beta, float epsilon, float* out,
                          std::int64_t rows, std::int64_t cols) {
  using F32 = typename V::F32;
  const float reciprocal = 1.0f / static_cast<float>(cols);
  for (std::int64_t i = 0; i < rows; ++i, x += cols, out += cols) {
    F32 sum = V::splat(0.0f);
    for_each_step<V>(cols, [&](std::int64_t j, int count) {
      F32 v = load_step<V>(x + j, count);
      if (residual) v = V::add(v, load_step<V>(residual + j, count));
      store_step<V>(out + j, v, count);
      sum = V::add(sum, v);
    });
    const F32 mean = V::splat(V::sum(sum) * reciprocal);
    F32 squares = V::splat(0.0f);
    for_each_step<V>(cols, [&](std::int64_t j, int count) {
      const F32 d = V::sub(load_step<V>(out + j, count), mean);
      store_step<V>(out + j, d, count);
      const F32 counted = count == V::kLanes ? d : V::load_partial(out + j, count);
      squares = V::madd(counted, counted, squares);
    });
    const F32 scale = V::splat(1.0f / std::sqrt(V::sum(squares) * reciprocal + epsilon));
    for_each_step<V>(cols, [&](std::int64_t j, int count) {
      const F32 normal = V::mul(load_step<V>(out + j, count), scale);
      store_step<V>(out + j, V::madd(normal, load_step<V>(gamma + j, count), load_step<V>(beta + j, count)), count);
    });
    if (residual) residual += cols;
  }
}

// x = activation(x) over rows that are stride apart, such as a tile, which is still in the first-level cache. Not inlined: inside
// the tile's function it takes registers from the inner loop (q16 was 20 % slower).
template <class V>
[[gnu::noinline]] void activate_rows(Activation activation, float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols) {
  with_activation<V>(activation, [&](auto activate) {
    for (std::int64_t i = 0; i < rows; ++i, x += stride) map_row<V, 1>({x}, x, cols, activate);
  });
}
using ActivateRows = void(Activation activation, float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols);

template <class V>
void activate_body(Activation activation, const float* x, float* out, std::int64_t n) {
  if (is_more(activation)) return Part<MoreActivations>::get()->run(activation, x, out, n);
  if (out != x) std::copy_n(x, n, out);
  activate_rows<V>(activation, out, n, 1, n);
}

// The activation of a row, then its product with the other half: fused, each activation would be compiled again, 6 KB.
template <class V>
void gate_rows_body(Activation activation, const float* x, float* out, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += 2 * cols, out += cols) {
    activate_body<V>(activation, x, out, cols);
    map_row<V, 2>({out, x + cols}, out, cols, [](auto gate, auto value) { return V::mul(gate, value); });
  }
}

// arXiv 2104.09864, with the pairs half a head apart as in GPT-NeoX. Two products and a sum, each rounded, in every variant.
template <class V>
void rotate_body(float* x, const float* cos, const float* sin, std::int64_t half) {
  for_each_step<V>(half, [&](std::int64_t j, int count) {
    const auto [a, b] = std::pair(load_step<V>(x + j, count), load_step<V>(x + half + j, count));
    const auto [c, s] = std::pair(load_step<V>(cos + j, count), load_step<V>(sin + j, count));
    store_step<V>(x + j, V::sub(V::mul(a, c), V::mul(b, s)), count);
    store_step<V>(x + half + j, V::add(V::mul(b, c), V::mul(a, s)), count);
  });
}

template <class V>
void axpy_body(float scale, const float* x, float* out, std::int64_t n) {
  const typename V::F32 scale_vec = V::splat(scale);
  for_each_step<V>(n, [&](std::int64_t j, int count) {
    store_step<V>(out + j, V::madd(scale_vec, load_step<V>(x + j, count), load_step<V>(out + j, count)), count);
  });
}

template <class V>
void max_into_body(const float* x, float* out, std::int64_t n) {
  for_each_step<V>(n, [&](std::int64_t j, int count) {
    store_step<V>(out + j, V::max(load_step<V>(out + j, count), load_step<V>(x + j, count)), count);
  });
}

// Four chains, so that additions need not wait for each other: step i belongs to chain i mod 4 while four steps are left, then to
// the first. Joined as ((0 + 1) + (2 + 3)).
template <class V>
float dot_body(const float* x, const float* y, std::int64_t n) {
  using F32 = typename V::F32;
  F32 sum0 = V::splat(0.0f), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    sum0 = V::madd(V::load(x + j), V::load(y + j), sum0);
    sum1 = V::madd(V::load(x + j + 4), V::load(y + j + 4), sum1);
    sum2 = V::madd(V::load(x + j + 8), V::load(y + j + 8), sum2);
    sum3 = V::madd(V::load(x + j + 12), V::load(y + j + 12), sum3);
  }
  for_each_step<V>(n - j, [&](std::int64_t at, int count) {
    sum0 = V::madd(load_step<V>(x + j + at, count), load_step<V>(y + j + at, count), sum0);
  });
  return V::sum(V::add(V::add(sum0, sum1), V::add(sum2, sum3)));
}

template <class V>
void pair_step_body(float scale, const float* x, float* y, float* x_step, std::int64_t n) {
  const typename V::F32 scale_vec = V::splat(scale);
  for_each_step<V>(n, [&](std::int64_t j, int count) {
    const typename V::F32 v = load_step<V>(y + j, count);
    store_step<V>(x_step + j, V::madd(scale_vec, v, load_step<V>(x_step + j, count)), count);
    store_step<V>(y + j, V::madd(scale_vec, load_step<V>(x + j, count), v), count);
  });
}

template <class V>
void l2_normalize_body(float* x, float epsilon, std::int64_t n) {
  using F32 = typename V::F32;
  F32 squares = V::splat(0.0f);
  for_each_step<V>(n, [&](std::int64_t j, int count) {
    const F32 v = load_step<V>(x + j, count);
    squares = V::madd(v, v, squares);
  });
  const float norm = std::sqrt(V::sum(squares));
  const F32 divisor = V::splat(norm < epsilon ? epsilon : norm);
  for_each_step<V>(n, [&](std::int64_t j, int count) { store_step<V>(x + j, V::div(load_step<V>(x + j, count), divisor), count); });
}

}  // namespace wattn
