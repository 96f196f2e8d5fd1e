#include "tasks/device.h"

#include <cstring>
#include <initializer_list>

#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/position.h"
#include "plan/print.h"

namespace wattn {
namespace {

constexpr std::int64_t kPanel = 8, kGroup = 64;  // of q8: kernels/quant.h
constexpr std::int64_t kWord = 4;                // numbers of q8 that a device multiplies at once
constexpr std::int64_t kHalfBytes = 2;           // of a number of f16
constexpr std::int64_t kPart = 16;               // numbers of q4 that have a book

// Not inlined, for size.
[[gnu::noinline]] void add(std::vector<std::int32_t>& to, std::initializer_list<std::int64_t> numbers) {
  for (const std::int64_t number : numbers) to.push_back(static_cast<std::int32_t>(number));
}

[[gnu::noinline]] void add_floats(DeviceWeight& to, const char* name, const float* at, std::int64_t count) {
  if (at) to.parts.push_back({name, at, count * static_cast<std::int64_t>(sizeof(float))});
}

Error no_form(const char* what, WeightType type) {
  constexpr const char* kTypes[] = {"f32", "q16", "q8", "q4", "f16"};
  return unsupported_error(std::string(what) + " in " + kTypes[static_cast<int>(type)] + ": the GPU supports f32, f16, q8 and q4");
}

// Four neighbours along k side by side, and the sums of groups, whatever the kernels want.
void place_q8(const LinearWeights& layer, DeviceWeight& out) {
  const std::int64_t panels = (layer.out + kPanel - 1) / kPanel, groups = (layer.in + kGroup - 1) / kGroup;
  const std::int64_t bytes = panels * kPanel * groups * kGroup;
  const auto* from = static_cast<const std::int8_t*>(layer.weight);
  if (layer.step == kWord) {
    out.parts.push_back({"weight", from, bytes});
    out.parts.push_back({"sum", layer.sum, bytes / kGroup * static_cast<std::int64_t>(sizeof(std::int32_t))});
    return;
  }
  out.placed.resize(static_cast<std::size_t>(bytes));
  out.sums.resize(static_cast<std::size_t>(bytes / kGroup));
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t k = 0; k < groups * kGroup; ++k) {
      for (std::int64_t column = 0; column < kPanel; ++column) {
        const auto place = [&](std::int64_t step) {
          return ((panel * groups * kGroup + k / step * step) * kPanel + column * step) + k % step;
        };
        const std::int8_t value = from[place(layer.step)];
        out.placed[static_cast<std::size_t>(place(kWord))] = value;
        out.sums[static_cast<std::size_t>((panel * groups + k / kGroup) * kPanel + column)] += value;
      }
    }
  }
  out.parts.push_back({"weight", out.placed.data(), bytes});
  out.parts.push_back({"sum", out.sums.data(), bytes / kGroup * static_cast<std::int64_t>(sizeof(std::int32_t))});
}

void place_q4(const LinearWeights& layer, DeviceWeight& out) {
  const std::int64_t panels = (layer.out + kPanel - 1) / kPanel, groups = (layer.in + kGroup - 1) / kGroup;
  const std::int64_t size = panels * kPanel * groups * kGroup;
  const std::size_t entries = q4_entries().size(), books = static_cast<std::size_t>(size / kPart);
  out.placed.resize(entries + books);
  std::memcpy(out.placed.data(), q4_entries().data(), entries);
  std::memcpy(out.placed.data() + entries, layer.book, books);
  out.parts.push_back({"weight", layer.weight, size / 2});
  out.parts.push_back({"book", out.placed.data(), static_cast<std::int64_t>(entries + books)});
  if (!layer.sum) {
    out.sums.resize(static_cast<std::size_t>(size / kGroup));
    add_q4_sums(layer, out.sums.data());
  }
  const std::int64_t bytes = size / kGroup * static_cast<std::int64_t>(sizeof(std::int32_t));
  out.parts.push_back({"sum", layer.sum ? layer.sum : out.sums.data(), bytes});
}

Result<void> add_linear(const LinearWeights& layer, DeviceWeight& out) {
  const std::int64_t panels = (layer.out + kPanel - 1) / kPanel;
  out.type = layer.type;
  add(out.shape, {layer.out, layer.in});
  if (layer.type == WeightType::kF32) {
    add_floats(out, "weight", static_cast<const float*>(layer.weight), panels * kPanel * layer.in);
  } else if (layer.type == WeightType::kF16) {
    out.parts.push_back({"weight", layer.weight, panels * kPanel * layer.in * kHalfBytes});
    add_floats(out, "scale", layer.scale, panels * kPanel);
  } else if (layer.type == WeightType::kQ8 || layer.type == WeightType::kQ4) {
    layer.type == WeightType::kQ8 ? place_q8(layer, out) : place_q4(layer, out);
    add_floats(out, "scale", layer.scale, panels * kPanel * ((layer.in + kGroup - 1) / kGroup));
  } else {
    return no_form("a matrix", layer.type);
  }
  add_floats(out, "bias", layer.bias, layer.out);
  return {};
}

