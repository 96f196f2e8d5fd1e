// build: -Os
#include "ops/linear.h"

#include <algorithm>
#include <cstddef>

#include "kernels/half.h"
#include "kernels/pack.h"
#include "kernels/q4.h"
#include "kernels/quant.h"
#include "ops/lora.h"

namespace wattn {
namespace {

// Columns unpacked at a time: enough to read the activations rarely, few enough to stay in the L2 cache.
constexpr std::int64_t kUnpackedColumns = 32;
// The same for f16, in floats: at most this many, in whole panels.
constexpr std::int64_t kWidened = 1 << 16;

std::int64_t widened_columns(std::int64_t in) {
  return std::max(kWidened / std::max<std::int64_t>(in, 1) / kPanelWidth, std::int64_t{1}) * kPanelWidth;
}

std::int64_t whole_panels(std::int64_t n) { return (n + kPanelWidth - 1) / kPanelWidth * kPanelWidth; }

// Row j of W in f16, elements kPanelWidth apart.
std::uint16_t* half_row(const LinearWeights& layer, std::int64_t j) {
  return static_cast<std::uint16_t*>(layer.weight) + j / kPanelWidth * kPanelWidth * layer.in + j % kPanelWidth;
}

// T: of the weights as they are multiplied; q4 stores codes for them.
template <class T>
void take_quantized(Arena& arena, LinearWeights& layer) {
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
PackedQuant<T> packed_of(const LinearWeights& layer) {
  return {static_cast<T*>(layer.weight), layer.scale, layer.sum, layer.step};
}

PackedQ4 packed_q4_of(const LinearWeights& layer) {
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

LinearWeights take_linear(Arena& arena, const Kernels& kernels, WeightType type, std::int64_t in, std::int64_t out, bool bias) {
  LinearWeights layer{.in = in, .out = out, .type = type, .kernels = &kernels};
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
    case WeightType::kF16:
      layer.weight = arena.take<std::uint16_t>(packed_size(out, in));
      layer.scale = arena.take<float>(whole_panels(out));
      break;
  }
  layer.bias = bias ? arena.take<float>(out) : nullptr;
  return layer;
}

LinearScratch take_linear_scratch(Arena& arena, WeightType type, std::int64_t max_tokens, std::int64_t max_in, int threads) {
  if (type == WeightType::kF32) return {};
  if (type == WeightType::kF16) {
    const std::int64_t floats = std::max(kWidened, kPanelWidth * max_in);
    return {.rows = {},
            .unpacked = reinterpret_cast<std::int8_t*>(arena.take<float>(threads * floats)),
            .unpacked_bytes = floats * static_cast<std::int64_t>(sizeof(float))};
  }
  if (type == WeightType::kQ16) return take_quantized_scratch<std::int16_t>(arena, max_tokens, max_in);
  LinearScratch scratch = take_quantized_scratch<std::int8_t>(arena, max_tokens, max_in);
  if (type == WeightType::kQ8) return scratch;
  scratch.unpacked_bytes = kUnpackedColumns * padded_depth<std::int8_t>(max_in);
  scratch.unpacked = arena.take<std::int8_t>(threads * scratch.unpacked_bytes);
  return scratch;
}

bool set_weight_blocks(const LinearWeights& layer, std::int64_t j, const char* blocks) {
  if (layer.type != WeightType::kQ8 || layer.in % kQuantGroup<std::int8_t> != 0) return false;
  return pack_blocks(packed_of<std::int8_t>(layer), j, blocks, layer.in);
}

void set_weight_row(const LinearWeights& layer, std::int64_t j, const float* values) {
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
    case WeightType::kF16:
      layer.scale[j] = narrow_row(values, layer.in, half_row(layer, j), kPanelWidth);
      break;
  }
}

namespace {

// weight_at(i): the integer of column i.
template <class T, class WeightAt>
void scale_row(const LinearWeights& layer, std::int64_t j, const WeightAt& weight_at, float* values) {
  const std::int64_t groups = padded_depth<T>(layer.in) / kQuantGroup<T>;
  const float* scales = layer.scale + j / kPanelWidth * kPanelWidth * groups + j % kPanelWidth;
  for (std::int64_t i = 0; i < layer.in; ++i) {
    values[i] = static_cast<float>(weight_at(i)) * scales[i / kQuantGroup<T> * kPanelWidth];
  }
}

template <class T>
void get_quantized_row(const LinearWeights& layer, std::int64_t j, float* values) {
  const T* panel = static_cast<const T*>(layer.weight) + j / kPanelWidth * kPanelWidth * padded_depth<T>(layer.in);
  const auto weight_at = [&](std::int64_t i) {
    return panel[(i / layer.step * kPanelWidth + j % kPanelWidth) * layer.step + i % layer.step];
  };
  scale_row<T>(layer, j, weight_at, values);
}

}  // namespace

void add_weight_row(const LinearWeights& layer, std::int64_t j, const float* values) {
  float* column = static_cast<float*>(layer.weight) + j / kPanelWidth * kPanelWidth * layer.in + j % kPanelWidth;
  for (std::int64_t i = 0; i < layer.in; ++i) column[i * kPanelWidth] += values[i];
}

std::span<float> weights_f32(const LinearWeights& layer) {
  return {static_cast<float*>(layer.weight), static_cast<std::size_t>(packed_size(layer.out, layer.in))};
}

void get_weight_row(const LinearWeights& layer, std::int64_t j, float* values) {
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
    case WeightType::kF16:
      widen_row(half_row(layer, j), layer.scale[j], layer.in, kPanelWidth, false, values);
      break;
  }
}

void add_q4_sums(const LinearWeights& layer, std::int32_t* sums) {
  constexpr std::int64_t kGroup = kQuantGroup<std::int8_t>;
  const std::int64_t groups = padded_depth<std::int8_t>(layer.in) / kGroup;
  for (std::int64_t j = 0; j < layer.out; ++j) {
    std::int32_t* row = sums + j / kPanelWidth * groups * kPanelWidth + j % kPanelWidth;
    for (std::int64_t i = 0; i < layer.in; ++i) row[i / kGroup * kPanelWidth] += q4_weight(packed_q4_of(layer), j, i, layer.in);
  }
}

std::span<const std::int8_t> q4_entries() { return kQ4Entries; }

void linear(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t tokens, Activation activation,
            const LinearScratch& scratch, float* y) {
  if (compute.lora) return changed_linear(compute, layer, x, tokens, activation, scratch, y);
  if (is_more(activation)) {
    linear(compute, layer, x, tokens, Activation::kNone, scratch, y);
    for_parts(compute, tokens, 1, 16, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * layer.out;
      compute.kernels.activate(activation, y + at, y + at, (end - begin) * layer.out);
    });
    return;
  }
  const Kernels& kernels = compute.kernels;
  const bool f16 = layer.type == WeightType::kF16, q4 = layer.type == WeightType::kQ4, q16 = layer.type == WeightType::kQ16;
  const bool quantized = !f16 && layer.type != WeightType::kF32;
  const bool unpacked_q4 = q4 && tokens > 1;
  const std::int64_t group = !quantized ? 1 : q16 ? kQuantGroup<std::int16_t> : kQuantGroup<std::int8_t>;
  const std::int64_t depth = (layer.in + group - 1) / group * group;
  const std::int64_t groups = depth / group;
  if (quantized) {
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
  }
  // Threads split the columns, so that each reads only its own weights. 16 floats are a cache line.
  constexpr std::int64_t kColumnStep = 16, kLeastColumns = 48;
  for_parts(compute, layer.out, kColumnStep, kLeastColumns, [&](std::int64_t begin, std::int64_t end, int thread) {
    const std::int64_t together = unpacked_q4 ? kUnpackedColumns : f16 ? widened_columns(layer.in) : end - begin;
    const std::int64_t half_bytes = q4 ? 1 : quantized && !q16 ? 2 : layer.type == WeightType::kF32 ? 8 : 4;  // of a weight
    for (std::int64_t col = begin; col < end; col += together) {
      const std::int64_t n = std::min(together, end - col);
      const auto* stored = static_cast<const std::uint8_t*>(layer.weight) + col * depth * half_bytes / 2;
      const void* b = stored;
      const std::uint8_t* books = q4 ? layer.book + col * depth / kQ4Part : nullptr;
      if (unpacked_q4 || f16) {
        std::int8_t* unpacked = scratch.unpacked + thread * scratch.unpacked_bytes;
        b = unpacked;
        if (q4) {
          kernels.unpack_q4({.codes = stored, .books = books, .out = unpacked, .n = n, .k = layer.in});
        } else {
          widen_panels(half_row(layer, col), layer.scale + col, n, depth, reinterpret_cast<float*>(unpacked));
        }
      }
      const float* bias = layer.bias ? layer.bias + col : nullptr;
      if (quantized) {
        const auto gemm = q16 ? kernels.gemm_q16 : q4 && !unpacked_q4 ? kernels.gemm_q4 : kernels.gemm_q8;
        gemm({.a = scratch.rows,
              .b = b,
              .b_book = books,
              .b_scale = layer.scale + col * groups,
              .b_sum = layer.sum ? layer.sum + col * groups : nullptr,
              .bias = bias,
              .c = y + col,
              .c_stride = layer.out,
              .m = tokens,
              .n = n,
              .k = depth,
              .activation = activation});
      } else {
        kernels.gemm_f32({.a = x,
                          .a_stride = depth,
                          .b = static_cast<const float*>(b),
                          .bias = bias,
                          .c = y + col,
                          .c_stride = layer.out,
                          .m = tokens,
                          .n = n,
                          .k = depth,
                          .activation = activation});
      }
    }
  });
}

