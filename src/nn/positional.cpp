#include "nn/positional.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/real_math.h"

namespace wattn::nn {
namespace {

Result<Tensor> over_offsets(std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t past, const auto& f) {
  auto out = Tensor::zeros(heads == 0 ? Shape{queries, keys} : Shape{heads, queries, keys});
  if (!out.ok()) return out;
  for (std::int64_t i = 0; i < out.value().size(); ++i) {
    *out.value().at(i) = f(i / (queries * keys), i % keys - (i / keys % queries + past));
  }
  return out;
}

std::int64_t t5_bucket(std::int64_t offset, const T5Buckets& t5, float log_ratio) {
  std::int64_t buckets = t5.num_buckets, first = 0;
  if (t5.bidirectional) {
    buckets /= 2;
    if (offset > 0) first = buckets;
    offset = std::abs(offset);
  } else {
    offset = std::max<std::int64_t>(-offset, 0);
  }
  const std::int64_t exact = buckets / 2;
  if (offset < exact) return first + offset;
  // Each step rounded to f32, as the reference does.
  const auto part = static_cast<float>(log64(static_cast<float>(offset) / static_cast<float>(exact))) / log_ratio;
  const auto beyond = static_cast<std::int64_t>(part * static_cast<float>(buckets - exact));
  return first + std::min(exact + beyond, buckets - 1);
}

// cos and sin of each position and pair, [seq, pairs] each; frequency and angle are rounded to f32, as in transformers.
struct Turns {
  std::vector<float> cos, sin;
  Turns(std::int64_t seq, std::int64_t pairs, const Rotary& rotary) {
    cos.reserve(static_cast<std::size_t>(seq * pairs));
    sin.reserve(static_cast<std::size_t>(seq * pairs));
    for (std::int64_t p = 0; p < seq; ++p) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const auto frequency =
            static_cast<float>(1 / pow64(rotary.base, static_cast<double>(2 * i) / static_cast<double>(2 * pairs)));
        const float angle = static_cast<float>(rotary.first + p) * frequency;
        cos.push_back(static_cast<float>(cos64(angle)));
        sin.push_back(static_cast<float>(sin64(angle)));
      }
    }
  }
};

void rotate_row(float* x, std::int64_t pairs, const float* cos, const float* sin, bool interleaved) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    float& a = x[interleaved ? 2 * i : i];
    float& b = x[interleaved ? 2 * i + 1 : i + pairs];
    const float turned = a * cos[i] - b * sin[i];
    b = b * cos[i] + a * sin[i];
    a = turned;
  }
}

}  // namespace

Result<Tensor> sinusoidal(std::int64_t length, std::int64_t dim, SinusoidalForm form, double base) {
  auto out = Tensor::zeros({length, dim});
  if (!out.ok()) return out;
  if (!(base > 0)) return input_error("nn.positional.sinusoidal: expected a base above 0, found " + std::to_string(base));
  for (std::int64_t i = 0; i < out.value().size(); ++i) {
    const std::int64_t position = i / dim, column = i % dim;
    const std::int64_t power = form == SinusoidalForm::kVaswani ? column - column % 2 : 2 * column;
    const double angle = static_cast<double>(position) / pow64(base, static_cast<double>(power) / static_cast<double>(dim));
    *out.value().at(i) = static_cast<float>(column % 2 == 0 ? sin64(angle) : cos64(angle));
  }
  return out;
}

Result<Tensor> relative_offsets(std::int64_t queries, std::int64_t keys, std::int64_t past) {
  return over_offsets(0, queries, keys, past, [](std::int64_t, std::int64_t offset) { return static_cast<float>(offset); });
}

std::int64_t relative_row(std::int64_t offset, std::int64_t table_rows) {
  const std::int64_t reach = (table_rows - 1) / 2;
  return std::clamp(offset, -reach, reach) + reach;
}

Result<Tensor> relative_bias(const Tensor& table, std::int64_t queries, std::int64_t keys, std::int64_t past) {
  if (table.rank() < 1 || table.rank() > 2 || table.dim(0) % 2 == 0 || table.size() == 0) {
    return wrong_shape("nn.positional.relative_bias", "table", "[2r - 1] or [2r - 1, heads]", table.dims);
  }
  const std::int64_t heads = table.rank() == 2 ? table.dim(1) : 0;
  return over_offsets(heads, queries, keys, past, [&](std::int64_t head, std::int64_t offset) {
    return *table.at(relative_row(offset, table.dim(0)) * std::max<std::int64_t>(heads, 1) + (heads == 0 ? 0 : head));
  });
}

