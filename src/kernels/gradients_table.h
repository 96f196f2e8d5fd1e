// The table of gradients.h for one vector type.
#pragma once

#include "kernels/gradients.h"
#include "kernels/more_activations_vec.h"
#include "kernels/rows.h"

namespace wattn {

// e^(-x^2 / 2) / sqrt(2 pi)
template <class V>
typename V::F32 normal_density_vec(typename V::F32 x) {
  return V::mul(V::splat(0.398942280f), exp_vec<V>(V::mul(V::splat(-0.5f), V::mul(x, x))));
}

// 1/2 (1 + erf(x / sqrt 2)) + x density(x)
template <class V>
typename V::F32 gelu_slope_vec(typename V::F32 x) {
  const typename V::F32 one_plus_erf = V::add(V::splat(1.0f), erf_vec<V>(V::mul(x, V::splat(0.707106781f))));
  return V::madd(x, normal_density_vec<V>(x), V::mul(V::splat(0.5f), one_plus_erf));
}

// With t = tanh(z), z = sqrt(2 / pi) (x + 0.044715 x^3): 1/2 (1 + t) + x / 2 (1 - t^2) z'
template <class V>
typename V::F32 gelu_tanh_slope_vec(typename V::F32 x) {
  const typename V::F32 one = V::splat(1.0f), half = V::splat(0.5f), root = V::splat(0.797884561f), square = V::mul(x, x);
  const typename V::F32 t = tanh_vec<V>(V::mul(root, V::madd(V::splat(0.044715f), V::mul(square, x), x)));
  const typename V::F32 z_slope = V::mul(root, V::madd(V::splat(0.134145f), square, one));
  const typename V::F32 of_tanh = V::mul(V::mul(V::mul(half, x), V::sub(one, V::mul(t, t))), z_slope);
  return V::madd(half, V::add(one, t), of_tanh);
}

// Calls use(f), where f is the derivative of the activation, as with_activation() does.
template <class V, class F>
[[gnu::always_inline]] inline void with_slope(Activation activation, const F& use) {
  using F32 = typename V::F32;
  const F32 one = V::splat(1.0f);
  switch (activation) {
    case Activation::kNone:
      return use([&](F32) { return one; });
    case Activation::kGelu:
      return use([](F32 x) { return gelu_slope_vec<V>(x); });
    case Activation::kRelu:
      return use([&](F32 x) { return V::zero_where_less(one, x, V::splat(std::numeric_limits<float>::denorm_min())); });
    case Activation::kTanh:
      return use([&](F32 x) {
        const F32 t = tanh_vec<V>(x);
        return V::sub(one, V::mul(t, t));
      });
    case Activation::kGeluTanh:
      return use([](F32 x) { return gelu_tanh_slope_vec<V>(x); });
    case Activation::kSilu:
      return use([&](F32 x) {
        const F32 s = sigmoid_vec<V>(x);
        return V::mul(s, V::madd(x, V::sub(one, s), one));
      });
    case Activation::kSigmoid:
      return use([&](F32 x) {
        const F32 s = sigmoid_vec<V>(x);
        return V::mul(s, V::sub(one, s));
      });
    default:
      return use([activation](F32 x) { return more_slope_vec<V>(activation, x, gelu_slope_vec<V>(x)); });
  }
}

template <class V>
void activate_backward_body(Activation activation, const float* x, const float* dy, float* dx, std::int64_t n) {
  with_slope<V>(activation, [&](auto slope) {
    for_each_long_step<V>(n, [&](std::int64_t j, int count) {
      store_step<V>(dx + j, V::mul(load_step<V>(dy + j, count), slope(load_step<V>(x + j, count))), count);
    });
  });
}

template <class V>
void gate_backward_rows_body(Activation activation, const float* x, const float* dy, float* dx, std::int64_t rows,
                             std::int64_t cols) {
  // Two passes: first dx holds activation(gate) * dy and dy * up, then the second is multiplied by the slope.
  const auto first = [&](const auto& activate) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for_each_long_step<V>(cols, [&](std::int64_t j, int count) {
        const std::int64_t at = 2 * i * cols + j;
        const typename V::F32 d = load_step<V>(dy + i * cols + j, count);
        store_step<V>(dx + at + cols, V::mul(d, activate(load_step<V>(x + at, count))), count);
        store_step<V>(dx + at, V::mul(d, load_step<V>(x + at + cols, count)), count);
      });
    }
  };
  if (is_more(activation)) {
    first([&](typename V::F32 gate) { return more_activation_vec<V>(activation, gate); });
  } else {
    with_activation<V>(activation, first);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at = 2 * i * cols;
    activate_backward_body<V>(activation, x + at, dx + at, dx + at, cols);
  }
}