std::vector<float> run_linear(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t rows,
                              Activation activation) {
  std::vector<float> out(static_cast<std::size_t>(rows * layer.out));
  linear(compute, layer, x, rows, activation, {}, out.data());
  return out;
}

namespace {

// Rows and columns of d_weight computed at a time. Columns: of x, all tokens of which are packed.
constexpr std::int64_t kGradientRows = 64;
constexpr std::int64_t kGradientColumns = 768;
// Rows of W packed at a time for dx: all of a layer's, but not of a vocabulary's.
constexpr std::int64_t kPackedRows = 4096;

// Packs rows [first, first + count) of W as the right side of dy W: [ceil(in / 8)][count][8]. first is a multiple of 8. row: [in].
void pack_weight_rows(const LinearGradient& g, std::int64_t first, std::int64_t count, float* row, float* packed) {
  if (g.weight) return pack_transposed(packed, g.weight + first * g.in, g.in, count, g.in);
  if (g.layer->type != WeightType::kF32) {
    for (std::int64_t j = 0; j < count; ++j) {
      get_weight_row(*g.layer, first + j, row);
      for (std::int64_t i = 0; i < g.in; i += kPanelWidth) {
        std::copy_n(row + i, std::min(kPanelWidth, g.in - i), packed + i * count + j * kPanelWidth);
      }
    }
    return;
  }
  const float* panels = static_cast<const float*>(g.layer->weight) + first * g.in;
  for (std::int64_t i = 0; i < g.in; i += kPanelWidth) {
    const std::int64_t columns = std::min(kPanelWidth, g.in - i);
    for (std::int64_t j = 0; j < count; j += kPanelWidth) {
      const float* from = panels + j * g.in + i * kPanelWidth;
      float* to = packed + i * count + j * kPanelWidth;
      const std::int64_t rows = std::min(kPanelWidth, count - j);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) to[r * kPanelWidth + c] = from[c * kPanelWidth + r];
      }
    }
  }
}