void add_table(const EmbeddingTable& table, DeviceWeight& out) {
  const std::int64_t size = table.rows * table.hidden;
  add(out.shape, {table.rows, table.hidden});
  if (table.type == WeightType::kQ8 || table.type == WeightType::kF16) {
    out.type = table.type;
    out.parts.push_back({"table", table.table, table.type == WeightType::kF16 ? size * kHalfBytes : size});
    return add_floats(out, "scale", table.scale, table.rows);
  }
  if (table.type == WeightType::kF32) return add_floats(out, "table", static_cast<const float*>(table.table), size);
  // Small tables: those with few rows are held in a finer type than the rest.
  out.widened.resize(static_cast<std::size_t>(size));
  for (std::int32_t row = 0; row < table.rows; ++row) add_embedding_rows(table, {&row, 1}, out.widened.data() + row * table.hidden);
  add_floats(out, "table", out.widened.data(), size);
}

Result<void> add_words(const WordTable& words, DeviceWeight& out) {
  if (words.token_rows || words.token_weights) return unsupported_error("words with rows and weights of their own");
  add_table(*words.table, out);
  return {};
}

// What a weight of the plan holds: words that the head over the vocabulary holds are its matrix.
const void* memory_of(const Weight& weight) {
  const LinearWeights* head = weight.hold == Hold::kWords ? static_cast<const WordTable*>(weight.at)->head : nullptr;
  return head ? head : weight.at;
}

}  // namespace

Result<DevicePlan> device_plan(const Model& model) {
  if (model.decoder()) return unsupported_error("a model with a decoder");
  const Plan& plan = model.transformer().plan();
  DevicePlan out;
  for (const Section& each : plan.sections) add(out.sections, {each.first_value, each.num_values, each.first_step, each.num_steps});
  const auto use = [&](const SectionUse& each) { add(out.uses, {each.section, each.first_weight}); };
  use(plan.embeddings);
  for (const Layer& layer : plan.layers) {
    use(layer.steps);
    out.score_divisors.push_back(layer.score_divisor);
  }
  use(plan.final_norm);
  use(plan.head);
  for (const Value& each : plan.values)
    add(out.values, {each.width, static_cast<std::int64_t>(each.place), each.of, static_cast<std::int64_t>(each.rows)});
  for (const Step& each : plan.steps) {
    out.ops.emplace_back(name_of(each.op));
    out.variants.emplace_back(variant_of(each));
    add(out.steps, {each.x, each.other, each.out, each.weight, each.attention});
    out.factors.push_back(each.factor);
  }
  for (const AttentionStep& each : plan.attentions) {
    const AttentionShape& shape = each.shape;
    add(out.attentions, {shape.heads, shape.kv_heads, shape.head_dim, shape.value_size(), each.window_before, each.window_after,
                         each.causal, each.cross});
    out.attention_factors.insert(out.attention_factors.end(), {each.scale, each.softcap});
  }
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    std::size_t first = 0;
    while (memory_of(plan.weights[first]) != memory_of(plan.weights[i])) ++first;
    add(out.weights, {static_cast<std::int64_t>(first)});
  }
  return out;
}

Result<DeviceWeight> device_weight(const Model& model, std::int64_t step, std::int64_t weight) {
  const Plan& plan = model.transformer().plan();
  const Step& reader = plan.steps[static_cast<std::size_t>(step)];
  const std::int64_t positions = model.transformer().positions();
  DeviceWeight out;
  const Weight& wanted = plan.weights[static_cast<std::size_t>(weight)];
  const void* at = memory_of(wanted);
  Result<void> added;
  switch (at == wanted.at ? reader.op : Op::kLinear) {
    case Op::kLinear:
      added = add_linear(*static_cast<const LinearWeights*>(at), out);
      break;
    case Op::kWords:
      added = add_words(*static_cast<const WordTable*>(at), out);
      break;
    case Op::kAddRows:
      add_table(*static_cast<const EmbeddingTable*>(at), out);
      break;
    case Op::kNorm:
    case Op::kHeadNorm: {
      const auto& norm = *static_cast<const LayerNorm*>(at);
      add(out.shape, {norm.hidden});
      out.epsilon = norm.epsilon;
      add_floats(out, "gamma", norm.gamma, norm.hidden);
      add_floats(out, "beta", norm.beta, norm.hidden);
      break;
    }
    case Op::kRotate: {
      const auto& rotary = *static_cast<const Rotary*>(at);
      add(out.shape, {rotary.half, rotary.rest, rotary.interleaved});
      add_floats(out, "cos", rotary.cos, positions * rotary.half);
      add_floats(out, "sin", rotary.sin, positions * rotary.half);
      break;
    }
    case Op::kAttention: {
      const auto& bias = *static_cast<const DistanceBias*>(at);
      add(out.shape, {bias.span});
      const AttentionStep& constants = plan.attentions[static_cast<std::size_t>(reader.attention)];
      add_floats(out, "values", bias.values, constants.shape.heads * (2 * bias.span - 1));
      break;
    }
    default:
      added = unsupported_error(std::string(name_of(reader.op)) + ": the GPU has no kernel for it");
  }
  if (!added.ok()) return added.error();
  return out;
}

}  // namespace wattn
