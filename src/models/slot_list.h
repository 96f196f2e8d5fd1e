// SlotList: where the tensors of a checkpoint go, as a model lists them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "io/weight_loader.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"

namespace wattn {

// Collects the slots of one model.
struct SlotList {
  std::vector<WeightSlot> slots;

  void vector(std::string name, float* values, std::int64_t size, bool required = true) {
    slots.push_back({std::move(name), {size}, required, [values, size](std::int64_t, const float* row) {
                       std::copy(row, row + size, values);
                     }});
  }
  void table(const std::string& name, const Embedding& embedding) {
    slots.push_back({name + ".weight", {embedding.rows, embedding.hidden}, true, [embedding](std::int64_t i, const float* row) {
                       set_row(embedding, i, row);
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

}  // namespace wattn
