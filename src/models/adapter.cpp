#include "models/adapter.h"

#include <algorithm>

namespace wattn {

// Takes memory, and fills it once it is there. Whether the tensor fits.
bool Adapter::add(const WeightSlot& slot, const std::int32_t* sizes, const float* values, const Linear& shared) {
  const std::int64_t rows = sizes[0], columns = sizes[1], rank = sizes[2];
  LoraChange change;
  if (slot.layer) change.layer = *static_cast<const Linear*>(slot.layer);
  const Linear& layer = change.layer;
  if (rows == 0) {
    // A bias goes to the layer that is used.
    const Linear used = lora_.used_for(layer);
    const bool replaced = used.weight != layer.weight;
    if (columns != (replaced ? used.out : slot.shape[0])) return memory_.measuring();
    change.values = replaced ? used.bias : slot.values;
    change.first = replaced || slot.place_of ? 0 : slot.first;
    change.of = replaced ? columns : slot.of;
    change.size = columns;
    change.own = memory_.take<float>(columns);
  } else if (rank == 0) {
    change.instead = take_linear(memory_, *layer.kernels, layer.type, columns, rows, layer.bias != nullptr);
  } else {
    // All outputs if the rows are in another order.
    const bool all = slot.place_of || slot.first + rows > slot.of;
    change.first = all ? 0 : slot.first;
    change.shared = layer.weight == shared.weight;
    change.a = take_linear(memory_, *layer.kernels, WeightType::kF32, columns, rank, false);
    change.b = take_linear(memory_, *layer.kernels, WeightType::kF32, rank, all ? slot.of : rows, false);
    lora_.rank = std::max(lora_.rank, rank);
  }
  if (memory_.measuring()) return true;
  for (std::int64_t i = 0; rows == 0 && i < columns; ++i) change.own[slot.place_of ? slot.place(i) : i] = values[i];
  for (std::int64_t k = 0; k < rank; ++k, values += columns) set_weight_row(change.a, k, values);
  for (std::int64_t i = 0; i < rows; ++i) {
    if (rank > 0) set_weight_row(change.b, slot.place(i) - change.first, values + i * rank);
    if (rank == 0) set_weight_row(change.instead, slot.place_of ? slot.place(i) : i, values + i * columns);
  }
  if (change.instead.bias && rows == layer.out) std::copy_n(layer.bias, rows, change.instead.bias);
  lora_.changes.push_back(change);
  return true;
}

Result<void> Adapter::take(const AdaptedModel& model, const AdapterTensors& tensors) {
  const float* values = tensors.values;
  const std::int32_t* sizes = tensors.sizes.data();
  for (const std::string& name : tensors.names) {
    const std::int64_t rows = sizes[0], columns = sizes[1], rank = sizes[2];
    bool found = matches_any(name, model.ignored);
    const Shape* expected = nullptr;
    for (const auto& slots : model.slots) {
      for (const WeightSlot& slot : slots) {
        const auto* layer = static_cast<const Linear*>(slot.layer);
        if (slot.name != name || !(slot.values || layer)) continue;
        found = true;
        // A file may have a matrix transposed.
        const std::int64_t size = slot.shape[0] * slot.shape.back() / std::max<std::int64_t>(columns, 1);
        const std::int64_t whole = slot.layer && layer->weight == model.output.weight ? rows : slot.of;
        const bool fits = slot.values ? rows == 0 : columns == layer->in && rows == (rank > 0 ? size : whole);
        if (!fits || !add(slot, sizes, values, model.shared)) expected = &slot.shape;
      }
    }
    if (!found || expected) {
      return model_format_error("adapter: tensor '" + name + "': expected " +
                                (expected ? to_string(*expected) : "a linear layer of the model") + ", found " +
                                (rank > 0 ? "LoRA of " : "") + to_string({rows, columns}));
    }
    values += rank > 0 ? rank * (rows + columns) : std::max<std::int64_t>(rows, 1) * columns;
    sizes += 3;
  }
  lora_.scratch = memory_.take<float>(lora_scratch(lora_.rank));
  return {};
}

Adapter::~Adapter() = default;

Result<void> Adapter::load(const AdaptedModel& model, const AdapterTensors& tensors) {
  if (auto fits = take(model, tensors); !fits.ok()) return fits;  // measures
  auto memory = Arena::with_zeros(memory_.used(), "weights of the adapter");
  if (!memory.ok()) return memory.error();
  memory_ = std::move(memory).value();
  return take(model, tensors);
}

void Adapter::exchange_vectors() {
  for (const LoraChange& change : lora_.changes) {
    for (std::int64_t i = 0; i < change.size; ++i) std::swap(change.values[(change.first + i) % change.of], change.own[i]);
  }
}

void Adapter::merge() {
  const auto merges = [](const LoraChange& change) { return change.a.out > 0 && !change.shared; };
  for (const LoraChange& change : lora_.changes) {
    if (merges(change)) merge_lora(change, lora_.used_for(change.layer));
  }
  std::erase_if(lora_.changes, merges);
}

}  // namespace wattn
