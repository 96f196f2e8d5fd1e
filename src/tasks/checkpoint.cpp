#include "tasks/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wattn {

// A second Transformer is loaded with numbers that say which element of which tensor each weight is: so a layout is known to the
// slots alone (rows that are joined, transposed or permuted).
Result<std::vector<NamedTensor>> checkpoint(const Model& model) {
  const Transformer& transformer = model.transformer();
  if (transformer.weight_type() != WeightType::kF32) return input_error("checkpoint: expected a model loaded with dtype 'f32'");
  if (model.decoder()) return unsupported_error("checkpoint: an encoder-decoder cannot be saved yet");
  auto made = Transformer::with_config(transformer.config(), transformer.positions(), transformer.kernels(), WeightType::kF32);
  if (!made.ok()) return made.error();
  const Transformer& places = made.value();
  const std::span<float> ids = places.weights_f32();
  std::fill(ids.begin(), ids.end(), 0.0f);  // computed tables are not saved
  std::vector<NamedTensor> out;
  std::vector<std::uint32_t> first;  // the number of each tensor's first element, from 1
  std::uint32_t next = 1;
  for (const WeightSlot& slot : places.weight_slots(model.arch().names, false)) {
    const bool is_pooler = model.arch().names.pooler && slot.name.starts_with(model.arch().names.pooler);
    if (!slot.write_row || (is_pooler && !transformer.has_pooler())) continue;
    const std::int64_t width = slot.shape.back(), rows = slot.shape.size() > 1 ? slot.shape.front() : 1;
    std::vector<float> row(static_cast<std::size_t>(width));
    first.push_back(next);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (float& number : row) number = std::bit_cast<float>(next++);
      slot.write_row(i, row.data());
    }
    out.push_back({slot.name, slot.shape, std::vector<float>(static_cast<std::size_t>(rows * width))});
  }
  first.push_back(next);
  const std::span<float> weights = transformer.weights_f32();
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto id = std::bit_cast<std::uint32_t>(ids[i]);
    if (id == 0) continue;
    if (id < first[tensor] || id >= first[tensor + 1]) {
      tensor = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), id) - first.begin()) - 1;
    }
    out[tensor].values[id - first[tensor]] = weights[i];
  }
  return out;
}

}  // namespace wattn
