// Rarer scalings of rotary positions; transformers/modeling_rope_utils.py (v5.23.0).
#include <algorithm>
#include <cmath>

#include "core/real_math.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

constexpr double kMostFactor = 1e6;

// 1 / frequency without scaling.
float wavelength(const RopeScaling& scaling, std::int64_t j, std::int64_t head_dim) {
  return static_cast<float>(pow64(scaling.theta, static_cast<float>(2 * j) / static_cast<float>(head_dim)));
}

// YaRN, arXiv 2309.00071: pairs that turn often stay, slow ones are divided by factor, with a ramp between.
float yarn_frequency(const RopeScaling& scaling, std::int64_t j, std::int64_t head_dim) {
  const auto dims = static_cast<double>(head_dim);
  const auto pair_of = [&](double rotations) {
    constexpr double kTwoPi = 6.283185307179586;
    return dims * log64(scaling.original_max_position_embeddings / (rotations * kTwoPi)) / (2 * log64(scaling.theta));
  };
  double low = pair_of(scaling.beta_fast), high = pair_of(scaling.beta_slow);
  if (scaling.truncate) low = std::floor(low);
  if (scaling.truncate) high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high) high += 0.001;
  const float kept = 1 - std::clamp((static_cast<float>(j) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0f, 1.0f);
  const float wave = wavelength(scaling, j, head_dim);
  return 1 / (static_cast<float>(scaling.factor) * wave) * (1 - kept) + 1 / wave * kept;
}

// LongRoPE, arXiv 2402.13753: a factor for each pair.
float longrope_frequency(const RopeScaling& scaling, std::int64_t j, std::int64_t head_dim) {
  return 1 / (scaling.pair_factors[j] * wavelength(scaling, j, head_dim));
}

// factor, or how much longer texts are than those it was trained with.
double read_factor(Fields& config, Fields& rope, const RopeScaling& out) {
  const auto most = static_cast<double>(config.size("max_position_embeddings", kMostPositions));
  return rope.number_or("factor", most / out.original_max_position_embeddings, kMostFactor);
}

void read_yarn(Fields& config, Fields& rope, RopeScaling& out) {
  out.factor = read_factor(config, rope, out);
  const auto scale = [&](double weight) { return out.factor <= 1 ? 1 : 0.1 * weight * log64(out.factor) + 1; };
  const double mscale = rope.number_or("mscale", 1, kMostFactor), all = rope.number_or("mscale_all_dim", 1, kMostFactor);
  const bool both = rope.has("mscale") && rope.has("mscale_all_dim");
  out.attention_factor = rope.number_or("attention_factor", both ? scale(mscale) / scale(all) : scale(1), kMostFactor);
  out.beta_fast = rope.number_or("beta_fast", 32, kMostFactor);
  out.beta_slow = rope.number_or("beta_slow", 1, kMostFactor);
  out.truncate = rope.boolean_or("truncate", true);
  out.frequency = yarn_frequency;
}

// Texts beyond the trained length would have the frequencies of long_factor at every position, so they are not accepted.
void read_longrope(Fields& config, Fields& rope, RopeScaling& out) {
  const double old = out.original_max_position_embeddings;
  const double factor = read_factor(config, rope, out);
  const double usual = factor <= 1 ? 1 : std::sqrt(1 + log64(factor) / log64(old));
  out.attention_factor = rope.number_or("attention_factor", usual, kMostFactor);
  out.most_positions = static_cast<std::int64_t>(old);
  const JsonRef factors = rope.array("short_factor");
  const std::int64_t heads = config.size("num_attention_heads", kMostHeads);
  if (!rope.ok() || !config.ok()) return;
  const std::int64_t pairs =
      out.rotated(config.size_or("head_dim", kMostHeads, config.size("hidden_size", kMostWidth) / heads)) / 2;
  if (static_cast<std::int64_t>(factors.size()) != pairs || pairs > RopeScaling::kMostPairs) {
    rope.mismatch("short_factor",
                  "a number for each of " + std::to_string(pairs) + " pairs, at most " + std::to_string(RopeScaling::kMostPairs));
    return;
  }
  float* to = out.pair_factors;
  rope.each(factors, [&](JsonRef value) {
    const double number = rope.take(value.as_number());
    if (!(number >= 1e-2 && number <= kMostFactor)) rope.fail(value.mismatch("a number from 0.01 to 1000000"));
    *to++ = static_cast<float>(number);
  });
  out.frequency = longrope_frequency;
}

bool read_more_rope(Fields& config, Fields& rope, RopeScaling& out) {
  const std::string_view type = rope.string_or(rope.has("rope_type") ? "rope_type" : "type", "");
  if (type != "yarn" && type != "longrope" && type != "su") return false;
  constexpr const char* kOld = "original_max_position_embeddings";
  Fields& of_old = config.has(kOld) || !rope.has(kOld) ? config : rope;
  out.original_max_position_embeddings =
      static_cast<double>(of_old.size(of_old.has(kOld) ? kOld : "max_position_embeddings", kMostPositions));
  if (out.original_max_position_embeddings < 2) of_old.mismatch(kOld, "a whole number of at least 2");
  if (out.theta <= 1) rope.mismatch("rope_theta", "a number above 1");
  if (!config.ok() || !rope.ok()) return true;
  if (type == "yarn") {
    read_yarn(config, rope, out);
  } else {
    read_longrope(config, rope, out);
  }
  return true;
}

}  // namespace

const MoreRopeTypes kMoreRopeTypes{read_more_rope};

}  // namespace wattn
