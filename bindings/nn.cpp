// Building blocks: tensors arrive as {name, dims, data}, options as [name, value] pairs.
#include "nn/call.h"

#include <emscripten/bind.h>

#include <algorithm>
#include <optional>

#include "bindings/convert.h"
#include "learn/optim.h"
#include "nn/optimizer.h"
#include "nn/summary.h"

namespace wattn {

namespace {

// Graphs that JS tensors refer to.
nn::NodeTable& nodes() {
  static nn::NodeTable table;
  return table;
}

// A parameter of a module, or a tensor of the caller's that has a gradient.
class ParameterHandle {
 public:
  ParameterHandle() = default;
  explicit ParameterHandle(nn::ParameterPtr parameter) : parameter_(std::move(parameter)) {}
  const nn::ParameterPtr& parameter() const { return parameter_; }

  val make(const val& tensor);
  val value() const;
  val set(const val& tensor) const;
  // Answer: tensor, if there is a gradient.
  val grad() const;
  val set_grad(const val& tensor) const;  // null: none
  double version() const { return static_cast<double>(parameter_->version()); }
  bool requires_grad() const { return parameter_->requires_grad(); }
  void set_requires_grad(bool yes) const { parameter_->set_requires_grad(yes); }
  void track() const { parameter_->track(); }