// Columns [begin, end) of x.
struct Columns {
  std::int64_t begin, end;
  const float* packed;
};

// Adds rows [first, first + count) and some columns of dy^T x to those of d_weight. first is a multiple of 8. transposed:
// [count, tokens] of dy; product: [count, columns].
void add_weight_rows(const Kernels& kernels, const LinearGradient& g, std::int64_t first, std::int64_t count,
                     const Columns& columns, float* transposed, float* product) {
  // A cache line at a time: with 1,024 tokens all rows of `transposed` map to the same cache sets.
  constexpr std::int64_t kLine = 16;
  for (std::int64_t from = 0; from < g.tokens; from += kLine) {
    const std::int64_t end = std::min(from + kLine, g.tokens);
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::int64_t t = from; t < end; ++t) transposed[j * g.tokens + t] = g.dy[t * g.out + first + j];
    }
  }
  const std::int64_t n = columns.end - columns.begin;
  kernels.gemm_f32(
      {.a = transposed, .a_stride = g.tokens, .b = columns.packed, .c = product, .c_stride = n, .m = count, .n = n, .k = g.tokens});
  for (std::int64_t j = 0; g.d_weight && j < count; ++j) {
    kernels.axpy(1.0f, product + j * n, g.d_weight + (first + j) * g.in + columns.begin, n);
  }
  for (std::int64_t j = 0; g.d_layer && j < count; j += kPanelWidth) {
    float* panel = static_cast<float*>(g.d_layer->weight) + (first + j) * g.in + columns.begin * kPanelWidth;
    const float* rows = product + j * n;
    const std::int64_t width = std::min(kPanelWidth, count - j);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t r = 0; r < width; ++r) panel[i * kPanelWidth + r] += rows[r * n + i];
    }
  }
}

