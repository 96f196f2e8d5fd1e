// The rarer activations and their derivatives, on any vector of vec_*.h. Derivatives are torch's where a function has a corner.
#pragma once

#include <limits>

#include "kernels/math.h"

namespace wattn {

// 1 above 0, else 0.
template <class V>
typename V::F32 step_vec(typename V::F32 x) {
  return V::zero_where_less(V::splat(1.0f), x, V::splat(std::numeric_limits<float>::denorm_min()));
}

template <class V>
typename V::F32 clamp_vec(typename V::F32 x, float least, float most) {
  return V::min(V::max(x, V::splat(least)), V::splat(most));
}

// tanh(log(1 + e^x)) = n / (n + 2), n = e^x (e^x + 2).
template <class V>
typename V::F32 tanh_of_softplus_vec(typename V::F32 x) {
  const typename V::F32 two = V::splat(2.0f), e = exp_vec<V>(V::min(x, V::splat(20.0f)));
  const typename V::F32 n = V::mul(e, V::add(e, two));
  return V::div(n, V::add(n, two));
}

// e^x - 1 below 0, else 0.
template <class V>
typename V::F32 negative_exp_vec(typename V::F32 x) {
  return V::sub(exp_vec<V>(V::min(x, V::splat(0.0f))), V::splat(1.0f));
}

// arXiv 1706.02515
inline constexpr float kSeluScale = 1.05070099f, kSeluAlpha = 1.67326324f;
// arXiv 2209.10655
inline constexpr float kLaplaceMean = 0.707107f, kLaplaceDeviation = 0.282095f;

template <class V>
typename V::F32 laplace_input_vec(typename V::F32 x) {
  return V::div(V::sub(x, V::splat(kLaplaceMean)), V::splat(kLaplaceDeviation * 1.41421356f));
}

template <class V>
typename V::F32 more_activation_vec(Activation activation, typename V::F32 x) {
  using F32 = typename V::F32;
  const F32 zero = V::splat(0.0f), one = V::splat(1.0f);
  const auto hard_sigmoid = [&] { return V::div(clamp_vec<V>(V::add(x, V::splat(3.0f)), 0.0f, 6.0f), V::splat(6.0f)); };
  switch (activation) {
    case Activation::kQuickGelu:
      return V::mul(x, sigmoid_vec<V>(V::mul(V::splat(1.702f), x)));
    case Activation::kGelu10:
      return clamp_vec<V>(gelu_vec<V>(x), -10.0f, 10.0f);
    case Activation::kRelu2: {
      const F32 positive = V::max(x, zero);
      return V::mul(positive, positive);
    }
    case Activation::kRelu6:
      return clamp_vec<V>(x, 0.0f, 6.0f);
    case Activation::kLeakyRelu:
      return V::madd(V::splat(0.01f), V::min(x, zero), V::max(x, zero));
    case Activation::kMish:
      return V::mul(x, tanh_of_softplus_vec<V>(x));
    case Activation::kElu:
      return V::add(V::max(x, zero), negative_exp_vec<V>(x));
    case Activation::kSelu:
      return V::mul(V::splat(kSeluScale), V::madd(V::splat(kSeluAlpha), negative_exp_vec<V>(x), V::max(x, zero)));
    case Activation::kHardSwish:
      return V::mul(x, hard_sigmoid());
    case Activation::kHardSigmoid:
      return hard_sigmoid();
    case Activation::kHardTanh:
      return clamp_vec<V>(x, -1.0f, 1.0f);
    case Activation::kSoftsign:
      return V::div(x, V::add(one, V::abs(x)));
    case Activation::kLaplace:
      return V::mul(V::splat(0.5f), V::add(one, erf_vec<V>(laplace_input_vec<V>(x))));
    default:
      return x;
  }
}

// gelu_slope: the derivative of gelu at x.
template <class V>
typename V::F32 more_slope_vec(Activation activation, typename V::F32 x, typename V::F32 gelu_slope) {
  using F32 = typename V::F32;
  const F32 zero = V::splat(0.0f), one = V::splat(1.0f), positive = step_vec<V>(x);
  // value where least < x < most, else 0.
  const auto between = [&](F32 value, float least, float most) {
    const F32 above = V::mul(value, step_vec<V>(V::sub(x, V::splat(least))));
    return V::mul(above, step_vec<V>(V::sub(V::splat(most), x)));
  };
  const auto of_exp = [&](F32 scale) {
    return V::madd(V::mul(scale, V::sub(one, positive)), exp_vec<V>(V::min(x, zero)), positive);
  };
  switch (activation) {
    case Activation::kQuickGelu: {
      const F32 factor = V::splat(1.702f), s = sigmoid_vec<V>(V::mul(factor, x));
      return V::mul(s, V::madd(V::mul(factor, x), V::sub(one, s), one));
    }
    case Activation::kGelu10:
      return V::zero_where_less(gelu_slope, V::splat(10.0f), x);
    case Activation::kRelu2:
      return V::mul(V::splat(2.0f), V::max(x, zero));
    case Activation::kRelu6:
      return between(one, 0.0f, 6.0f);
    case Activation::kLeakyRelu:
      return V::madd(V::splat(0.99f), positive, V::splat(0.01f));
    case Activation::kMish: {
      const F32 t = tanh_of_softplus_vec<V>(x);
      return V::madd(V::mul(x, sigmoid_vec<V>(x)), V::sub(one, V::mul(t, t)), t);
    }
    case Activation::kElu:
      return of_exp(one);
    case Activation::kSelu:
      return V::mul(V::splat(kSeluScale), of_exp(V::splat(kSeluAlpha)));
    case Activation::kHardSwish: {
      const F32 inner = between(V::madd(V::splat(1.0f / 3), x, V::splat(0.5f)), -3.0f, 3.0f);
      return V::add(inner, V::zero_where_less(one, x, V::splat(3.0f)));
    }
    case Activation::kHardSigmoid:
      return between(V::splat(1.0f / 6), -3.0f, 3.0f);
    case Activation::kHardTanh:
      return between(one, -1.0f, 1.0f);
    case Activation::kSoftsign: {
      const F32 size = V::add(one, V::abs(x));
      return V::div(one, V::mul(size, size));
    }
    case Activation::kLaplace: {
      const F32 z = laplace_input_vec<V>(x);
      // 1 / (sqrt(pi) * sqrt(2) * deviation)
      return V::mul(V::splat(0.39894228f / kLaplaceDeviation), exp_vec<V>(V::sub(zero, V::mul(z, z))));
    }
    default:
      return one;
  }
}

}  // namespace wattn