 private:
  nn::ParameterPtr parameter_;
};

nn::Tensor to_tensor(const val& tensor) {
  nn::Tensor out;
  if (const val parameter = tensor["parameter"]; !parameter.isUndefined())
    return parameter.as<const ParameterHandle&>().parameter()->value();
  for (const std::int32_t dim : emscripten::convertJSArrayToNumberVector<std::int32_t>(tensor["dims"])) out.dims.push_back(dim);
  out.data.resize(tensor["data"]["length"].as<std::size_t>());
  val(typed_memory_view(out.data.size(), out.data.data())).call<void>("set", tensor["data"]);
  if (const val node = tensor["graph"]; !node.isUndefined()) out.node = nodes().find(node.as<double>());
  return out;
}

val from_shape(const Shape& dims) { return to_typed_array(std::vector<std::int32_t>(dims.begin(), dims.end())); }

// with_node: a result, whose graph JS shall refer to.
val from_tensor(const nn::Tensor& tensor, bool with_node = false) {
  val out = val::object();
  out.set("dims", from_shape(tensor.dims));
  out.set("data", to_typed_array(tensor.data));
  if (with_node && tensor.node) out.set("graph", nodes().add(tensor.node));
  return out;
}

val ParameterHandle::make(const val& tensor) {
  nn::Tensor value = to_tensor(tensor);
  value.node.reset();
  parameter_ = std::make_shared<nn::Parameter>(std::move(value));
  parameter_->set_requires_grad(true);
  return answer();
}
val ParameterHandle::value() const { return answer("tensor", from_tensor(parameter_->value())); }
val ParameterHandle::set(const val& tensor) const {
  nn::Tensor value = to_tensor(tensor);
  if (value.dims != parameter_->value().dims) {
    return answer(nn::wrong_shape("nn.Parameter", "the new value", to_string(parameter_->value().dims), value.dims));
  }
  parameter_->set(std::move(value));
  return answer();
}
val ParameterHandle::grad() const {
  const std::span<float> grad = parameter_->grad();
  if (grad.empty() && !parameter_->value().data.empty()) return answer();
  return answer("tensor", from_tensor(nn::Tensor::of(parameter_->value().dims, {grad.begin(), grad.end()})));
}
val ParameterHandle::set_grad(const val& tensor) const {
  if (tensor.isNull()) {
    parameter_->zero_grad();
    return answer();
  }
  nn::Tensor value = to_tensor(tensor);
  if (value.dims != parameter_->value().dims) {
    return answer(nn::wrong_shape("nn.Parameter", "grad", to_string(parameter_->value().dims), value.dims));
  }
  parameter_->set_grad(std::move(value.data));
  return answer();
}

std::vector<nn::ParameterPtr> to_parameters(const val& handles) {
  std::vector<nn::ParameterPtr> out;
  const auto count = handles["length"].as<unsigned>();
  for (unsigned i = 0; i < count; ++i) out.push_back(handles[i].as<const ParameterHandle&>().parameter());
  return out;
}

// gradient: of the tensor's shape, or null: of ones.
val run_backward(const val& tensor, const val& gradient, bool retain_graph) {
  const nn::Tensor root = to_tensor(tensor);
  if (!root.node)
    return answer({ErrorCode::kState, "backward: this tensor has no graph, as nothing it was computed from requires a gradient"});
  nn::Tensor first;
  if (!gradient.isNull()) first = to_tensor(gradient);
  if (!gradient.isNull() && first.dims != root.dims) {
    return answer(nn::wrong_shape("backward", "gradient", to_string(root.dims), first.dims));
  }
  const auto done = nn::backward(root.node, gradient.isNull() ? nullptr : first.at(0), retain_graph);
  if (!retain_graph) nodes().remove_released();
  return answer(done);
}

// graph: of a tensor.
void retain_grad(double graph) { nodes().find(graph)->retains = true; }
// Answer: grad, absent if there is none.
val retained_grad(double graph) {
  const auto node = nodes().find(graph);
  return node->retained.empty() ? answer() : answer("grad", to_typed_array(node->retained));
}

void release_graph(double number) { nodes().remove(number); }

// Answer: norm.
val clip_gradients(const val& parameters, double max_norm) {
  return answer("norm", nn::clip_grad_norm(to_parameters(parameters), max_norm));
}

double factor_of_schedule(const std::string& name, double step, double warmup_steps, double training_steps) {
  const Schedule schedule = name == "linear"   ? Schedule::kLinear
                            : name == "cosine" ? Schedule::kCosine
                                               : Schedule::kConstantWithWarmup;
  const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  return wattn::schedule_factor(schedule, whole(step), whole(warmup_steps), whole(training_steps));
}

nn::Inputs to_inputs(const val& tensors) {
  nn::Inputs out;
  const auto count = tensors["length"].as<unsigned>();
  for (unsigned i = 0; i < count; ++i) out.emplace_back(tensors[i]["name"].as<std::string>(), to_tensor(tensors[i]));
  return out;
}

nn::Options to_options(std::string where, const val& pairs) {
  nn::Options out(std::move(where));
  const auto count = pairs["length"].as<unsigned>();
  for (unsigned i = 0; i < count; ++i) {
    auto name = pairs[i][0].as<std::string>();
    const val value = pairs[i][1];
    if (value.isString()) {
      out.set_word(std::move(name), value.as<std::string>());
    } else if (value.isNumber()) {
      out.set(std::move(name), value.as<double>());
    } else {
      out.set(std::move(name), emscripten::convertJSArrayToNumberVector<double>(value));
    }
  }
  return out;
}

val to_answer(const Result<nn::Outputs>& outputs) {
  if (!outputs.ok()) return answer(outputs.error());
  val out = answer();
  out.set("output", from_tensor(outputs.value().output, true));
  const nn::Tensor& weights = outputs.value().weights;
  if (!weights.dims.empty() || !weights.data.empty()) out.set("weights", from_tensor(weights, true));
  return out;
}

val call_function(const std::string& name, const val& tensors, const val& options) {
  return to_answer(nn::call_function(name, to_inputs(tensors), to_options("nn." + name, options)));
}

// The same number for the same object.
double identity(const void* object) { return static_cast<double>(reinterpret_cast<std::uintptr_t>(object)); }

val to_rows(const nn::Tracer& tracer, bool keep) {
  return to_array(tracer.rows(), [&](const nn::TraceRow& row) {
    val out = val::object();
    out.set("name", row.name);
    out.set("type", row.type);
    out.set("depth", row.depth);
    out.set("input", from_shape(row.input));
    out.set("output", from_shape(row.output));
    out.set("kernel", from_shape(row.kernel));
    set_number(out, "parameters", row.parameters);
    set_number(out, "own_parameters", row.own_parameters);
    set_number(out, "mult_adds", row.mult_adds);
    set_number(out, "macs", row.macs);
    out.set("is_leaf", row.is_leaf);
    out.set("module", identity(row.module));
    if (keep) out.set("tensor", from_tensor(row.outputs.output));
    if (keep && !row.outputs.weights.dims.empty()) out.set("weights", from_tensor(row.outputs.weights));
    return out;
  });
}

struct CacheHandle {
  nn::KeyValueCache cache;
  int length() const { return static_cast<int>(cache.length); }
};

class ModuleHandle {
 public:
  // parts: the modules of a Sequential.
  val make(const std::string& type, const val& options, const val& parts) {
    std::vector<nn::ModulePtr> modules;
    const auto count = parts["length"].as<unsigned>();
    for (unsigned i = 0; i < count; ++i) modules.push_back(parts[i].as<const ModuleHandle&>().module_);
    auto made = nn::make_module(type, to_options("nn." + type, options), std::move(modules));
    if (!made.ok()) return answer(made.error());
    module_ = std::move(made).value();
    return answer();
  }

