// Building blocks: tensors arrive as {name, dims, data}, options as [name, value] pairs.
#include "nn/call.h"

#include <emscripten/bind.h>

#include "bindings/convert.h"
#include "nn/summary.h"

namespace wattn {
namespace {

nn::Tensor to_tensor(const val& tensor) {
  nn::Tensor out;
  for (const std::int32_t dim : emscripten::convertJSArrayToNumberVector<std::int32_t>(tensor["dims"])) out.dims.push_back(dim);
  out.data.resize(tensor["data"]["length"].as<std::size_t>());
  val(typed_memory_view(out.data.size(), out.data.data())).call<void>("set", tensor["data"]);
  return out;
}

val from_shape(const Shape& dims) { return to_typed_array(std::vector<std::int32_t>(dims.begin(), dims.end())); }

val from_tensor(const nn::Tensor& tensor) {
  val out = val::object();
  out.set("dims", from_shape(tensor.dims));
  out.set("data", to_typed_array(tensor.data));
  return out;
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
  out.set("output", from_tensor(outputs.value().output));
  if (!outputs.value().weights.dims.empty()) out.set("weights", from_tensor(outputs.value().weights));
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

  val forward(const val& tensors, const val& options, const val& cache) const {
    return to_answer(nn::call_module(*module_, to_inputs(tensors), read(options), cache_of(cache), nullptr));
  }

  // Answer: that of forward, and rows.
  val trace(const val& tensors, const val& options, const val& cache, bool keep) const {
    nn::Tracer tracer(keep);
    val out = to_answer(nn::call_module(*module_, to_inputs(tensors), read(options), cache_of(cache), &tracer));
    out.set("rows", to_rows(tracer, keep));
    return out;
  }

  // Answer: names, tensors (shapes without values), buffers (0 or 1 each), identities (equal where weights are tied).
  val state(bool values) const {
    const auto state = module_->state();
    val out = answer();
    out.set("names", to_array(state, [](const auto& named) { return val(named.name); }));
    out.set("tensors", to_array(state, [&](const auto& named) {
              const nn::Tensor& value = named.parameter->value();
              return values ? from_tensor(value) : from_shape(value.dims);
            }));
    out.set("buffers", to_array(state, [](const auto& named) { return val(named.is_buffer ? 1 : 0); }));
    out.set("identities", to_array(state, [](const auto& named) { return val(identity(named.parameter.get())); }));
    return out;
  }

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
};

}  // namespace

EMSCRIPTEN_BINDINGS(nn) {
  emscripten::function("call_function", &call_function);
  emscripten::class_<CacheHandle>("Cache").constructor().function("length", &CacheHandle::length);
  emscripten::class_<ModuleHandle>("Module")
      .constructor()
      .function("make", &ModuleHandle::make)
      .function("forward", &ModuleHandle::forward)
      .function("trace", &ModuleHandle::trace)
      .function("state", &ModuleHandle::state)
      .function("load", &ModuleHandle::load)
      .function("draw", &ModuleHandle::draw)
      .function("generate", &ModuleHandle::generate);
}

}  // namespace wattn
