// build: -Oz
#include "ops/position.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/real_math.h"

namespace wattn {
namespace {

// Row p holds position first + p. frequency_of(j): of pair j, rounded to f32 where PyTorch rounds.
template <class F>
void fill_rotary(const Rotary& rotary, std::int64_t first, std::int64_t positions, const F& frequency_of) {
  for (std::int64_t j = 0; j < rotary.half; ++j) {
    const float of_pair = frequency_of(j);
    for (std::int64_t p = 0; p < positions; ++p) {
      const double angle = static_cast<float>(first + p) * of_pair;
      rotary.cos[p * rotary.half + j] = static_cast<float>(cos64(angle));
      rotary.sin[p * rotary.half + j] = static_cast<float>(sin64(angle));
    }
  }
}

float default_frequency(std::int64_t j, std::int64_t head_dim, double theta) {
  const float exponent = static_cast<float>(2 * j) / static_cast<float>(head_dim);
  return 1.0f / static_cast<float>(pow64(theta, exponent));
}

// transformers' _compute_llama3_parameters.
float llama3_frequency(float frequency, const RopeScaling& scaling) {
  constexpr double kTwoPi = 6.283185307179586;
  const float wave = static_cast<float>(kTwoPi) / frequency;
  const double old = scaling.original_max_position_embeddings;
  if (wave > old / scaling.low_freq_factor) return frequency / static_cast<float>(scaling.factor);
  if (wave < old / scaling.high_freq_factor) return frequency;
  const float smooth = (static_cast<float>(old) / wave - static_cast<float>(scaling.low_freq_factor)) /
                       static_cast<float>(scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0f - smooth) * frequency / static_cast<float>(scaling.factor) + smooth * frequency;
}

float frequency(std::int64_t j, std::int64_t head_dim, const RopeScaling& scaling) {
  if (scaling.frequency) return scaling.frequency(scaling, j, head_dim);
  const auto factor = static_cast<float>(scaling.factor);
  switch (scaling.type) {
    case RopeScaling::Type::kDefault:
      break;
    case RopeScaling::Type::kLinear:
      return default_frequency(j, head_dim, scaling.theta) / factor;
    case RopeScaling::Type::kNtk:
      return default_frequency(j, head_dim, scaling.theta * scaling.factor) /
             static_cast<float>(pow64(scaling.factor, 2.0 / static_cast<double>(head_dim)));
    case RopeScaling::Type::kLlama3:
      return llama3_frequency(default_frequency(j, head_dim, scaling.theta), scaling);
  }
  return default_frequency(j, head_dim, scaling.theta);
}

}  // namespace

Rotary take_rotary(Arena& arena, std::int64_t positions, std::int64_t head_dim, const RopeScaling& scaling) {
  const std::int64_t rotated = scaling.rotated(head_dim);
  Rotary rotary{.half = rotated / 2, .rest = head_dim - rotated, .interleaved = scaling.interleaved};
  rotary.cos = arena.take<float>(positions * rotary.half);
  rotary.sin = arena.take<float>(positions * rotary.half);
  if (!arena.measuring()) set_rotary(rotary, 0, positions, scaling);
  return rotary;
}

namespace {

[[gnu::noinline]] void scale_rotary(const Rotary& rotary, std::int64_t positions, const RopeScaling& scaling) {
  const auto factor = static_cast<float>(scaling.attention_factor);
  for (std::int64_t i = 0; factor != 1 && i < positions * rotary.half; ++i) {
    rotary.cos[i] *= factor;
    rotary.sin[i] *= factor;
  }
}

}  // namespace

void set_rotary(const Rotary& rotary, std::int64_t first, std::int64_t positions, const RopeScaling& scaling) {
  fill_rotary(rotary, first, positions, [&](std::int64_t j) { return frequency(j, 2 * rotary.half, scaling); });
  scale_rotary(rotary, positions, scaling);
}

void set_rotary_factors(const Rotary& rotary, std::int64_t positions, const RopeScaling& scaling, const float* factors) {
  constexpr float kLeast = 1e-2f, kMost = 1e6f;
  if (!std::all_of(factors, factors + rotary.half, [](float factor) { return factor >= kLeast && factor <= kMost; })) {
    std::fill_n(rotary.cos, positions * rotary.half, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  fill_rotary(rotary, 0, positions, [&](std::int64_t j) { return frequency(j, 2 * rotary.half, scaling) / factors[j]; });
  scale_rotary(rotary, positions, scaling);
}

namespace {

// Rotates the pairs of a head by the angles with these cosines and sines; sign -1: back.
[[gnu::noinline]] void rotate_pairs(const Rotary& rotary, std::int64_t at, float sign, float* x) {
  const std::int64_t next = rotary.interleaved ? 1 : rotary.half, step = rotary.interleaved ? 2 : 1;
  for (std::int64_t j = 0; j < rotary.half; ++j) {
    float &low = x[j * step], &high = x[j * step + next];
    const float a = low, b = high, cos = rotary.cos[at + j], sin = sign * rotary.sin[at + j];
    low = a * cos - b * sin;
    high = b * cos + a * sin;
  }
}

}  // namespace

void rotate_heads(const Compute& compute, const Rotary& rotary, std::span<const std::int32_t> position_ids, std::int64_t heads,
                  std::int64_t stride, float* x) {
  for_parts(compute, static_cast<std::int64_t>(position_ids.size()), 1, 32, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = position_ids[i] * rotary.half;
      for (std::int64_t head = 0; head < heads; ++head) {
        float* const of_head = x + i * stride + head * rotary.head_dim();
        if (rotary.interleaved) {
          rotate_pairs(rotary, at, 1, of_head);
        } else {
          compute.kernels.rotate(of_head, rotary.cos + at, rotary.sin + at, rotary.half);
        }
      }
    }
  });
}

void rotate_heads_backward(const Compute& compute, const Rotary& rotary, std::span<const std::int32_t> position_ids,
                           std::int64_t heads, std::int64_t stride, float* dx) {
  for_parts(compute, static_cast<std::int64_t>(position_ids.size()), 1, 32, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t head = 0; head < heads; ++head) {
        rotate_pairs(rotary, position_ids[i] * rotary.half, -1, dx + i * stride + head * rotary.head_dim());
      }
    }
  });
}