  val forward(const val& tensors, const val& options, const val& cache, double seed) const {
    return to_answer(
        nn::call_module(*module_, to_inputs(tensors), read(options), cache_of(cache), nullptr, static_cast<std::uint64_t>(seed)));
  }

  // Answer: that of forward, and rows.
  val trace(const val& tensors, const val& options, const val& cache, double seed, bool keep) const {
    nn::Tracer tracer(keep);
    val out = to_answer(
        nn::call_module(*module_, to_inputs(tensors), read(options), cache_of(cache), &tracer, static_cast<std::uint64_t>(seed)));
    out.set("rows", to_rows(tracer, keep));
    return out;
  }

  // Answer: names, tensors (shapes without values), buffers and frozen (0 or 1 each), identities (equal where weights are tied).
  val state(bool values) const {
    const auto state = module_->state();
    val out = answer();
    out.set("names", to_array(state, [](const auto& named) { return val(named.name); }));
    out.set("tensors", to_array(state, [&](const auto& named) {
              const nn::Tensor& value = named.parameter->value();
              return values ? from_tensor(value) : from_shape(value.dims);
            }));
    out.set("buffers", to_array(state, [](const auto& named) { return val(named.is_buffer ? 1 : 0); }));
    out.set("frozen", to_array(state, [](const auto& named) { return val(named.parameter->is_frozen() ? 1 : 0); }));
    out.set("identities", to_array(state, [](const auto& named) { return val(identity(named.parameter.get())); }));
    return out;
  }

  // Answer: parameters, a handle for each entry of state().
  val parameters() const {
    return answer("parameters",
                  to_array(module_->state(), [](const auto& named) { return val(ParameterHandle(named.parameter)); }));
  }
  void train(bool yes) const { module_->train(yes); }
  bool training() const { return module_->training(); }
  // Whether this module or a part of it is in train mode: a forward may then draw numbers.
  bool draws() const {
    const std::vector<bool> modes = module_->modes();
    return std::find(modes.begin(), modes.end(), true) != modes.end();
  }
  // Evaluation mode, and back to the modes before.
  void pause() {
    paused_ = module_->modes();
    module_->set_modes(std::vector<bool>(paused_.size(), false));
  }
  void resume() { module_->set_modes(paused_); }

  val load(const std::string& name, const val& tensor) const { return answer(module_->load(name, to_tensor(tensor))); }
  val draw(double seed) const {
    module_->draw(static_cast<std::uint64_t>(seed));
    return answer();
  }

  // source: null, or a tensor.
  val generate(const val& ids, const val& source, const val& options) const {
    nn::Options read_options = read(options);
    const nn::Generative* model = module_->generative();
    if (!model) return answer(input_error(module_->where() + ": generate: expected a LanguageModel or EncoderDecoder"));
    const auto generate_options = nn::read_generate_options(read_options);
    if (!generate_options.ok()) return answer(generate_options.error());
    const auto prompt = emscripten::convertJSArrayToNumberVector<std::int32_t>(ids);
    nn::Tensor from;
    if (!source.isNull()) from = to_tensor(source);
    const auto out = nn::generate(*model, prompt, source.isNull() ? nullptr : &from, generate_options.value());
    if (!out.ok()) return answer(out.error());
    return answer("ids", to_typed_array(out.value()));
  }

