// LoRA matrices for the tasks of a checkpoint, as jina-embeddings-v3 has them on the Hub (modeling_lora.py of jinaai's
// xlm-roberta-flash-implementation). The tensors lora_A and lora_B of all tasks are stored beside the weight that they change.
//   of a linear layer: A [tasks, rank, in], B [tasks, out, rank]; y = x (W + alpha / rank B A)^T
//   of a table: A [tasks, rows, rank], B [tasks, rank, hidden]; row i has alpha / rank A_i B more
#include <algorithm>
#include <memory>

#include "engine/model.h"

namespace wattn {

struct TaskLoras {
  // The tensors of one weight.
  struct Factors {
    std::string name;             // of the weight
    bool required = false;        // if there are LoRAs at all
    const void* table = nullptr;  // null: a linear layer
    Shape a_shape{}, b_shape{};
    std::vector<float> a{}, b{};  // empty until the first row

    bool is_whole() const { return !a.empty() && !b.empty(); }
  };
  std::size_t count = 0;  // of the tasks
  std::int64_t rank = 0;
  float scale = 0;
  std::vector<Factors> factors{};
};

namespace {

constexpr std::size_t kMostTasks = 256;
using Factors = TaskLoras::Factors;

std::string stem_of(const std::string& weight) { return weight.substr(0, weight.rfind('.')) + ".parametrizations.weight.0.lora_"; }

// Fills values; the loader has compared the shape.
WeightTarget target_of(std::string name, const Shape& shape, const std::shared_ptr<TaskLoras>& tasks, std::size_t index,
                       std::vector<float> Factors::* values, float scale) {
  const std::int64_t size = num_elements(shape).value_or(0), width = shape.back();
  return {std::move(name), shape, false, [=](std::int64_t row, const float* from) {
            std::vector<float>& all = tasks->factors[index].*values;
            if (row == 0) all.resize(static_cast<std::size_t>(size));
            std::transform(from, from + width, all.data() + row * width, [&](float x) { return scale * x; });
          }};
}

// What one task changes.
Result<void> add_task(const TaskLoras& tasks, std::size_t task, Model& model) {
  AdapterTensors out;
  auto tables = std::make_shared<LoraTables>();
  std::vector<float> values;
  for (const Factors& each : tasks.factors) {
    if (!each.is_whole()) continue;
    const auto part = [&](const std::vector<float>& all) {
      const std::size_t size = all.size() / tasks.count;
      return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(task * size),
                                all.begin() + static_cast<std::ptrdiff_t>((task + 1) * size));
    };
    std::vector<float> a = part(each.a), b = part(each.b);
    if (each.table) {
      tables->rows.push_back(
          {.table = each.table, .hidden = each.b_shape[2], .rank = tasks.rank, .a = std::move(a), .b = std::move(b)});
      continue;
    }
    out.names.push_back(each.name);
    const auto size = [](std::int64_t size) { return static_cast<std::int32_t>(size); };
    out.tensors.push_back({.rows = size(each.b_shape[1]), .columns = size(each.a_shape[2]), .rank = size(tasks.rank)});
    values.insert(values.end(), a.begin(), a.end());
    values.insert(values.end(), b.begin(), b.end());
  }
  out.values = values;
  tables->add = add_table_rows;
  out.tables = std::move(tables);
  const auto added = model.add_adapter(std::move(out));
  return added.ok() ? Result<void>() : Result<void>(added.error());
}

Result<void> finish(TaskLoras& tasks, Model& model) {
  const auto is_whole = [](const Factors& each) { return each.is_whole(); };
  if (std::none_of(tasks.factors.begin(), tasks.factors.end(), is_whole)) return {};
  for (const Factors& each : tasks.factors) {
    const bool begun = !each.a.empty() || !each.b.empty();
    if (each.is_whole() || !(each.required || begun)) continue;
    const bool lacks_a = each.a.empty();
    return model_format_error("model.safetensors: expected tensor '" + stem_of(each.name) + (lacks_a ? "A' " : "B' ") +
                              to_string(lacks_a ? each.a_shape : each.b_shape) +
                              ", as other weights have LoRA matrices for config.json's lora_adaptations, found no such tensor");
  }
  for (std::size_t task = 0; task < tasks.count; ++task) {
    if (auto added = add_task(tasks, task, model); !added.ok()) return added;
  }
  tasks.factors.clear();
  return {};
}

Result<void> begin(const Model& model, JsonRef config, std::vector<WeightTarget>& targets, std::shared_ptr<TaskLoras>& loras) {
  Fields fields(config);
  if (!fields.has("lora_adaptations")) return {};
  const JsonRef names = fields.array("lora_adaptations");
  std::vector<std::string_view> known;
  fields.each(names, [&](JsonRef name) {
    const std::string_view text = fields.take(name.as_string());
    if (text.empty() || std::find(known.begin(), known.end(), text) != known.end()) fields.fail(name.mismatch("a unique name"));
    known.push_back(text);
  });
  if (known.empty() || known.size() > kMostTasks) fields.mismatch("lora_adaptations", "the names of 1 to 256 tasks");
  const auto tasks = std::make_shared<TaskLoras>();
  tasks->count = known.size();
  tasks->rank = fields.size_or("lora_rank", 1 << 12, 4);
  tasks->scale = static_cast<float>(fields.number_or("lora_alpha", 1, 1e6) / static_cast<double>(tasks->rank));
  if (!fields.ok()) return fields.error();
  const auto count = static_cast<std::int64_t>(tasks->count);
  const TransformerNames& weights = model.arch().names;
  const Transformer::Ends& ends = model.transformer().ends();
  for (const WeightTarget& target : model.transformer().weight_targets(weights, false)) {
    const auto is_table = [&](const char* name) { return name && target.name == std::string(name) + ".weight"; };
    const void* table = is_table(weights.word_embeddings)         ? ends.words.table
                        : is_table(weights.token_type_embeddings) ? ends.token_types.table
                                                                  : nullptr;
    if (target.shape.size() != 2 || !(target.layer || table)) continue;
    Factors out{.name = target.name, .required = target.required, .table = table};
    const std::int64_t rows = target.shape[0], columns = target.shape[1];
    out.a_shape = table ? Shape{count, rows, tasks->rank} : Shape{count, tasks->rank, columns};
    out.b_shape = table ? Shape{count, tasks->rank, columns} : Shape{count, rows, tasks->rank};
    const std::size_t index = tasks->factors.size();
    targets.push_back(target_of(stem_of(target.name) + "A", out.a_shape, tasks, index, &Factors::a, 1));
    targets.push_back(target_of(stem_of(target.name) + "B", out.b_shape, tasks, index, &Factors::b, tasks->scale));
    tasks->factors.push_back(std::move(out));
  }
  loras = tasks;
  return {};
}

}  // namespace

const TaskAdapters kTaskAdapters{begin, finish};

}  // namespace wattn