double sinusoidal_angle(std::int64_t position, std::int64_t power, std::int64_t width, double base) {
  return static_cast<double>(position) / pow64(base, static_cast<double>(power) / static_cast<double>(width));
}

DistanceBias take_distance_bias(Arena& arena, std::int64_t heads, std::int64_t span) {
  return {span, arena.take<float>(heads * (2 * span - 1))};
}

float alibi_slope(std::int64_t head, std::int64_t heads) {
  // 2^(-8 i / n) with i from 1 for the largest power of two n; further heads take every other slope of 2n.
  const auto power_of_two = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const double exponent = head < power_of_two
                              ? static_cast<double>(head + 1) / static_cast<double>(power_of_two)
                              : static_cast<double>(2 * (head - power_of_two) + 1) / static_cast<double>(2 * power_of_two);
  return static_cast<float>(pow64(2, -8 * exponent));
}

void set_alibi(DistanceBias& bias, std::int64_t heads) {
  for (std::int64_t head = 0; head < heads; ++head) {
    const float slope = alibi_slope(head, heads);
    for (std::int64_t d = 1 - bias.span; d < bias.span; ++d) bias.at(head)[d] = -slope * static_cast<float>(d < 0 ? -d : d);
  }
}

std::int64_t t5_bucket(std::int64_t distance, std::int64_t num_buckets, std::int64_t max_distance) {
  const std::int64_t one_way = num_buckets / 2;
  const std::int64_t exact = one_way / 2;
  const std::int64_t first = distance > 0 ? one_way : 0;
  const std::int64_t n = distance < 0 ? -distance : distance;
  if (n < exact) return first + n;
  // 1e-9: a distance exactly on a step belongs to the higher bucket, whatever the rounding of the logarithm.
  const double steps = log64(static_cast<double>(n) / static_cast<double>(exact)) /
                       log64(static_cast<double>(max_distance) / static_cast<double>(exact)) * static_cast<double>(one_way - exact);
  return first + std::min(exact + static_cast<std::int64_t>(steps + 1e-9), one_way - 1);
}

void set_t5_bucket(DistanceBias& bias, std::int64_t heads, std::int64_t bucket, std::int64_t num_buckets, std::int64_t max_distance,
                   const float* of_heads) {
  for (std::int64_t d = 1 - bias.span; d < bias.span; ++d) {
    if (t5_bucket(d, num_buckets, max_distance) != bucket) continue;
    for (std::int64_t head = 0; head < heads; ++head) bias.at(head)[d] = of_heads[head];
  }
}

void sum_t5_buckets(DistanceBias& bias, std::int64_t heads, std::int64_t num_buckets, std::int64_t max_distance) {
  std::vector<float> sums(static_cast<std::size_t>(heads * num_buckets));
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t d = 1 - bias.span; d < bias.span; ++d) {
      sums[static_cast<std::size_t>(t5_bucket(d, num_buckets, max_distance) * heads + head)] += std::as_const(bias).at(head)[d];
    }
  }
  for (std::int64_t bucket = 0; bucket < num_buckets; ++bucket) {
    set_t5_bucket(bias, heads, bucket, num_buckets, max_distance, sums.data() + bucket * heads);
  }
}

std::int64_t log_bucket(std::int64_t distance, std::int64_t num_buckets, std::int64_t max_distance) {
  const std::int64_t middle = num_buckets / 2;
  const std::int64_t n = distance < 0 ? -distance : distance;
  if (n <= middle) return distance;
  const auto mid = static_cast<double>(middle);
  const double steps = log64(static_cast<double>(n) / mid) / log64((static_cast<double>(max_distance) - 1) / mid) * (mid - 1);
  // 1e-9: as in t5_bucket, rounding up.
  const std::int64_t bucket = middle + static_cast<std::int64_t>(std::ceil(steps - 1e-9));
  return distance < 0 ? -bucket : bucket;
}

}  // namespace wattn
