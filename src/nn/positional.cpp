#include "nn/positional.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/real_math.h"
#include "ops/position.h"

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

// The same with the numbers of a table, which at(head, offset) gives the place of.
Result<Tensor> over_table(const Tensor& table, std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t past,
                          const auto& at) {
  auto out =
      over_offsets(heads, queries, keys, past, [&](std::int64_t head, std::int64_t offset) { return *table.at(at(head, offset)); });
  if (!out.ok()) return out;
  record(out.value(), {&table}, [&] {
    return [at, queries, keys, past, size = out.value().size()](const Flow& flow) {
      float* d_table = flow.to(0);
      for (std::int64_t i = 0; i < size; ++i)
        d_table[at(i / (queries * keys), i % keys - (i / keys % queries + past))] += flow.dy[i];
    };
  });
  return out;
}

// Moves each head's pairs (2i, 2i + 1) to (i, i + pairs) if apart, else back.
void move_pairs(std::span<float> x, std::int64_t pairs, bool apart) {
  std::vector<float> head(static_cast<std::size_t>(2 * pairs));
  for (float* first = x.data(); first < x.data() + x.size(); first += 2 * pairs) {
    std::copy_n(first, 2 * pairs, head.begin());
    for (std::int64_t i = 0; i < 2 * pairs; ++i) {
      const std::int64_t beside = i / pairs + i % pairs * 2;
      first[apart ? i : beside] = head[static_cast<std::size_t>(apart ? beside : i)];
    }
  }
}

// Rotates rows of heads side by side in place, or back.
void rotate_rows(std::span<float> x, std::int64_t seq, std::int64_t heads, std::int64_t pairs, const Rotary& rotary, bool back) {
  if (x.empty()) return;
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / (2 * heads * pairs);
  std::vector<float> cos(static_cast<std::size_t>(seq * pairs)), sin(cos.size());
  const wattn::Rotary table{pairs, cos.data(), sin.data()};
  set_rotary(table, rotary.first, seq, {.theta = rotary.base});
  std::vector<std::int32_t> table_rows(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) table_rows[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % seq);
  if (rotary.interleaved) move_pairs(x, pairs, true);
  (back ? rotate_heads_backward : rotate_heads)(compute(), table, table_rows, heads, 2 * heads * pairs, x.data());
  if (rotary.interleaved) move_pairs(x, pairs, false);
}

}  // namespace

Result<Tensor> sinusoidal(std::int64_t length, std::int64_t dim, SinusoidalForm form, double base) {
  auto out = Tensor::zeros({length, dim});
  if (!out.ok()) return out;
  if (!(base > 0)) return input_error("nn.positional.sinusoidal: expected a base above 0, found " + std::to_string(base));
  for (std::int64_t i = 0; i < out.value().size(); ++i) {
    const std::int64_t position = i / dim, column = i % dim;
    const std::int64_t power = form == SinusoidalForm::kVaswani ? column - column % 2 : 2 * column;
    const double angle = sinusoidal_angle(position, power, dim, base);
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
  const std::int64_t heads = table.rank() == 2 ? table.dim(1) : 0, rows = table.dim(0);
  return over_table(table, heads, queries, keys, past, [=](std::int64_t head, std::int64_t offset) {
    return relative_row(offset, rows) * std::max<std::int64_t>(heads, 1) + (heads == 0 ? 0 : head);
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
  record(out.value(), {&q, &table}, [&] {
    return [q = q.data, table, queries, keys, past, d, size = out.value().size()](const Flow& flow) {
      const Kernels& kernels = compute().kernels;
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t row = i / keys, entry = relative_row(i % keys - (row % queries + past), table.dim(0));
        if (flow.wants(0)) kernels.axpy(flow.dy[i], table.at(entry * d), flow.to(0) + row * d, d);
        if (flow.wants(1)) kernels.axpy(flow.dy[i], q.data() + row * d, flow.to(1) + entry * d, d);
      }
    };
  });
  return out;
}

Result<Tensor> t5_buckets(std::int64_t queries, std::int64_t keys, const T5Buckets& buckets, std::int64_t past) {
  const std::int64_t exact = buckets.num_buckets / (buckets.bidirectional ? 4 : 2);
  if (exact < 1 || buckets.max_distance <= exact) {
    return input_error(
        "nn.positional.t5_buckets: expected max_distance above a quarter of num_buckets (half, in one direction), found " +
        std::to_string(buckets.max_distance) + " for " + std::to_string(buckets.num_buckets) + " buckets");
  }
  return over_offsets(0, queries, keys, past, [&](std::int64_t, std::int64_t offset) {
    const std::int64_t bucket = buckets.bidirectional
                                    ? t5_bucket(offset, buckets.num_buckets, buckets.max_distance)
                                    : t5_bucket(std::min<std::int64_t>(offset, 0), 2 * buckets.num_buckets, buckets.max_distance);
    return static_cast<float>(bucket);
  });
}

Result<Tensor> t5_bias(const Tensor& table, std::int64_t queries, std::int64_t keys, const T5Buckets& buckets, std::int64_t past) {
  if (table.rank() != 2 || table.dim(0) != buckets.num_buckets) {
    return wrong_shape("nn.positional.t5_bias", "table", "[" + std::to_string(buckets.num_buckets) + ", heads]", table.dims);
  }
  const auto rows = t5_buckets(queries, keys, buckets, past);
  if (!rows.ok()) return rows;
  const std::int64_t heads = table.dim(1);
  // Offset o of every query and key has one bucket: that of the first query with it.
  return over_table(table, heads, queries, keys, past, [=, rows = rows.value().data](std::int64_t head, std::int64_t offset) {
    const std::int64_t query = std::max<std::int64_t>(0, -offset - past), key = offset + query + past;
    return static_cast<std::int64_t>(rows[static_cast<std::size_t>(query * keys + key)]) * heads + head;
  });
}

Result<Tensor> alibi_slopes(std::int64_t heads) {
  auto out = Tensor::zeros({heads});
  if (!out.ok()) return out;
  for (std::int64_t i = 0; i < heads; ++i) *out.value().at(i) = alibi_slope(i, heads);
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
  rotate(out, x.dim(-2), 1, rotary);
  return out;
}

void rotate(Tensor& x, std::int64_t seq, std::int64_t heads, const Rotary& rotary) {
  const std::int64_t pairs = x.dim(-1) / heads / 2;
  rotate_rows(x.data, seq, heads, pairs, rotary, false);
  Tensor before;
  before.node = x.node;
  record(x, {&before}, [&] {
    return [seq, heads, pairs, rotary, size = x.data.size()](const Flow& flow) {
      std::vector<float> dx(flow.dy, flow.dy + size);
      rotate_rows(dx, seq, heads, pairs, rotary, true);
      compute().kernels.axpy(1.0f, dx.data(), flow.to(0), static_cast<std::int64_t>(size));
    };
  });
}

}  // namespace wattn::nn
