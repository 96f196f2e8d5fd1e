// Changes that few adapters make: to embeddings, to some of their rows, to parts of a fused layer, and factors of a layer's inputs
// or outputs (IA3).
#include <algorithm>
#include <cmath>

#include "models/adapter.h"
#include "ops/embedding.h"

namespace wattn {
namespace {

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

// Row i of a target's table.
void read_row(const WeightTarget& target, std::int32_t i, float* row) {
  if (target.head) return get_weight_row(*static_cast<const LinearWeights*>(target.head), i, row);
  const auto& table = *static_cast<const EmbeddingTable*>(target.embedding);
  std::fill_n(row, table.hidden, 0.0f);
  add_embedding_rows(table, {&i, 1}, row);
}

// A row as the target's table would hold it, in the first row of one.
void round_row(const WeightTarget& target, std::int64_t width, float* row) {
  Arena arena;  // measures
  for (int pass = 0; pass < 2; ++pass) {
    WeightTarget one;
    LinearWeights head;
    EmbeddingTable table;
    if (target.head) {
      const auto& of = *static_cast<const LinearWeights*>(target.head);
      head = take_linear(arena, *of.kernels, of.type, width, 1, false);
      one.head = &head;
    } else {
      table = take_embedding(arena, static_cast<const EmbeddingTable*>(target.embedding)->type, 1, width);
      one.embedding = &table;
    }
    if (pass == 0) {
      auto memory = Arena::with_zeros(arena.used(), "a row");
      if (!memory.ok()) return;
      arena = std::move(memory).value();
      continue;
    }
    target.head ? set_weight_row(head, 0, row) : set_row(table, 0, row);
    read_row(one, 0, row);
  }
}

}  // namespace

// The layer that replaces another in this adapter, at first a copy of it.
LinearWeights& Adapter::copy_of(const LinearWeights& layer) {
  for (LoraChange& change : lora_.changes) {
    if (change.layer.weight == layer.weight && change.instead.in > 0) return change.instead;
  }
  const LinearWeights used = lora_.used_for(layer);
  LoraChange change{.layer = layer, .instead = {}, .a = {}, .b = {}};
  change.instead = take_linear(memory_, *layer.kernels, layer.type, used.in, used.out, used.bias != nullptr);
  if (!memory_.measuring()) {
    std::vector<float> row(size_of(used.in));
    for (std::int64_t j = 0; j < used.out; ++j) {
      get_weight_row(used, j, row.data());
      set_weight_row(change.instead, j, row.data());
    }
    if (used.bias) std::copy_n(used.bias, used.out, change.instead.bias);
  }
  return lora_.changes.emplace_back(change).instead;
}

// The factors of a layer's columns, or rows of a layer that is fused or transposed.
void Adapter::add_part(const WeightTarget& target, const AdapterTensor& tensor, const float* values) {
  const LinearWeights& layer = *static_cast<const LinearWeights*>(target.layer);
  const bool scales = tensor.has(AdapterTensor::kInputs);
  const std::int64_t rows = scales || target.transposed ? target.shape[0] * target.shape.back() / layer.in : tensor.rows;
  const std::int64_t columns = layer.in;
  const LinearWeights& copy = copy_of(layer);
  std::vector<float> row(size_of(columns));
  for (std::int64_t i = 0; i < rows && !memory_.measuring(); ++i) {
    get_weight_row(copy, target.place(i), row.data());
    for (std::int64_t k = 0; k < columns; ++k) {
      row[size_of(k)] = scales ? values[k] * row[size_of(k)] : values[target.transposed ? k * rows + i : i * columns + k];
    }
    set_weight_row(copy, target.place(i), row.data());
  }
}

// Factors of a layer's outputs, bias included, stored with an addition of zeros.
void Adapter::add_factors(const WeightTarget& target, const AdapterTensor& tensor, const float* values) {
  LoraChange change{.layer = *static_cast<const LinearWeights*>(target.layer), .instead = {}, .a = {}, .b = {}};
  const Kernels& kernels = *change.layer.kernels;
  change.a = take_linear(memory_, kernels, WeightType::kF32, change.layer.in, 1, false);
  change.b = take_linear(memory_, kernels, WeightType::kF32, 1, target.of, false);
  change.factor = memory_.take<float>(target.of);
  change.more = memory_.take<float>(target.of);
  lora_.rank = std::max<std::int64_t>(lora_.rank, 1);
  if (memory_.measuring()) return;
  std::fill_n(change.factor, target.of, 1.0f);
  const float* bias = lora_.used_for(change.layer).bias;
  for (std::int64_t i = 0; i < tensor.rows; ++i) {
    const std::int64_t place = target.place(i);
    change.factor[place] = values[i];
    if (bias) change.more[place] = (values[i] - 1) * bias[place];
  }
  lora_.changes.push_back(change);
}

// Some rows of a layer: an addition whose A has what is added to each of them.
void Adapter::add_rows(const LinearWeights& layer, const AdapterTensor& tensor, const float* values, const LinearWeights& shared) {
  const std::int64_t columns = tensor.columns, rank = tensor.rows;
  const float* ids = values + rank * columns;
  LoraChange change{.layer = layer, .instead = {}, .a = {}, .b = {}};
  change.first = static_cast<std::int64_t>(ids[0]);
  change.shared = layer.weight == shared.weight;
  change.a = take_linear(memory_, *layer.kernels, WeightType::kF32, columns, rank, false);
  change.b = take_linear(memory_, *layer.kernels, WeightType::kF32, rank,
                         static_cast<std::int64_t>(ids[rank - 1]) - change.first + 1, false);
  lora_.rank = std::max(lora_.rank, rank);
  if (memory_.measuring()) return;
  std::vector<float> row(size_of(columns)), one(size_of(rank));
  for (std::int64_t k = 0; k < rank; ++k) {
    get_weight_row(lora_.used_for(layer), static_cast<std::int64_t>(ids[k]), row.data());
    for (std::int64_t j = 0; j < columns; ++j) row[size_of(j)] = values[k * columns + j] - row[size_of(j)];
    set_weight_row(change.a, k, row.data());
    one.assign(one.size(), 0);
    one[size_of(k)] = 1;
    set_weight_row(change.b, static_cast<std::int64_t>(ids[k]) - change.first, one.data());
  }
  lora_.changes.push_back(change);
}

void Adapter::table_row(const WeightTarget& target, std::int32_t i, float* row) const {
  read_row(target, i, row);
  add_lora_rows(&lora_, target.table, {&i, 1}, row);
}

bool Adapter::has_rows(const WeightTarget& target, const AdapterTensor& tensor, const float* values) {
  const auto width = size_of(tensor.columns);
  std::vector<float> own(width), given(width);
  for (std::int32_t i = 0; i < tensor.rows; ++i, values += width) {
    read_row(target, i, own.data());
    given.assign(values, values + width);
    round_row(target, tensor.columns, given.data());
    if (own != given) return false;
  }
  return true;
}

// Makes of A, B and the factors what they add to each row: a factor is one of the table's rows, not of what they are added to.
void Adapter::add_up(const WeightTarget& target, std::int64_t rows, LoraTables::Rows& out) const {
  out.rows.resize(size_of(rows * out.hidden));
  std::vector<float> before(size_of(out.hidden));
  for (std::int64_t i = 0; i < rows; ++i) {
    float* const row = out.rows.data() + i * out.hidden;
    table_row(target, static_cast<std::int32_t>(i), before.data());
    std::ranges::copy(before, row);
    for (std::int64_t k = 0; k < out.rank; ++k)
      exact_kernels().axpy(out.a[size_of(i * out.rank + k)], out.b.data() + k * out.hidden, row, out.hidden);
    for (std::int64_t j = 0; j < out.hidden; ++j) row[j] = row[j] * out.factor[size_of(j)] - before[size_of(j)];
  }
  out = {.table = out.table, .hidden = out.hidden, .rows = std::move(out.rows)};
}

// Additions to a table, as LoRA or as what its rows become.
void Adapter::add_table(const WeightTarget& target, const AdapterTensor& tensor, const float* values) {
  if (memory_.measuring()) return;
  const std::int64_t rows = tensor.rows, columns = tensor.columns, rank = tensor.rank;
  const float* after = values + tensor.base_size();
  LoraTables::Rows out{.table = target.table, .hidden = columns, .rank = rank};
  std::vector<float> row(size_of(columns));
  if (rank > 0) {
    out.b.assign(values, values + rank * columns);
    out.a.assign(values + rank * columns, after);
  } else {
    out.rows.assign(values, after);
    if (tensor.has(AdapterTensor::kRows)) out.ids.assign(after, after + rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      table_row(target, out.ids.empty() ? static_cast<std::int32_t>(i) : out.ids[size_of(i)], row.data());
      exact_kernels().axpy(-1.0f, row.data(), out.rows.data() + i * columns, columns);
    }
  }
  if (tensor.has(AdapterTensor::kMagnitude)) {  // the norms of columns
    std::vector<double> squares(size_of(columns));
    for (std::int64_t i = 0; i < rows; ++i) {
      table_row(target, static_cast<std::int32_t>(i), row.data());
      for (std::int64_t k = 0; k < rank; ++k)
        exact_kernels().axpy(out.a[size_of(i * rank + k)], out.b.data() + k * columns, row.data(), columns);
      for (std::int64_t j = 0; j < columns; ++j) squares[size_of(j)] += static_cast<double>(row[size_of(j)]) * row[size_of(j)];
    }
    for (std::int64_t j = 0; j < columns; ++j) out.factor.push_back(after[j] / static_cast<float>(std::sqrt(squares[size_of(j)])));
    if (target.summed) add_up(target, rows, out);
  }
  if (!tables_) lora_.tables = tables_ = std::make_shared<LoraTables>();
  tables_->add = add_table_rows;
  tables_->rows.push_back(std::move(out));
}

// Rows of a layer. PEFT has those of a head that is tied to the embeddings twice.
bool Adapter::add_once(const LinearWeights& layer, const AdapterTensor& tensor, const float* values, const LinearWeights& shared) {
  const std::span rows(values, size_of(tensor.size()));
  if (layer.weight == shared.weight && !shared_rows_.empty()) return std::ranges::equal(rows, shared_rows_);
  if (layer.weight == shared.weight) shared_rows_ = rows;
  add_rows(layer, tensor, values, shared);
  return true;
}

// Whether a table, or rows of it or of a layer, fit.
bool Adapter::fits_rows(const WeightTarget& target, const AdapterTensor& tensor, const float* values, const AdaptedModel& model) {
  const Shape& shape = target.shape;
  if (shape.size() != 2 || tensor.columns != shape[1] || tensor.rows < 1 || target.place_of) return false;
  if (tensor.has(AdapterTensor::kRows)) {
    return (!target.table || !model.tied_head) && values[tensor.base_size() + tensor.rows - 1] < static_cast<float>(shape[0]);
  }
  if (tensor.rows != shape[0]) return false;
  if (tensor.has(AdapterTensor::kBase) && model.tied_head) return has_rows(target, tensor, values);
  return (tensor.rank == 0 || tensor.has(AdapterTensor::kTable)) && !tensor.has(AdapterTensor::kInputs);
}

bool Adapter::add_table_or_rows(const WeightTarget& target, const AdapterTensor& tensor, const float* values,
                                const LinearWeights& shared) {
  const bool is_base = tensor.has(AdapterTensor::kBase), some = tensor.has(AdapterTensor::kRows);
  if (!target.table) return add_once(*static_cast<const LinearWeights*>(target.layer), tensor, values, shared);
  if (is_base && has_rows(target, tensor, values)) return true;
  add_table(target, tensor, values);
  if (target.table != shared.weight) return true;
  if (some && !tensor.has(AdapterTensor::kAlone) && !add_once(shared, tensor, values, shared)) return false;
  if (!is_base) return true;
  const LinearWeights& head = copy_of(shared);
  for (std::int64_t i = 0; i < tensor.rows && !memory_.measuring(); ++i) set_weight_row(head, i, values + i * tensor.columns);
  return true;
}

bool Adapter::add_to_layer(const WeightTarget& target, const AdapterTensor& tensor, const float* values) {
  const auto& layer = *static_cast<const LinearWeights*>(target.layer);
  const std::int64_t rows = target.shape[0] * target.shape.back() / layer.in;
  if (tensor.has(AdapterTensor::kFactor)) {
    if (tensor.rows != rows) return false;
    add_factors(target, tensor, values);
    return true;
  }
  const bool scales = tensor.has(AdapterTensor::kInputs);
  const bool as_stored = tensor.rows == target.shape[0] && tensor.columns == target.shape.back();
  const bool is_whole = tensor.rank == 0 && (tensor.parts & ~AdapterTensor::kBase) == 0;
  if (scales ? tensor.columns != layer.in : !(is_whole && as_stored)) return false;
  add_part(target, tensor, values);
  return true;
}

Result<bool> Adapter::add_rare(Adapter& adapter, const WeightTarget& target, const AdapterTensor& tensor, const float* values,
                               const AdaptedModel& model) {
  const bool same = tensor.has(AdapterTensor::kBase) && target.table && tensor.rows == target.shape[0] &&
                    tensor.columns == target.shape.back() && has_rows(target, tensor, values);
  if (target.table && !model.targets[1].empty() && !same) {
    return unsupported_error("adapter: tensor '" + target.name +
                             "': expected no change of embeddings in an encoder-decoder, which has them in several modules");
  }
  if (target.values) return false;
  if (!target.table && !tensor.has(AdapterTensor::kRows)) return adapter.add_to_layer(target, tensor, values);
  if (!fits_rows(target, tensor, values, model)) return false;
  return adapter.add_table_or_rows(target, tensor, values, model.shared);
}

const RareAdapters kRareAdapters{Adapter::add_rare};

}  // namespace wattn