// dx of rows [first, first + count) of W; written by the first ones, then added to.
void add_dx(const Compute& compute, const LinearGradient& g, std::int64_t first, std::int64_t count, float* scratch) {
  float* packed = scratch;
  float* product = packed + whole_panels(g.in) * count;
  pack_weight_rows(g, first, count, product, packed);
  for_parts(compute, g.tokens, 1, 16, [&](std::int64_t begin, std::int64_t end) {
    float* to = (first == 0 ? g.dx : product) + begin * g.in;
    compute.kernels.gemm_f32({.a = g.dy + begin * g.out + first,
                              .a_stride = g.out,
                              .b = packed,
                              .c = to,
                              .c_stride = g.in,
                              .m = end - begin,
                              .n = g.in,
                              .k = count});
    if (first > 0) compute.kernels.axpy(1.0f, to, g.dx + begin * g.in, (end - begin) * g.in);
  });
}

}  // namespace

std::int64_t linear_backward_scratch(std::int64_t in, std::int64_t out, std::int64_t tokens, int threads) {
  const std::int64_t rows = std::min(out, kPackedRows), products = out > kPackedRows ? tokens : 1;
  const std::int64_t of_dx = whole_panels(in) * rows + products * in, columns = std::min(in, kGradientColumns);
  return std::max(of_dx, packed_size(columns, tokens) + threads * std::min(kGradientRows, out) * (tokens + columns));
}

void linear_backward(const Compute& compute, const LinearGradient& g, float* scratch) {
  for (float* d_bias : {g.d_bias, g.d_layer ? g.d_layer->bias : nullptr}) {
    for (std::int64_t t = 0; d_bias && t < g.tokens; ++t) compute.kernels.axpy(1.0f, g.dy + t * g.out, d_bias, g.out);
  }
  const bool wanted = (g.d_weight || g.d_layer) && g.tokens > 0;
  for (std::int64_t column = 0; wanted && column < g.in; column += kGradientColumns) {
    const Columns columns{column, std::min(column + kGradientColumns, g.in), scratch};
    const std::int64_t n = columns.end - column, block_rows = std::min(kGradientRows, g.out);
    pack_transposed(scratch, g.x + column, n, g.tokens, g.in);
    float* blocks = scratch + packed_size(n, g.tokens);
    for_parts(compute, g.out, kPanelWidth, kGradientRows, [&](std::int64_t begin, std::int64_t end, int thread) {
      float* transposed = blocks + thread * block_rows * (g.tokens + n);
      for (std::int64_t first = begin; first < end; first += kGradientRows) {
        const std::int64_t count = std::min(kGradientRows, end - first);
        add_weight_rows(compute.kernels, g, first, count, columns, transposed, transposed + block_rows * g.tokens);
      }
    });
  }
  for (std::int64_t first = 0; g.dx && first < g.out; first += kPackedRows) {
    add_dx(compute, g, first, std::min(kPackedRows, g.out - first), scratch);
  }
}

}  // namespace wattn
