#include "models/adapter.h"
#include "core/part.h"

#include <algorithm>

namespace wattn {
namespace {

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

// Rows of a layer's matrix, which a file may have transposed.
std::int64_t rows_of(const WeightTarget& target) {
  return target.shape[0] * target.shape.back() / static_cast<const LinearWeights*>(target.layer)->in;
}

}  // namespace

std::int64_t AdapterTensor::base_size() const {
  const std::int64_t width = columns;
  if (has(kFactor)) return 0;
  if (rank > 0) return rank * (rows + width);
  return has(kInputs) ? width : std::max(rows, 1) * width;
}

std::int64_t AdapterTensor::size() const {
  std::int64_t more = has(kMagnitude) ? (has(kTable) ? columns : rows) : 0;
  for (const Part part : {kFactor, kMore, kRows}) more += has(part) ? rows : 0;
  return base_size() + more;
}

std::uint64_t Adapter::bytes() const {
  std::uint64_t bytes = memory_.bytes();
  if (tables_) {
    for (const LoraTables::Rows& rows : tables_->rows) bytes += rows.bytes();
  }
  return bytes;
}

bool Adapter::add_vector(const WeightTarget& target, const AdapterTensor& tensor, const float* values) {
  LoraChange change;
  if (target.layer) change.layer = *static_cast<const LinearWeights*>(target.layer);
  const std::int64_t columns = tensor.columns;
  change.own = memory_.take<float>(columns);
  // A bias goes to the layer that is used.
  const LinearWeights used = lora_.used_for(change.layer);
  const bool replaced = used.weight != change.layer.weight, resized = replaced && used.out != change.layer.out;
  if (columns != (resized ? used.out : target.shape[0])) return memory_.measuring();
  change.values = replaced ? used.bias : target.values;
  change.first = resized || target.place_of ? 0 : target.first;
  change.of = resized ? columns : target.of;
  change.size = columns;
  if (memory_.measuring()) return true;
  for (std::int64_t i = 0; i < columns; ++i) change.own[target.place_of ? target.place(i) : i] = values[i];
  lora_.changes.push_back(change);
  return true;
}

// An addition of low rank, with the factors of what the layer gives.
void Adapter::add_pair(const WeightTarget& target, const AdapterTensor& tensor, const float* values, const LinearWeights& shared) {
  LoraChange change{.layer = *static_cast<const LinearWeights*>(target.layer), .instead = {}, .a = {}, .b = {}};
  const std::int64_t rows = tensor.rows, columns = change.layer.in, rank = tensor.rank;
  const Kernels& kernels = *change.layer.kernels;
  // All outputs if the rows are in another order.
  const bool all = target.place_of || target.first + rows > target.of;
  const std::int64_t outputs = all ? target.of : rows;
  change.first = all ? 0 : target.first;
  change.shared = change.layer.weight == shared.weight;
  change.a = take_linear(memory_, kernels, WeightType::kF32, columns, rank, false);
  change.b = take_linear(memory_, kernels, WeightType::kF32, rank, outputs, false);
  if (tensor.has(AdapterTensor::kMagnitude)) change.factor = memory_.take<float>(outputs);
  if (tensor.has(AdapterTensor::kMore)) change.more = memory_.take<float>(outputs);
  lora_.rank = std::max(lora_.rank, rank);
  if (memory_.measuring()) return;
  const auto place = [&](std::int64_t i) { return target.place(i) - change.first; };
  for (std::int64_t k = 0; k < rank; ++k, values += columns) set_weight_row(change.a, k, values);
  for (std::int64_t i = 0; i < rows; ++i, values += rank) set_weight_row(change.b, place(i), values);
  if (change.factor) {
    const std::vector<float> norms = lora_row_norms(change, lora_.used_for(change.layer));
    std::fill_n(change.factor, outputs, 1.0f);
    for (std::int64_t i = 0; i < rows; ++i) change.factor[place(i)] = *values++ / norms[size_of(place(i))];
  }
  for (std::int64_t i = 0; change.more && i < rows; ++i) change.more[place(i)] = *values++;
  lora_.changes.push_back(change);
}

// A layer in place of another, with other outputs if it is a head.
void Adapter::add_whole(const WeightTarget& target, const AdapterTensor& tensor, const float* values) {
  const LinearWeights& layer = *static_cast<const LinearWeights*>(target.layer);
  const std::int64_t rows = tensor.rows, columns = tensor.columns;
  LoraChange change{.layer = layer, .instead = {}, .a = {}, .b = {}};
  change.instead = take_linear(memory_, *layer.kernels, layer.type, columns, rows, layer.bias != nullptr);
  if (memory_.measuring()) return;
  for (std::int64_t i = 0; i < rows; ++i)
    set_weight_row(change.instead, target.place_of ? target.place(i) : i, values + i * columns);
  if (layer.bias && rows == layer.out) std::copy_n(layer.bias, rows, change.instead.bias);
  lora_.changes.push_back(change);
}

// Takes memory, and fills it once it is there. Whether the tensor fits.
Result<bool> Adapter::add(const WeightTarget& target, const AdapterTensor& tensor, const float* values, const AdaptedModel& model) {
  const std::int64_t rows = tensor.rows, columns = tensor.columns;
  if (target.values) return rows == 0 && add_vector(target, tensor, values);
  const auto* layer = static_cast<const LinearWeights*>(target.layer);
  const bool resized = tensor.rank == 0 && layer->weight == model.output.weight;
  if (columns != layer->in || !(resized || rows == rows_of(target))) return false;
  tensor.rank > 0 ? add_pair(target, tensor, values, model.shared) : add_whole(target, tensor, values);
  return true;
}

// Whether only RareAdapters can add it.
bool AdapterTensor::is_rare(const WeightTarget& target, const LinearWeights& output) const {
  constexpr std::int32_t kCommon = kMagnitude | kMore;
  if (target.values) return false;
  if (target.table || (parts & ~kCommon) != 0) return true;
  return rank == 0 &&
         (target.transposed || (rows < target.of && static_cast<const LinearWeights*>(target.layer)->weight != output.weight));
}

Result<void> Adapter::take(const AdaptedModel& model, const AdapterTensors& tensors) {
  const float* values = tensors.values.data();
  const auto* rare = Part<RareAdapters>::get();
  for (std::size_t i = 0; i < tensors.names.size(); ++i) {
    const std::string& name = tensors.names[i];
    const AdapterTensor& tensor = tensors.tensors[i];
    bool found = matches_any(name, model.ignored);
    const Shape* expected = nullptr;
    for (const auto& targets : model.targets) {
      for (const WeightTarget& target : targets) {
        if (target.name != name || !(target.values || target.layer || target.table)) continue;
        found = true;
        const bool is_rare = tensor.is_rare(target, model.output);
        if (is_rare && !rare) {
          return unsupported_error("adapter: tensor '" + name +
                                   "': expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another (load the model "
                                   "with the option 'adapter')");
        }
        auto added = is_rare ? rare->add(*this, target, tensor, values, model) : add(target, tensor, values, model);
        if (!added.ok()) return added.error();
        if (!added.value()) expected = &target.shape;
      }
    }
    if (!found || expected) {
      return model_format_error("adapter: tensor '" + name + "': expected " +
                                (expected ? to_string(*expected) : "a linear layer of the model") + ", found " +
                                (tensor.rank > 0 ? "LoRA of " : "") + to_string({tensor.rows, tensor.columns}));
    }
    values += tensor.size();
  }
  lora_.scratch = memory_.take<float>(lora_scratch(lora_.rank));
  return {};
}

Adapter::~Adapter() = default;

Result<void> Adapter::load(const AdaptedModel& model, const AdapterTensors& tensors) {
  if (auto fits = take(model, tensors); !fits.ok()) return fits;  // measures
  lora_.changes.clear();
  auto memory = Arena::with_zeros(memory_.used(), "weights of the adapter");
  if (!memory.ok()) return memory.error();
  memory_ = std::move(memory).value();
  shared_rows_ = {};
  lora_.tables = tables_ = tensors.tables;
  return take(model, tensors);
}

void Adapter::exchange_vectors() {
  for (const LoraChange& change : lora_.changes) {
    for (std::int64_t i = 0; i < change.size; ++i) std::swap(change.values[(change.first + i) % change.of], change.own[i]);
  }
}

void Adapter::merge() {
  const auto merges = [&](const LoraChange& change) {
    return change.a.out > 0 && !change.shared && (!change.more || lora_.used_for(change.layer).bias);
  };
  for (const LoraChange& change : lora_.changes) {
    if (merges(change)) merge_lora(change, lora_.used_for(change.layer));
  }
  std::erase_if(lora_.changes, merges);
}

}  // namespace wattn
