#include "ops/linear.h"

#include <algorithm>
#include <cstddef>

#include "kernels/q4.h"
#include "kernels/quant.h"
#include "ops/matmul.h"

namespace wattn {
namespace {

// Columns unpacked at a time: enough to read the activations rarely, few enough to stay in the L2 cache.
constexpr std::int64_t kUnpackedColumns = 32;

// T: of the weights as they are multiplied; q4 stores codes for them.
template <class T>
void take_quantized(Arena& arena, Linear& layer) {
  const std::int64_t size = packed_size(layer.out, padded_depth<T>(layer.in));
  if (layer.type == WeightType::kQ4) {
    layer.weight = arena.take<std::uint8_t>(size / 2);
    layer.book = arena.take<std::uint8_t>(size / kQ4Part);
  } else {
    layer.weight = arena.take<T>(size);
  }
  layer.scale = arena.take<float>(size / kQuantGroup<T>);
  if (layer.step == 4) layer.sum = arena.take<std::int32_t>(size / kQuantGroup<T>);
}

template <class T>
PackedQuant<T> packed_of(const Linear& layer) {
  return {static_cast<T*>(layer.weight), layer.scale, layer.sum, layer.step};
}

PackedQ4 packed_q4_of(const Linear& layer) {
  return {static_cast<std::uint8_t*>(layer.weight), layer.book, layer.scale, layer.sum};
}

template <class T>
LinearScratch take_quantized_scratch(Arena& arena, std::int64_t max_tokens, std::int64_t max_in) {
  const std::int64_t size = max_tokens * padded_depth<T>(max_in);
  const std::int64_t groups = size / kQuantGroup<T>;
  LinearScratch scratch{{.q = arena.take<std::int16_t>(size), .scale = arena.take<float>(groups)}};
  if (sizeof(T) == 1) scratch.rows.zero = arena.take<std::int32_t>(groups);
  return scratch;
}

}  // namespace

Linear take_linear(Arena& arena, const Kernels& kernels, WeightType type, std::int64_t in, std::int64_t out, bool bias) {
  Linear layer{.in = in, .out = out, .type = type, .kernels = &kernels};
  switch (type) {
    case WeightType::kF32:
      layer.weight = arena.take<float>(packed_size(out, in));
      break;
    case WeightType::kQ16:
      layer.step = 2;
      take_quantized<std::int16_t>(arena, layer);
      break;
    case WeightType::kQ8:
    case WeightType::kQ4:
      layer.step = kernels.q8_step;
      take_quantized<std::int8_t>(arena, layer);
      break;
  }
  layer.bias = bias ? arena.take<float>(out) : nullptr;
  return layer;
}

LinearScratch take_linear_scratch(Arena& arena, WeightType type, std::int64_t max_tokens, std::int64_t max_in, int threads) {
  if (type == WeightType::kF32) return {};
  if (type == WeightType::kQ16) return take_quantized_scratch<std::int16_t>(arena, max_tokens, max_in);
  LinearScratch scratch = take_quantized_scratch<std::int8_t>(arena, max_tokens, max_in);
  if (type == WeightType::kQ8) return scratch;
  scratch.unpacked_bytes = kUnpackedColumns * padded_depth<std::int8_t>(max_in);
  scratch.unpacked = arena.take<std::int8_t>(threads * scratch.unpacked_bytes);
  return scratch;
}

void set_weight_row(const Linear& layer, std::int64_t j, const float* values) {
  switch (layer.type) {
    case WeightType::kF32:
      pack_row(static_cast<float*>(layer.weight), j, values, layer.in);
      break;
    case WeightType::kQ16:
      quantize_weight_row(packed_of<std::int16_t>(layer), j, values, layer.in);
      break;
    case WeightType::kQ8:
      quantize_weight_row(packed_of<std::int8_t>(layer), j, values, layer.in);
      break;
    case WeightType::kQ4:
      layer.kernels->quantize_q4_row(packed_q4_of(layer), j, values, layer.in);
      break;
  }
}

namespace {

// weight_at(i): the integer of column i.
template <class T, class WeightAt>
void scale_row(const Linear& layer, std::int64_t j, const WeightAt& weight_at, float* values) {
  const std::int64_t groups = padded_depth<T>(layer.in) / kQuantGroup<T>;
  const float* scales = layer.scale + j / kPanelWidth * kPanelWidth * groups + j % kPanelWidth;
  for (std::int64_t i = 0; i < layer.in; ++i) {
    values[i] = static_cast<float>(weight_at(i)) * scales[i / kQuantGroup<T> * kPanelWidth];
  }
}

template <class T>
void get_quantized_row(const Linear& layer, std::int64_t j, float* values) {
  const T* panel = static_cast<const T*>(layer.weight) + j / kPanelWidth * kPanelWidth * padded_depth<T>(layer.in);
  const auto weight_at = [&](std::int64_t i) {
    return panel[(i / layer.step * kPanelWidth + j % kPanelWidth) * layer.step + i % layer.step];
  };
  scale_row<T>(layer, j, weight_at, values);
}

}  // namespace

void add_weight_row(const Linear& layer, std::int64_t j, const float* values) {
  float* column = static_cast<float*>(layer.weight) + j / kPanelWidth * kPanelWidth * layer.in + j % kPanelWidth;
  for (std::int64_t i = 0; i < layer.in; ++i) column[i * kPanelWidth] += values[i];
}

void get_weight_row(const Linear& layer, std::int64_t j, float* values) {
  switch (layer.type) {
    case WeightType::kF32: {
      const float* column = static_cast<const float*>(layer.weight) + j / kPanelWidth * kPanelWidth * layer.in + j % kPanelWidth;
      for (std::int64_t i = 0; i < layer.in; ++i) values[i] = column[i * kPanelWidth];
      break;
    }
    case WeightType::kQ16:
      get_quantized_row<std::int16_t>(layer, j, values);
      break;
    case WeightType::kQ8:
      get_quantized_row<std::int8_t>(layer, j, values);
      break;
    case WeightType::kQ4:
      scale_row<std::int8_t>(layer, j, [&](std::int64_t i) { return q4_weight(packed_q4_of(layer), j, i, layer.in); }, values);
      break;
  }
}

void linear(const Compute& compute, const Linear& layer, const float* x, std::int64_t tokens, Activation activation,
            const LinearScratch& scratch, float* y) {
  // Threads split the columns, so that each reads only its own weights. 16 floats are a cache line.
  constexpr std::int64_t kColumnStep = 16, kLeastColumns = 48;
  const Kernels& kernels = compute.kernels;
  if (layer.type == WeightType::kF32) {
    for_parts(compute, layer.out, kColumnStep, kLeastColumns, [&](std::int64_t begin, std::int64_t end) {
      kernels.gemm_f32({.a = x,
                        .a_stride = layer.in,
                        .b = static_cast<const float*>(layer.weight) + begin * layer.in,
                        .bias = layer.bias ? layer.bias + begin : nullptr,
                        .c = y + begin,
                        .c_stride = layer.out,
                        .m = tokens,
                        .n = end - begin,
                        .k = layer.in,
                        .activation = activation});
    });
    return;
  }
  const bool q16 = layer.type == WeightType::kQ16;
  const std::int64_t group = q16 ? kQuantGroup<std::int16_t> : kQuantGroup<std::int8_t>;
  const std::int64_t depth = (layer.in + group - 1) / group * group;
  const std::int64_t groups = depth / group;
  const auto rows_from = [&](std::int64_t row, std::int64_t bytes) {
    const QuantizedRows& all = scratch.rows;
    return QuantizedRows{.q = static_cast<std::byte*>(all.q) + row * depth * bytes,
                         .scale = all.scale + row * groups,
                         .zero = all.zero ? all.zero + row * groups : nullptr};
  };
  // Bytes of a quantised activation: kernels with step 4 use one.
  const std::int64_t activation_bytes = layer.step == 4 ? 1 : 2;
  for_parts(compute, tokens, 1, 16, [&](std::int64_t begin, std::int64_t end) {
    const auto quantize = q16 ? kernels.quantize_q16 : kernels.quantize_q8;
    quantize(x + begin * layer.in, end - begin, layer.in, rows_from(begin, activation_bytes));
  });
  // Columns [begin, end), whose weights are at b.
  const auto multiply = [&](std::int64_t begin, std::int64_t end, const void* b) {
    const auto gemm = q16 ? kernels.gemm_q16 : kernels.gemm_q8;
    gemm({.a = scratch.rows,
          .b = b,
          .b_scale = layer.scale + begin * groups,
          .b_sum = layer.sum ? layer.sum + begin * groups : nullptr,
          .bias = layer.bias ? layer.bias + begin : nullptr,
          .c = y + begin,
          .c_stride = layer.out,
          .m = tokens,
          .n = end - begin,
          .k = depth,
          .activation = activation});
  };
  const std::byte* weight = static_cast<const std::byte*>(layer.weight);
  if (layer.type != WeightType::kQ4) {
    for_parts(compute, layer.out, kColumnStep, kLeastColumns,
              [&](std::int64_t begin, std::int64_t end) { multiply(begin, end, weight + begin * depth * (q16 ? 2 : 1)); });
    return;
  }
  for_parts(compute, layer.out, kColumnStep, kLeastColumns, [&](std::int64_t begin, std::int64_t end, int thread) {
    std::int8_t* unpacked = scratch.unpacked + thread * scratch.unpacked_bytes;
    for (std::int64_t col = begin; col < end; col += kUnpackedColumns) {
      const std::int64_t col_end = std::min(col + kUnpackedColumns, end);
      kernels.unpack_q4({.codes = reinterpret_cast<const std::uint8_t*>(weight) + col * depth / 2,
                         .books = layer.book + col * depth / kQ4Part,
                         .out = unpacked,
                         .n = col_end - col,
                         .k = layer.in});
      multiply(col, col_end, unpacked);
    }
  });
}

namespace {

// Rows of d_weight computed at a time.
constexpr std::int64_t kGradientRows = 64;

// Adds rows [first, first + count) of dy^T x to those of d_weight. columns: [count, tokens] of dy, transposed; product: [count,
// in].
void add_weight_rows(const Kernels& kernels, const LinearGradient& g, std::int64_t first, std::int64_t count, const float* packed_x,
                     float* columns, float* product) {
  for (std::int64_t t = 0; t < g.tokens; ++t) {
    for (std::int64_t j = 0; j < count; ++j) columns[j * g.tokens + t] = g.dy[t * g.out + first + j];
  }
  kernels.gemm_f32(
      {.a = columns, .a_stride = g.tokens, .b = packed_x, .c = product, .c_stride = g.in, .m = count, .n = g.in, .k = g.tokens});
  kernels.axpy(1.0f, product, g.d_weight + first * g.in, count * g.in);
}

}  // namespace

std::int64_t linear_backward_scratch(std::int64_t in, std::int64_t out, std::int64_t tokens) {
  const std::int64_t block = kGradientRows * (tokens + in);
  return std::max(matmul_scratch_size(in, out), matmul_scratch_size(in, tokens) + ThreadTeam::kMostThreads * block);
}

void linear_backward(const Compute& compute, const LinearGradient& g, float* scratch) {
  if (g.dx) {
    matmul(compute,
           {.a = g.dy,
            .a_stride = g.out,
            .b = g.weight,
            .b_stride = g.in,
            .b_is_transposed = true,
            .c = g.dx,
            .c_stride = g.in,
            .m = g.tokens,
            .n = g.in,
            .k = g.out},
           scratch);
  }
  if (g.d_bias) {
    for (std::int64_t t = 0; t < g.tokens; ++t) compute.kernels.axpy(1.0f, g.dy + t * g.out, g.d_bias, g.out);
  }
  if (!g.d_weight || g.tokens == 0) return;
  pack_transposed(scratch, g.x, g.in, g.tokens, g.in);
  float* blocks = scratch + matmul_scratch_size(g.in, g.tokens);
  for_parts(compute, g.out, 1, kGradientRows, [&](std::int64_t begin, std::int64_t end, int thread) {
    float* columns = blocks + thread * kGradientRows * (g.tokens + g.in);
    for (std::int64_t first = begin; first < end; first += kGradientRows) {
      const std::int64_t count = std::min(kGradientRows, end - first);
      add_weight_rows(compute.kernels, g, first, count, scratch, columns, columns + kGradientRows * g.tokens);
    }
  });
}

}  // namespace wattn