template <class V>
void softmax_backward_rows_body(const float* p, float scale, float* d, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, p += cols, d += cols) {
    const typename V::F32 sum = V::splat(scale * dot_body<V>(p, d, cols));
    for_each_step<V>(cols, [&](std::int64_t j, int count) {
      store_step<V>(d + j, V::mul(load_step<V>(p + j, count), V::sub(load_step<V>(d + j, count), sum)), count);
    });
  }
}

// kCentred: the mean is subtracted (LayerNorm).
template <class V, bool kCentred>
void norm_backward_rows_body(const NormGradient& norm) {
  using F32 = typename V::F32;
  const std::int64_t cols = norm.cols;
  const float reciprocal = 1.0f / static_cast<float>(cols);
  for (std::int64_t i = 0; i < norm.rows; ++i) {
    const float *x = norm.x + i * cols, *dy = norm.dy + i * cols;
    float* dx = norm.dx + i * cols;
    const auto sum_of = [&](const auto& term) {
      F32 sum = V::splat(0.0f);
      for_each_step<V>(cols, [&](std::int64_t j, int count) { sum = V::add(sum, term(j, count)); });
      return V::sum(sum) * reciprocal;
    };
    const float mean = kCentred ? sum_of([&](std::int64_t j, int count) { return load_step<V>(x + j, count); }) : 0.0f;
    const F32 mean_vec = V::splat(mean);
    // Lanes past the end count as the mean.
    const auto centred = [&](std::int64_t j, int count) {
      if (count == V::kLanes) return V::sub(V::load(x + j), mean_vec);
      float rest[V::kLanes];
      V::store(rest, mean_vec);
      std::copy_n(x + j, count, rest);
      return V::sub(V::load(rest), mean_vec);
    };
    const float variance = sum_of([&](std::int64_t j, int count) {
      const F32 c = centred(j, count);
      return V::mul(c, c);
    });
    const float r = 1.0f / std::sqrt(variance + norm.epsilon);
    norm.mean_scale[2 * i] = mean;
    norm.mean_scale[2 * i + 1] = r;
    const auto weighted = [&](std::int64_t j, int count) {
      return V::mul(load_step<V>(dy + j, count), load_step<V>(norm.gamma + j, count));
    };
    const F32 mean_g = V::splat(kCentred ? sum_of(weighted) : 0.0f);
    const F32 mean_gn =
        V::splat(r * r * sum_of([&](std::int64_t j, int count) { return V::mul(weighted(j, count), centred(j, count)); }));
    const F32 r_vec = V::splat(r);
    for_each_step<V>(cols, [&](std::int64_t j, int count) {
      const F32 inner = V::sub(V::sub(weighted(j, count), mean_g), V::mul(centred(j, count), mean_gn));
      store_step<V>(dx + j, V::madd(r_vec, inner, load_step<V>(dx + j, count)), count);
    });
  }
}

template <class V>
constexpr GradientKernels gradient_kernels_on(const char* name) {
  return {.name = name,
          .activate_backward = activate_backward_body<V>,
          .gate_backward_rows = gate_backward_rows_body<V>,
          .softmax_backward_rows = softmax_backward_rows_body<V>,
          .layer_norm_backward_rows = norm_backward_rows_body<V, true>,
          .rms_norm_backward_rows = norm_backward_rows_body<V, false>};
}

}  // namespace wattn
