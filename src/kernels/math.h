// exp, erf and the activations, on any vector of vec_*.h. Our own polynomials, so that no libm changes a bit. They use Estrin's
// scheme: its two halves are independent, while each step of Horner's scheme waits for the previous one.
#pragma once

#include "kernels/more_activations.h"

namespace wattn {

// Hides the target of p from the compiler. Engines build a 128-bit constant from two 64-bit halves, five instructions at
// every use; loading and splatting it takes one.
template <class T>
T* opaque(T* p) {
  asm("" : "+r"(p));
  return p;
}

// exp(x): x = n ln 2 + r, e^r = 1 + r + r^2 q(r), |r| <= ln 2 / 2. Relative error <= 1.4 * 2^-24 for x in [-87.3, 88].
// It is 0 below that, so a masked score of -inf has no weight. x above 88 counts as 88; NaN stays NaN.
// q: minimises the maximum relative error; found by a weighted least-squares exchange in long double.
template <class V>
typename V::F32 exp_vec(typename V::F32 x) {
  using F32 = typename V::F32;
  static constexpr float kConstants[] = {88.0f,          1.44269504f,      // 1 / ln 2
                                         12583039.0f,                      // 1.5 * 2^23 rounds to whole; 127: pow2_of_biased
                                         0.693359375f,   -2.12194440e-4f,  // ln 2 in two parts; n times the first is exact
                                         0.00138146104f, 0.00836871006f,  0.0416683890f, 0.166665211f, 0.499999940f,  // q
                                         1.0f,           -87.3f};
  const float* c = opaque(kConstants);
  const F32 bounded = V::min(x, V::splat_at(c));
  const F32 biased = V::add(V::mul(bounded, V::splat_at(c + 1)), V::splat_at(c + 2));
  const F32 n = V::sub(biased, V::splat_at(c + 2));
  F32 r = V::sub(bounded, V::mul(n, V::splat_at(c + 3)));
  r = V::sub(r, V::mul(n, V::splat_at(c + 4)));
  const F32 r2 = V::mul(r, r);
  const F32 q_01 = V::madd(V::splat_at(c + 8), r, V::splat_at(c + 9));
  const F32 q_23 = V::madd(V::splat_at(c + 6), r, V::splat_at(c + 7));
  const F32 q = V::madd(V::madd(V::splat_at(c + 5), r2, q_23), r2, q_01);
  const F32 e_r = V::add(V::madd(q, r2, r), V::splat_at(c + 10));
  return V::zero_where_less(V::mul(e_r, V::pow2_of_biased(biased)), x, V::splat_at(c + 11));
}

// erf(z) = z P(z^2) / Q(z^2) on |z| <= 3.95, constant beyond. Absolute error <= 3.6e-7 (mean 5e-8 on |z| <= 4) in f32.
// P and Q: rational fit of degree (5, 5) that minimises the maximum absolute error (1.8e-8 before rounding).
template <class V>
typename V::F32 erf_vec(typename V::F32 x) {
  using F32 = typename V::F32;
  static constexpr float kConstants[] = {3.95f,        -3.95f,      2.01173976e-6f, 2.87601695e-4f, 3.91735183e-3f, 5.32071628e-2f,
                                         0.194036439f, 1.12837899f, 3.78397381e-5f, 1.19820971e-3f, 1.52707688e-2f, 0.115591064f,
                                         0.505291820f, 1.0f};
  const float* c = opaque(kConstants);
  const F32 z = V::max(V::min(x, V::splat_at(c)), V::splat_at(c + 1));
  const F32 u = V::mul(z, z);
  const F32 u2 = V::mul(u, u);
  // k: the coefficients of u^5, u^4, .. 1.
  const auto polynomial = [&](const float* k) __attribute__((always_inline)) {
    const F32 k_01 = V::madd(V::splat_at(k + 4), u, V::splat_at(k + 5));
    const F32 k_23 = V::madd(V::splat_at(k + 2), u, V::splat_at(k + 3));
    const F32 k_45 = V::madd(V::splat_at(k), u, V::splat_at(k + 1));
    return V::madd(V::madd(k_45, u2, k_23), u2, k_01);
  };
  return V::div(V::mul(z, polynomial(c + 2)), polynomial(c + 8));
}

// gelu(x) = x / 2 * (1 + erf(x / sqrt 2)), arXiv 1606.08415.
template <class V>
typename V::F32 gelu_vec(typename V::F32 x) {
  static constexpr float kConstants[] = {0.707106781f, 1.0f, 0.5f};
  const float* c = opaque(kConstants);
  const typename V::F32 one_plus_erf = V::add(V::splat_at(c + 1), erf_vec<V>(V::mul(x, V::splat_at(c))));
  return V::mul(V::mul(V::splat_at(c + 2), x), one_plus_erf);
}

// tanh(x) = 1 - 2 / (e^(2x) + 1); absolute error about 1e-7.
template <class V>
typename V::F32 tanh_vec(typename V::F32 x) {
  const typename V::F32 bounded = V::max(V::min(x, V::splat(10.0f)), V::splat(-10.0f));
  const typename V::F32 e_2x = exp_vec<V>(V::add(bounded, bounded));
  return V::sub(V::splat(1.0f), V::div(V::splat(2.0f), V::add(e_2x, V::splat(1.0f))));
}

// 1 / (1 + e^-x); relative error about 2e-7.
template <class V>
typename V::F32 sigmoid_vec(typename V::F32 x) {
  const typename V::F32 one = V::splat(1.0f);
  return V::div(one, V::add(one, exp_vec<V>(V::sub(V::splat(0.0f), x))));
}

// x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the other form of arXiv 1606.08415.
template <class V>
typename V::F32 gelu_tanh_vec(typename V::F32 x) {
  const typename V::F32 cube = V::mul(V::mul(x, x), x);
  const typename V::F32 z = V::mul(V::splat(0.797884561f), V::madd(V::splat(0.044715f), cube, x));
  return V::mul(V::mul(V::splat(0.5f), x), V::add(V::splat(1.0f), tanh_vec<V>(z)));
}

// Calls use(f), where f is the activation of one vector. This selects f once instead of for each vector of a loop in use.
template <class V, class F>
[[gnu::always_inline]] inline void with_activation(Activation activation, const F& use) {
  using F32 = typename V::F32;
  switch (activation) {
    case Activation::kGelu:
      return use([](F32 x) { return gelu_vec<V>(x); });
    case Activation::kRelu:
      return use([](F32 x) { return V::max(x, V::splat(0.0f)); });
    case Activation::kTanh:
      return use([](F32 x) { return tanh_vec<V>(x); });
    case Activation::kGeluTanh:
      return use([](F32 x) { return gelu_tanh_vec<V>(x); });
    case Activation::kSilu:
      return use([](F32 x) { return V::mul(x, sigmoid_vec<V>(x)); });
    case Activation::kSigmoid:
      return use([](F32 x) { return sigmoid_vec<V>(x); });
    default:  // kNone; the callers know the rarer ones
      return use([](F32 x) { return x; });
  }
}

}  // namespace wattn
