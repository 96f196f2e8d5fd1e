// Positions inside attention: rotary embeddings, which rotate queries and keys, and biases that depend on the distance of query and
// key (ALiBi, T5's buckets). Tables are computed at load time with core/real_math.h, so every build has the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "core/arena.h"
#include "ops/compute.h"

namespace wattn {

// Rotary positions, arXiv 2104.09864: pair j of a head at position p is rotated by p * theta^(-2j / rotated).
struct Rotary {
  std::int64_t half = 0;  // rotated / 2: pairs of a head that rotate
  float* cos = nullptr;   // [positions, half]
  float* sin = nullptr;
  std::int64_t rest = 0;     // last dimensions of a head, which stay as they are
  bool interleaved = false;  // pair j is dimensions 2 j and 2 j + 1; else j and half + j
  std::int64_t head_dim() const { return 2 * half + rest; }
};

// Base of the frequencies and how they are stretched for longer contexts. Names are config.json's.
struct RopeScaling {
  enum class Type : std::uint8_t {
    kDefault,
    kLinear,  // every frequency divided by factor
    kNtk,     // theta multiplied by factor, every frequency divided by factor^(2 / head_dim): https://kexue.fm/archives/9706
    kLlama3,  // slow frequencies divided by factor, fast ones unchanged, interpolated between
  };
  Type type = Type::kDefault;
  double theta = 10000;
  double partial_rotary_factor = 1;  // of a head's dimensions: those that rotate
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_max_position_embeddings = 8192;
  static constexpr std::int64_t kMostPairs = 128;
  // The frequency of pair j for rarer types, in place of type (models/rope_types.cpp), and what it reads.
  float (*frequency)(const RopeScaling& scaling, std::int64_t j, std::int64_t head_dim) = nullptr;
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;
  float pair_factors[kMostPairs]{};
  double attention_factor = 1;      // of cosines and sines
  bool interleaved = false;         // of Rotary
  std::int64_t most_positions = 0;  // longer texts have other frequencies; 0: they have the same

  // The dimensions of a head that rotate, rounded down as in transformers.
  std::int64_t rotated(std::int64_t head_dim) const {
    return static_cast<std::int64_t>(static_cast<double>(head_dim) * partial_rotary_factor);
  }
};
// Frequencies and angles are rounded to f32 where PyTorch rounds them.
Rotary take_rotary(Arena& arena, std::int64_t positions, std::int64_t head_dim, const RopeScaling& scaling);
// Row i gets position first + i.
void set_rotary(const Rotary& rotary, std::int64_t first, std::int64_t positions, const RopeScaling& scaling);
// Divides every frequency by its factor, [head_dim / 2]: llama.cpp's form of Llama 3's scaling. Implausible factors give NaN.
void set_rotary_factors(const Rotary& rotary, std::int64_t positions, const RopeScaling& scaling, const float* factors);

// Rotates the first `heads` heads of each row of x in place; rows are stride apart. position_ids: [tokens].
void rotate_heads(const Compute& compute, const Rotary& rotary, std::span<const std::int32_t> position_ids, std::int64_t heads,
                  std::int64_t stride, float* x);

// The transpose of rotate_heads(), which is a rotation back: gradients of what was rotated, in place of those of the result.
void rotate_heads_backward(const Compute& compute, const Rotary& rotary, std::span<const std::int32_t> position_ids,
                           std::int64_t heads, std::int64_t stride, float* dx);

// position / base^(power / width): the angle of a sinusoidal encoding, arXiv 1706.03762 3.5.
double sinusoidal_angle(std::int64_t position, std::int64_t power, std::int64_t width, double base);

// Added to the score of a query at position i and a key at position j: at(head)[j - i].
struct DistanceBias {
  std::int64_t span = 0;    // positions: |j - i| < span
  float* values = nullptr;  // [heads, 2 * span - 1], or null for none
  const float* at(std::int64_t head) const { return values + head * (2 * span - 1) + span - 1; }
  float* at(std::int64_t head) { return values + head * (2 * span - 1) + span - 1; }
};

DistanceBias take_distance_bias(Arena& arena, std::int64_t heads, std::int64_t span);

// ALiBi, arXiv 2108.12409, in both directions: -alibi_slope(head, heads) * |j - i|.
float alibi_slope(std::int64_t head, std::int64_t heads);
void set_alibi(DistanceBias& bias, std::int64_t heads);

// T5's buckets (arXiv 1910.10683) in both directions, half of num_buckets each: the first half of these hold one distance, the rest
// equal steps of the logarithm up to max_distance.
std::int64_t t5_bucket(std::int64_t distance, std::int64_t num_buckets, std::int64_t max_distance);
// Sets every distance in this bucket to of_heads, [heads].
void set_t5_bucket(DistanceBias& bias, std::int64_t heads, std::int64_t bucket, std::int64_t num_buckets, std::int64_t max_distance,
                   const float* of_heads);

// Sets every distance to the sum of its bucket: the gradient of a weight that is repeated for each distance.
void sum_t5_buckets(DistanceBias& bias, std::int64_t heads, std::int64_t num_buckets, std::int64_t max_distance);

// DeBERTa's buckets (arXiv 2006.03654), signed: distances up to num_buckets / 2 have one each, longer ones share by the logarithm.
std::int64_t log_bucket(std::int64_t distance, std::int64_t num_buckets, std::int64_t max_distance);

}  // namespace wattn