 private:
  nn::Options read(const val& options) const { return to_options(module_->where(), options); }
  static nn::KeyValueCache* cache_of(const val& cache) { return cache.isNull() ? nullptr : &cache.as<CacheHandle&>().cache; }

  nn::ModulePtr module_;  // web/ calls make() first
  std::vector<bool> paused_;
};

class OptimizerHandle {
 public:
  val make(const std::string& kind) {
    auto made = nn::Optimizer::make(kind);
    if (!made.ok()) return answer(made.error());
    optimizer_ = std::move(made).value();
    kind_ = kind;
    return answer();
  }
  val add_group(const val& parameters, const val& options) {
    const auto fits = optimizer_->check(to_options("nn.optim." + kind_, options));
    return fits.ok() ? answer(optimizer_->add_group(to_parameters(parameters))) : answer(fits.error());
  }
  // groups: the options of each.
  val step(const val& groups) {
    std::vector<nn::Options> options;
    const auto count = groups["length"].as<unsigned>();
    for (unsigned i = 0; i < count; ++i) options.push_back(to_options("nn.optim." + kind_, groups[i]));
    return answer(optimizer_->step(std::move(options)));
  }
  // Answer: state, an array of tensors for each parameter.
  val state() const {
    return answer("state", to_array(optimizer_->state(), [](const auto& tensors) {
                    return to_array(tensors, [](const nn::Tensor& tensor) { return from_tensor(tensor); });
                  }));
  }
  val load(const val& state) {
    std::vector<std::vector<nn::Tensor>> slots;
    const auto count = state["length"].as<unsigned>();
    for (unsigned i = 0; i < count; ++i) {
      auto& tensors = slots.emplace_back();
      const auto parts = state[i]["length"].as<unsigned>();
      for (unsigned j = 0; j < parts; ++j) tensors.push_back(to_tensor(state[i][j]));
    }
    return answer(optimizer_->load(slots));
  }

 private:
  std::optional<nn::Optimizer> optimizer_;  // web/ calls make() first
  std::string kind_;
};

}  // namespace

EMSCRIPTEN_BINDINGS(nn) {
  emscripten::function("call_function", &call_function);
  emscripten::function("backward", &run_backward);
  emscripten::function("release_graph", &release_graph);
  emscripten::function("retain_grad", &retain_grad);
  emscripten::function("retained_grad", &retained_grad);
  emscripten::function("set_grad_enabled", &nn::set_grad_enabled);
  emscripten::function("clip_grad_norm", &clip_gradients);
  emscripten::function("schedule_factor", &factor_of_schedule);
  emscripten::class_<ParameterHandle>("Parameter")
      .constructor()
      .function("make", &ParameterHandle::make)
      .function("value", &ParameterHandle::value)
      .function("set", &ParameterHandle::set)
      .function("grad", &ParameterHandle::grad)
      .function("set_grad", &ParameterHandle::set_grad)
      .function("version", &ParameterHandle::version)
      .function("requires_grad", &ParameterHandle::requires_grad)
      .function("set_requires_grad", &ParameterHandle::set_requires_grad)
      .function("track", &ParameterHandle::track);
  emscripten::class_<OptimizerHandle>("Optimizer")
      .constructor()
      .function("make", &OptimizerHandle::make)
      .function("add_group", &OptimizerHandle::add_group)
      .function("step", &OptimizerHandle::step)
      .function("state", &OptimizerHandle::state)
      .function("load", &OptimizerHandle::load);
  emscripten::class_<CacheHandle>("Cache").constructor().function("length", &CacheHandle::length);
  emscripten::class_<ModuleHandle>("Module")
      .constructor()
      .function("make", &ModuleHandle::make)
      .function("forward", &ModuleHandle::forward)
      .function("trace", &ModuleHandle::trace)
      .function("state", &ModuleHandle::state)
      .function("parameters", &ModuleHandle::parameters)
      .function("train", &ModuleHandle::train)
      .function("training", &ModuleHandle::training)
      .function("draws", &ModuleHandle::draws)
      .function("pause", &ModuleHandle::pause)
      .function("resume", &ModuleHandle::resume)
      .function("load", &ModuleHandle::load)
      .function("draw", &ModuleHandle::draw)
      .function("generate", &ModuleHandle::generate);
}

}  // namespace wattn