Result<Tensor> relative_scores(const Tensor& q, const Tensor& table, std::int64_t keys, std::int64_t past) {
  if (q.rank() < 2) return wrong_shape("nn.positional.relative_scores", "query", "[..., queries, d]", q.dims);
  if (table.rank() != 2 || table.dim(0) % 2 == 0 || table.dim(1) != q.dim(-1)) {
    return wrong_shape("nn.positional.relative_scores", "table", "[2r - 1, " + std::to_string(q.dim(-1)) + "]", table.dims);
  }
  Shape dims = q.dims;
  dims.back() = keys;
  auto out = Tensor::zeros(dims);
  if (!out.ok()) return out;
  const std::int64_t queries = q.dim(-2), d = q.dim(-1);
  for (std::int64_t i = 0; i < out.value().size(); ++i) {
    const std::int64_t row = i / keys;
    const std::int64_t offset = i % keys - (row % queries + past);
    *out.value().at(i) = compute().kernels.dot(q.at(row * d), table.at(relative_row(offset, table.dim(0)) * d), d);
  }
  return out;
}

Result<Tensor> t5_buckets(std::int64_t queries, std::int64_t keys, const T5Buckets& buckets, std::int64_t past) {
  const std::int64_t exact = buckets.num_buckets / (buckets.bidirectional ? 4 : 2);
  if (exact < 1 || buckets.max_distance <= exact) {
    return input_error(
        "nn.positional.t5_buckets: expected max_distance above a quarter of num_buckets (half, in one direction), found " +
        std::to_string(buckets.max_distance) + " for " + std::to_string(buckets.num_buckets) + " buckets");
  }
  const auto log_ratio = static_cast<float>(log64(static_cast<double>(buckets.max_distance) / static_cast<double>(exact)));
  return over_offsets(0, queries, keys, past,
                      [&](std::int64_t, std::int64_t offset) { return static_cast<float>(t5_bucket(offset, buckets, log_ratio)); });
}

Result<Tensor> t5_bias(const Tensor& table, std::int64_t queries, std::int64_t keys, const T5Buckets& buckets, std::int64_t past) {
  if (table.rank() != 2 || table.dim(0) != buckets.num_buckets) {
    return wrong_shape("nn.positional.t5_bias", "table", "[" + std::to_string(buckets.num_buckets) + ", heads]", table.dims);
  }
  const auto rows = t5_buckets(queries, keys, buckets, past);
  if (!rows.ok()) return rows;
  const std::int64_t heads = table.dim(1);
  auto out = Tensor::zeros({heads, queries, keys});
  if (!out.ok()) return out;
  for (std::int64_t i = 0; i < out.value().size(); ++i) {
    const auto bucket = static_cast<std::int64_t>(*rows.value().at(i % (queries * keys)));
    *out.value().at(i) = *table.at(bucket * heads + i / (queries * keys));
  }
  return out;
}

Result<Tensor> alibi_slopes(std::int64_t heads) {
  auto out = Tensor::zeros({heads});
  if (!out.ok()) return out;
  // For a power of two n: 2^(-8 i / n), i = 1 .. n. Other counts: those of the power below, then every other one of the next.
  std::int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  for (std::int64_t i = 0; i < heads; ++i) {
    const std::int64_t step = i < power ? 2 * (i + 1) : 2 * (i - power) + 1;
    *out.value().at(i) = static_cast<float>(pow64(2, -4.0 * static_cast<double>(step) / static_cast<double>(power)));
  }
  return out;
}

Result<Tensor> alibi_bias(std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t past) {
  const auto slopes = alibi_slopes(heads);
  if (!slopes.ok()) return slopes;
  return over_offsets(heads, queries, keys, past, [&](std::int64_t head, std::int64_t offset) {
    return -*slopes.value().at(head) * static_cast<float>(std::abs(offset));
  });
}

Result<Tensor> rotary(const Tensor& x, const Rotary& rotary) {
  if (x.rank() < 2 || x.dim(-1) % 2 != 0) return wrong_shape("nn.positional.rotary", "the input", "[..., seq, d], d even", x.dims);
  if (!(rotary.base > 0)) return input_error("nn.positional.rotary: expected a base above 0, found " + std::to_string(rotary.base));
  Tensor out = x;
  const std::int64_t seq = x.dim(-2), pairs = x.dim(-1) / 2;
  const Turns turns(seq, pairs, rotary);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    const std::int64_t at = row % seq * pairs;
    rotate_row(out.at(row * 2 * pairs), pairs, turns.cos.data() + at, turns.sin.data() + at, rotary.interleaved);
  }
  return out;
}

void rotate_heads(Tensor& x, std::int64_t heads, const Rotary& rotary) {
  const std::int64_t seq = x.dim(1), pairs = x.dim(2) / heads / 2;
  const Turns turns(seq, pairs, rotary);
  for (std::int64_t row = 0; row < x.rows() * heads; ++row) {
    const std::int64_t at = row / heads % seq * pairs;
    rotate_row(x.at(row * 2 * pairs), pairs, turns.cos.data() + at, turns.sin.data() + at, rotary.interleaved);
  }
}

}  // namespace wattn::nn
