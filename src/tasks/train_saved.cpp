// Modules that a Trainer trains whole beside LoRA's matrices, as PEFT's modules_to_save: which weights they have, where their
// gradients go, and under which names they are saved.
#include <algorithm>
#include <cstddef>

#include "models/advice.h"
#include "tasks/train.h"

namespace wattn {
namespace {

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

std::string module_of(const std::string& tensor) { return tensor.substr(0, tensor.rfind('.')); }

// Rows of a layer's matrix, which a file may have transposed.
std::int64_t rows_of(const WeightTarget& target) { return target.shape[target.transposed ? 1 : 0]; }

const LinearWeights& layer_of(const WeightTarget& target) { return *static_cast<const LinearWeights*>(target.layer); }

// Calls visit(path) with a module's name and the names of all modules that it is in.
template <class Visit>
bool any_path(const std::string& module, const Visit& visit) {
  for (std::size_t end = module.size(); end != std::string::npos && end > 0; end = module.rfind('.', end - 1)) {
    if (visit(std::string_view(module).substr(0, end))) return true;
  }
  return false;
}

const Weight* weight_at(const Transformer& stack, const void* at) {
  const std::vector<Weight>& weights = stack.training_plan().weights;
  const auto found = std::ranges::find(weights, at, &Weight::at);
  return found == weights.end() ? nullptr : &*found;
}

// PEFT cannot load what it saves of a module inside another.
Result<void> check_apart(const std::vector<std::string>& modules, const std::vector<std::string>& ends) {
  for (const std::string& module : modules) {
    std::vector<std::string_view> saved;
    any_path(module, [&](std::string_view path) {
      if (std::ranges::any_of(ends, [&](const std::string& end) { return path.ends_with(end); })) saved.push_back(path);
      return false;
    });
    if (saved.size() < 2) continue;
    std::string found = "found '";
    found.append(saved[0]).append("' in '").append(saved[1]) += '\'';
    return input_error("modules_to_save: expected modules that are not inside each other, " + found);
  }
  return {};
}

Error cannot_save(const std::string& name, const char* why) {
  return unsupported_error("modules_to_save: '" + name + "' " + why + "; name other modules");
}

}  // namespace

std::string Trainer::saved_name(const Stack& stack, const std::string& name) const {
  const TransformerNames& names = *stack.names;
  const auto is_of = [&](const char* head) { return head && name.starts_with(head); };
  const bool is_head =
      stack.model->config().lm_head && (is_of(names.lm_head) || is_of(names.lm_head_dense) || is_of(names.lm_head_norm));
  return is_head ? name : module_prefix() + name;
}

// As PEFT: a module is saved if its name, or that of one that it is in, ends so. by_parts: with whole parts.
bool Trainer::is_saved(const std::string& module, bool by_parts) const {
  return any_path(module, [&](std::string_view path) {
    return std::ranges::any_of(options_.modules_to_save, [&](const std::string& end) {
      return path.ends_with(end) && (!by_parts || path == end || path[path.size() - end.size() - 1] == '.');
    });
  });
}

std::vector<std::string> Trainer::head_modules() const {
  std::vector<std::string> out;
  for (const NamedTensor& tensor : model_.head() ? head_tensors(model_) : std::vector<NamedTensor>()) {
    std::string module = tensor.name.substr(0, tensor.name.find('.'));
    const bool is_pooler = model_.arch().names.pooler && tensor.name.starts_with(model_.arch().names.pooler);
    if (!is_pooler && std::ranges::find(out, module) == out.end()) out.push_back(std::move(module));
  }
  return out;
}

bool Trainer::ties_embeddings() const {
  return std::ranges::any_of(
      whole_, [&](const WeightGradient& one) { return one.weight == &stacks_.back().model->ends().word_table && !saves_words_; });
}

Result<void> Trainer::prepare_saved() {
  for (std::size_t i = 0; i < stacks_.size() && !options_.modules_to_save.empty(); ++i) {
    const Stack& stack = stacks_[i];
    const LinearWeights& head = stack.model->ends().lm_head;
    const bool ties = stack.model->shared_weights().out > 0 && (is_saved(saved_name(stack, stack.names->lm_head)) ||
                                                                is_saved(saved_name(stack, stack.names->word_embeddings)));
    for (WeightTarget& target : stack.model->weight_targets(*stack.names, false)) {
      const bool is_tied = ties && !target.values && (target.head || target.layer == &head);
      const char* pooler = stack.names->pooler;
      if (pooler && target.name.starts_with(pooler)) continue;  // a head's pooler learns with it
      if (!is_tied && !is_saved(saved_name(stack, module_of(target.name)))) continue;
      if (auto saved = save_target(stack, target); !saved.ok()) return saved;
      saved_.emplace_back(i, std::move(target));
    }
  }
  return {};
}

Result<void> Trainer::save_target(const Stack& stack, const WeightTarget& target) {
  const Transformer::Ends& ends = stack.model->ends();
  const bool is_of_words = target.table || target.layer == &ends.lm_head;
  if (is_of_words && stacks_.size() > 1) return cannot_save(target.name, "is in several modules of an encoder-decoder");
  if (target.values) {
    if (save_vector(stack, target)) return {};
  } else if (target.table || (target.layer == &ends.lm_head && stack.model->shared_weights().out > 0)) {
    return save_table(stack, target);
  } else if (target.layer && weight_at(*stack.model, target.layer)) {
    return save_matrix(layer_of(target), target);
  }
  return cannot_save(target.name, "cannot be trained as a whole");
}

// Takes memory for the gradient of a weight, once.
template <class Take>
Result<Trainer::WholeGradient*> Trainer::learn_whole(const void* weight, const Take& take) {
  WholeGradient& out = whole_gradients_.emplace_back();
  take(out);
  auto memory = Arena::with_zeros(out.memory.used(), "gradients of modules_to_save");
  if (!memory.ok()) return memory.error();
  out.memory = std::move(memory).value();
  whole_.push_back({weight, take(out)});
  return &out;
}

Result<void> Trainer::save_matrix(const LinearWeights& layer, const WeightTarget& target) {
  const WeightGradient* known = gradient_in(whole_, &layer);
  if (!known) {
    const auto take = [&](WholeGradient& out) {
      out.linear = take_linear(out.memory, *layer.kernels, WeightType::kF32, layer.in, layer.out, false);
      return &out.linear;
    };
    if (auto taken = learn_whole(&layer, take); !taken.ok()) return taken.error();
    known = &whole_.back();
  }
  const auto& gradient = *static_cast<const LinearWeights*>(known->gradient);
  const std::int64_t rows = rows_of(target);
  if (rows == layer.out) {
    parameters_.push_back({weights_f32(layer), weights_f32(gradient), true, layer.in * layer.out});
    return {};
  }
  SavedRows& saved = saved_rows_.emplace_back(SavedRows{{layer, target.first, rows}, &gradient, {}, {}});
  saved.values.resize(size_of(rows * layer.in));
  saved.gradients.resize(saved.values.size());
  for (std::int64_t i = 0; i < rows; ++i) get_weight_row(layer, target.first + i, saved.values.data() + i * layer.in);
  parameters_.push_back({saved.values, saved.gradients});
  return {};
}

// Embeddings that are the head's matrix, too, learn as one.
Result<void> Trainer::save_table(const Stack& stack, const WeightTarget& target) {
  const Transformer::Ends& ends = stack.model->ends();
  if (target.head || target.layer) {
    if (gradient_in(whole_, &ends.lm_head)) return {};
    if (auto saved = save_matrix(ends.lm_head, target); !saved.ok()) return saved;
    WholeGradient& one = whole_gradients_.back();
    one.words.head = &one.linear;
    whole_.push_back({&ends.word_table, &one.words});
    return {};
  }
  const auto& table = *static_cast<const EmbeddingTable*>(target.embedding);
  if (ends.token_rows || table.rows != target.shape[0]) return cannot_save(target.name, "cannot be trained as a whole");
  std::span<float> values{static_cast<float*>(table.table), size_of(table.rows * table.hidden)};
  if (&table == &ends.words) {
    word_gradients_ = RowTable(table.rows, table.hidden);
    word_moments_ = RowTable(table.rows, 2 * table.hidden);
    saves_words_ = true;
    whole_.push_back({&ends.word_table, &ends.word_table});  // gradients go to word_gradients_
    parameters_.push_back({values, {}});
    return {};
  }
  const auto take = [&](WholeGradient& out) {
    out.table = take_embedding(out.memory, WeightType::kF32, table.rows, table.hidden);
    return &out.table;
  };
  auto taken = learn_whole(&table, take);
  if (!taken.ok()) return taken.error();
  parameters_.push_back({values, {static_cast<float*>(taken.value()->table.table), values.size()}});
  return {};
}

// Whether it is part of a layer or a norm that learns.
bool Trainer::save_vector(const Stack& stack, const WeightTarget& target) {
  const bool has_all = options_.bias == LoraBias::kAll;  // biases are added then
  if (target.layer) {
    const LinearWeights& layer = layer_of(target);
    const bool is_whole = target.shape[0] == layer.out;
    if (!has_all) add_bias(layer, is_whole ? 0 : target.first, target.shape[0]);
    return true;
  }
  const LinearWeights& head = stack.model->ends().lm_head;
  if (target.values == head.bias) {
    if (!has_all) add_bias(head, 0, head.out);
    return true;
  }
  for (const Weight& weight : stack.model->training_plan().weights) {
    if (weight.hold != Hold::kNorm) continue;
    const auto& norm = *static_cast<const LayerNorm*>(weight.at);
    if (target.values == norm.beta) {
      if (!has_all) add_bias(norm.beta, norm.hidden, 0, norm.hidden);
      return true;
    }
    if (target.values != norm.gamma) continue;
    const auto take = [&](WholeGradient& out) {
      out.norm = {norm.hidden, norm.epsilon, out.memory.take<float>(norm.hidden), nullptr};
      return &out.norm;
    };
    if (!learn_whole(&norm, take).ok()) return false;  // it is small
    add_vector(norm.gamma, whole_gradients_.back().norm.gamma, 0, norm.hidden);
    return true;
  }
  return false;
}

Result<void> Trainer::check_saved() const {
  if (options_.method != TrainMethod::kLora || options_.modules_to_save.empty()) return {};
  std::vector<std::string> modules;
  for (const Stack& stack : stacks_) {
    for (const WeightTarget& target : stack.model->weight_targets(*stack.names, false)) {
      modules.push_back(saved_name(stack, module_of(target.name)));
    }
  }
  for (const NamedTensor& tensor : model_.head() ? head_tensors(model_) : std::vector<NamedTensor>()) {
    modules.push_back(module_of(tensor.name));
  }
  for (const std::string& end : options_.modules_to_save) {
    std::vector<std::string> found;
    for (const std::string& module : modules) {
      if (any_path(module, [&](std::string_view path) { return path.ends_with(end); })) found.push_back(module);
    }
    const char* pooler = model_.arch().names.pooler;
    const bool reads =
        pooler && model_.head() && model_.head()->layers().dense && std::string_view(model_.head()->layers().dense) == pooler;
    const auto learns = [&](const std::string& module) { return !pooler || !module.ends_with(pooler) || reads; };
    // PEFT adds these to all classifiers.
    if (std::ranges::any_of(found, learns) || (model_.head() && (end == "classifier" || end == "score"))) continue;
    if (!found.empty()) return cannot_save(end, "is not read by this loss");
    std::vector<std::string_view> known;
    for (const std::string& module : modules) {
      any_path(module, [&](std::string_view path) {
        const std::string_view last = path.substr(path.rfind('.') + 1);
        const bool is_name = !last.empty() && (last[0] < '0' || last[0] > '9');
        if (is_name && std::ranges::find(known, last) == known.end()) known.push_back(last);
        return false;
      });
    }
    const std::vector<std::string_view> near = alike(end, known);
    std::string list;
    for (const std::string_view name : near.empty() ? known : near) {
      list += list.empty() ? "'" : ", '";
      list.append(name) += '\'';
    }
    list.append(", found '").append(end) += '\'';
    return input_error("modules_to_save: expected modules such as " + list);
  }
  std::vector<std::string> ends = head_modules();
  ends.insert(ends.end(), options_.modules_to_save.begin(), options_.modules_to_save.end());
  return check_apart(modules, ends);
}

void Trainer::read_saved_gradients() {
  for (SavedRows& saved : saved_rows_) {
    const std::int64_t in = saved.rows.layer.in;
    for (std::int64_t i = 0; i < saved.rows.out; ++i) {
      get_weight_row(*saved.gradient, saved.rows.first + i, saved.gradients.data() + i * in);
    }
  }
}

void Trainer::spread_saved() const {
  for (const SavedRows& saved : saved_rows_) {
    const std::int64_t in = saved.rows.layer.in;
    for (std::int64_t i = 0; i < saved.rows.out; ++i) {
      set_weight_row(saved.rows.layer, saved.rows.first + i, saved.values.data() + i * in);
    }
  }
}

void Trainer::add_saved_tensors(std::vector<NamedTensor>& out) const {
  for (const auto& [i, target] : saved_) {
    const Stack& stack = stacks_[i];
    const std::int64_t width = target.shape.back(), count = num_elements(target.shape).value();
    std::vector<float> values(size_of(count));
    if (target.values) {
      for (std::int64_t k = 0; k < count; ++k) values[size_of(k)] = target.values[target.place(k)] - target.offset;
    } else if (target.embedding) {
      const auto& table = *static_cast<const EmbeddingTable*>(target.embedding);
      std::copy_n(static_cast<const float*>(table.table), count, values.data());
    } else {
      const LinearWeights& layer = target.layer ? layer_of(target) : stack.model->ends().lm_head;
      std::vector<float> row(size_of(layer.in));
      for (std::int64_t k = 0; k < count / layer.in; ++k) {
        get_weight_row(layer, target.layer ? target.place(k) : k, row.data());
        for (std::int64_t j = 0; j < layer.in; ++j) {
          values[size_of(target.transposed ? j * width + k : k * width + j)] = row[size_of(j)];
        }
      }
    }
    out.push_back({kPeftPrefix + saved_name(stack, target.name), target.shape, std::move(values)});
  }
}

}  // namespace wattn
