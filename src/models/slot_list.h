// SlotList: where the tensors of a checkpoint go, as a model lists them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/weight_loader.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/position.h"

namespace wattn {

// Collects the slots of one model.
struct SlotList {
  std::vector<WeightSlot> slots;

  void vector(std::string name, float* values, std::int64_t size, bool required = true) {
    slots.push_back({std::move(name), {size}, required, [values, size](std::int64_t, const float* row) {
                       std::copy(row, row + size, values);
                     }});
  }
  void matrix(const std::string& name, std::int64_t rows, std::int64_t width, bool required,
              std::function<void(std::int64_t row, const float* values)> write_row) {
    slots.push_back({name + ".weight", {rows, width}, required, std::move(write_row)});
  }
  // The checkpoint's table has `skipped` more rows at its beginning, which are not used.
  void table(const std::string& name, const Embedding& embedding, std::int64_t skipped = 0) {
    slots.push_back({name + ".weight",
                     {skipped + embedding.rows, embedding.hidden},
                     true,
                     [embedding, skipped](std::int64_t i, const float* row) {
                       if (i >= skipped) set_row(embedding, i - skipped, row);
                     }});
  }
  // Of a table or a bias of T5's buckets, [buckets, heads]; `buckets` counts both ways.
  void distances(const std::string& name, const DistanceBias& bias, std::int64_t heads, std::int64_t rows, std::int64_t buckets,
                 std::int64_t max_distance) {
    slots.push_back({name + ".weight", {rows, heads}, true, [=](std::int64_t i, const float* row) {
                       DistanceBias out = bias;
                       set_t5_bucket(out, heads, i, buckets, max_distance, row);
                     }});
  }
  void norm(const std::string& name, const LayerNorm& norm, bool bias) {
    vector(name + ".weight", norm.gamma, norm.hidden);
    if (bias) vector(name + ".bias", norm.beta, norm.hidden);
  }
  // Rows first .. first + out of a Linear that may hold several of the checkpoint's.
  void linear(const std::string& name, const Linear& layer, std::int64_t first, std::int64_t out, bool bias = true,
              bool required = true) {
    slots.push_back({name + ".weight", {out, layer.in}, required, [layer, first](std::int64_t i, const float* row) {
                       set_weight_row(layer, first + i, row);
                     }});
    if (bias) vector(name + ".bias", layer.bias + first, out, required);
  }
  // The same from a matrix that the checkpoint stores as [in, out]: its rows are kept until the last one has arrived.
  void transposed_linear(const std::string& name, const Linear& layer, std::int64_t first, std::int64_t out, bool bias) {
    const auto kept = std::make_shared<std::vector<float>>();
    matrix(name, layer.in, out, true, [=](std::int64_t i, const float* row) {
      if (i == 0) kept->reserve(static_cast<std::size_t>(layer.in * out));
      kept->insert(kept->end(), row, row + out);
      if (i + 1 < layer.in) return;
      std::vector<float> column(static_cast<std::size_t>(layer.in));
      for (std::int64_t j = 0; j < out; ++j) {
        for (std::int64_t k = 0; k < layer.in; ++k) column[k] = (*kept)[k * out + j];
        set_weight_row(layer, first + j, column.data());
      }
      *kept = {};
    });
    if (bias) vector(name + ".bias", layer.bias + first, out);
  }
  // The same from a matrix of heads whose rows alternate between the first and the second half of each head.
  void rope_permuted_linear(const std::string& name, const Linear& layer, std::int64_t first, std::int64_t out,
                            std::int64_t head_dim, bool bias) {
    const auto target = [=](std::int64_t i) {
      const std::int64_t at = i % head_dim;
      return first + i - at + at % 2 * (head_dim / 2) + at / 2;
    };
    matrix(name, out, layer.in, true, [=](std::int64_t i, const float* row) { set_weight_row(layer, target(i), row); });
    if (!bias) return;
    slots.push_back({name + ".bias", {out}, true, [=](std::int64_t, const float* row) {
                       for (std::int64_t i = 0; i < out; ++i) layer.bias[target(i)] = row[i];
                     }});
  }
  // A whole Linear whose halves come in the other order.
  void swapped_linear(const std::string& name, const Linear& layer, bool bias) {
    const std::int64_t half = layer.out / 2;
    slots.push_back({name + ".weight", {layer.out, layer.in}, true, [layer, half](std::int64_t i, const float* row) {
                       set_weight_row(layer, i < half ? i + half : i - half, row);
                     }});
    if (!bias) return;
    slots.push_back({name + ".bias", {layer.out}, true, [layer, half](std::int64_t, const float* row) {
                       std::copy_n(row, half, layer.bias + half);
                       std::copy_n(row + half, half, layer.bias);
                     }});
  }
};

// Puts more into slots. A tensor that two parts of a model want (a pooler, a table of words) has one slot, which fills both and
// must be filled.
inline void add_slots(std::vector<WeightSlot> more, std::vector<WeightSlot>& slots) {
  for (WeightSlot& slot : more) {
    const auto at = std::find_if(slots.begin(), slots.end(), [&](const WeightSlot& one) { return one.name == slot.name; });
    if (at == slots.end() || at->shape != slot.shape) {
      slots.push_back(std::move(slot));
      continue;
    }
    at->required = true;
    at->write_row = [first = std::move(at->write_row), second = std::move(slot.write_row)](std::int64_t row, const float* values) {
      first(row, values);
      second(row, values);
    };
  }
}

}  // namespace wattn
