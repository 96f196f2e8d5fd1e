#include "nn/call.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "nn/attention.h"
#include "nn/elementwise.h"
#include "nn/functional.h"
#include "nn/losses.h"
#include "nn/norms.h"
#include "nn/pooling.h"
#include "nn/positional.h"
#include "nn/shapes.h"

namespace wattn::nn {
namespace {

// A call being read. Reads that fail keep the first error in options.
struct Call {
  const Inputs& inputs;
  Options options;

  const Tensor* may(std::string_view name) const {
    const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const auto& named) { return named.first == name; });
    return at == inputs.end() ? nullptr : &at->second;
  }
  const Tensor& need(std::string_view name) {
    static const Tensor kNothing;
    const Tensor* tensor = may(name);
    if (!tensor) options.fail("expected a tensor '" + std::string(name) + "', found none");
    return tensor ? *tensor : kNothing;
  }
  const Tensor& input() { return need("input"); }
  std::int64_t dim(std::int64_t fallback) { return options.whole("dim", fallback, std::numeric_limits<std::int32_t>::min()); }
  std::vector<std::int64_t> dims(std::string_view name) { return options.wholes(name, std::numeric_limits<std::int32_t>::min()); }
  bool keep_dim() { return options.yes("keepdim", false); }
  Generator random() { return Generator(static_cast<std::uint64_t>(options.whole("seed", 0))); }
  float eps(double fallback) { return static_cast<float>(options.number("eps", fallback)); }
  std::int64_t queries() { return options.needed_whole("queries"); }
  std::int64_t keys() { return options.whole("keys", queries(), 1); }
  std::int64_t past() { return options.whole("past", 0); }
  T5Buckets t5() {
    return {.bidirectional = options.yes("bidirectional", true),
            .num_buckets = options.whole("num_buckets", 32, 2),
            .max_distance = options.whole("max_distance", 128, 2)};
  }
};

// f(arguments...) once the call has been read without an error. A constructor, because braces read the arguments in order.
struct Invoke {
  Result<Outputs> outputs;

  template <class F, class... Args>
  Invoke(Call& call, F* f, const Args&... arguments) : outputs(run(call, f, arguments...)) {}

 private:
  template <class F, class... Args>
  static Result<Outputs> run(Call& call, F* f, const Args&... arguments) {
    if (const auto end = call.options.finish(); !end.ok()) return end.error();
    return to_outputs(f(arguments...));
  }
};

constexpr std::pair<std::string_view, Activation> kActivations[] = {
    {"relu", Activation::kRelu}, {"gelu", Activation::kGelu}, {"gelu_tanh", Activation::kGeluTanh},
    {"silu", Activation::kSilu}, {"tanh", Activation::kTanh}, {"sigmoid", Activation::kSigmoid}};
constexpr std::pair<std::string_view, SinusoidalForm> kSinusoidalForms[] = {{"vaswani", SinusoidalForm::kVaswani},
                                                                            {"notes", SinusoidalForm::kNotes}};

Result<Outputs> call_attention(Call& c) {
  ScoreChanges changes{.causal = c.options.yes("is_causal", false)};
  if (const Tensor* mask = c.may("attn_mask")) changes.add.push_back(mask);
  if (const Tensor* factor = c.may("score_factor")) changes.multiply.push_back(factor);
  std::optional<float> scale;
  if (c.options.has("scale")) scale = static_cast<float>(c.options.number("scale", 1));
  return Invoke{c,     scaled_dot_product_attention,        c.need("query"), c.need("key"), c.need("value"), changes,
                scale, c.options.yes("need_weights", false)}
      .outputs;
}

Result<Outputs> call_relative_scores(Call& c) {
  const Tensor& q = c.need("query");
  const std::int64_t keys = c.options.whole("keys", q.rank() < 2 ? 1 : q.dim(-2), 1);
  return Invoke{c, relative_scores, q, c.need("table"), keys, c.past()}.outputs;
}

Result<Outputs> call_rotary(Call& c) {
  const Rotary options{.base = c.options.number("base", 10000),
                       .interleaved = c.options.yes("interleaved", false),
                       .first = c.options.whole("first", 0)};
  return Invoke{c, rotary, c.input(), options}.outputs;
}

Result<Outputs> call_sampling_probabilities(Call& c) {
  const Tensor& logits = c.input();
  const auto options = read_generate_options(c.options);
  if (!options.ok()) return options.error();
  return Invoke{c, sampling_probabilities, logits, options.value()}.outputs;
}

constexpr std::pair<std::string_view, Unary> kUnaries[] = {{"exp", Unary::kExp}, {"log", Unary::kLog}, {"sqrt", Unary::kSqrt},
                                                           {"abs", Unary::kAbs}, {"sin", Unary::kSin}, {"cos", Unary::kCos}};

Result<Outputs> call_cat(Call& c) {
  std::vector<const Tensor*> parts;
  for (const auto& [name, tensor] : c.inputs) parts.push_back(&tensor);
  return Invoke{c, cat, parts, c.dim(0)}.outputs;
}

Result<Outputs> call_largest(Call& c, bool negative) {
  return Invoke{c, largest, c.input(), c.dims("dim"), c.keep_dim(), negative}.outputs;
}

Result<Outputs> call_clamp(Call& c) {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  return Invoke{c, clamp, c.input(), c.options.number("min", -kAll), c.options.number("max", kAll)}.outputs;
}

Result<Outputs> call_dropout(Call& c) {
  const Tensor& x = c.input();
  const double p = c.options.number("p", 0.5);
  Generator random = c.random();
  if (const auto end = c.options.finish(); !end.ok()) return end.error();
  return to_outputs(dropout(x, p, random));
}

Result<Outputs> call_cross_entropy(Call& c) {
  const CrossEntropyOptions options{.ignore_index = c.options.whole("ignore_index", -100, std::numeric_limits<std::int32_t>::min()),
                                    .label_smoothing = c.options.number("label_smoothing", 0),
                                    .reduction = read_reduction(c.options)};
  return Invoke{c, cross_entropy, c.input(), c.need("target"), c.may("weight"), options}.outputs;
}

Result<Outputs> call_triplet(Call& c) {
  const TripletMargin options{
      .margin = static_cast<float>(c.options.number("margin", 1)), .eps = c.eps(1e-6), .swap = c.options.yes("swap", false)};
  return Invoke{c,       triplet_margin_loss,      c.need("anchor"), c.need("positive"), c.need("negative"),
                options, read_reduction(c.options)}
      .outputs;
}

struct NamedFunction {
  std::string_view name;
  Result<Outputs> (*run)(Call&);
};
constexpr NamedFunction kFunctions[] = {
    {"softmax", [](Call& c) { return Invoke{c, softmax, c.input(), c.dim(-1)}.outputs; }},
    {"log_softmax", [](Call& c) { return Invoke{c, log_softmax, c.input(), c.dim(-1)}.outputs; }},
    {"matmul", [](Call& c) { return Invoke{c, matmul, c.input(), c.need("other")}.outputs; }},
    {"bmm", [](Call& c) { return Invoke{c, bmm, c.input(), c.need("other")}.outputs; }},
    {"add", [](Call& c) { return Invoke{c, add, c.input(), c.need("other")}.outputs; }},
    {"mul", [](Call& c) { return Invoke{c, mul, c.input(), c.need("other")}.outputs; }},
    {"sub", [](Call& c) { return Invoke{c, sub, c.input(), c.need("other")}.outputs; }},
    {"div", [](Call& c) { return Invoke{c, div, c.input(), c.need("other")}.outputs; }},
    {"scaled", [](Call& c) { return Invoke{c, scaled, c.input(), c.options.number("factor", 1)}.outputs; }},
    {"unary", [](Call& c) { return Invoke{c, unary, c.input(), c.options.choice("kind", kUnaries, Unary::kExp)}.outputs; }},
    {"pow", [](Call& c) { return Invoke{c, pow, c.input(), c.options.number("exponent", 2)}.outputs; }},
    {"clamp", call_clamp},
    {"masked_fill",
     [](Call& c) { return Invoke{c, masked_fill, c.input(), c.need("mask"), c.options.number("value", 0)}.outputs; }},
    {"sum", [](Call& c) { return Invoke{c, sum, c.input(), c.dims("dim"), c.keep_dim(), false}.outputs; }},
    {"mean", [](Call& c) { return Invoke{c, sum, c.input(), c.dims("dim"), c.keep_dim(), true}.outputs; }},
    {"max", [](Call& c) { return call_largest(c, false); }},
    {"min", [](Call& c) { return call_largest(c, true); }},
    {"reshape", [](Call& c) { return Invoke{c, reshape, c.input(), c.dims("shape")}.outputs; }},
    {"permute", [](Call& c) { return Invoke{c, permute, c.input(), c.dims("dims")}.outputs; }},
    {"expand", [](Call& c) { return Invoke{c, expand, c.input(), c.dims("size")}.outputs; }},
    {"slice", [](Call& c) { return Invoke{c, slice, c.input(), c.dims("begin"), c.dims("end"), c.dims("step")}.outputs; }},
    {"cat", call_cat},
    {"index_select", [](Call& c) { return Invoke{c, index_select, c.input(), c.dim(0), c.need("index")}.outputs; }},
    {"dropout", call_dropout},
    {"random",
     [](Call& c) {
       const auto seed = static_cast<std::uint64_t>(c.options.whole("seed", 0));
       return Invoke{c, random_tensor, c.dims("size"), seed, c.options.yes("normal", false)}.outputs;
     }},
    {"cross_entropy", call_cross_entropy},
    {"binary_cross_entropy_with_logits",
     [](Call& c) {
       return Invoke{c,
                     binary_cross_entropy_with_logits,
                     c.input(),
                     c.need("target"),
                     c.may("weight"),
                     c.may("pos_weight"),
                     read_reduction(c.options)}
           .outputs;
     }},
    {"mse_loss", [](Call& c) { return Invoke{c, mse_loss, c.input(), c.need("target"), read_reduction(c.options)}.outputs; }},
    {"l1_loss", [](Call& c) { return Invoke{c, l1_loss, c.input(), c.need("target"), read_reduction(c.options)}.outputs; }},
    {"kl_div", [](Call& c) { return Invoke{c, kl_div, c.input(), c.need("target"), read_reduction(c.options, true)}.outputs; }},
    {"cosine_embedding_loss",
     [](Call& c) {
       return Invoke{c,
                     cosine_embedding_loss,
                     c.need("input1"),
                     c.need("input2"),
                     c.need("target"),
                     c.options.number("margin", 0),
                     read_reduction(c.options)}
           .outputs;
     }},
    {"triplet_margin_loss", call_triplet},
    {"linear", [](Call& c) { return Invoke{c, linear, c.input(), c.need("weight"), c.may("bias")}.outputs; }},
    {"dot_product_similarity",
     [](Call& c) { return Invoke{c, dot_product_similarity, c.input(), c.need(c.may("other") ? "other" : "input")}.outputs; }},
    {"activate",
     [](Call& c) { return Invoke{c, activate, c.input(), c.options.choice("kind", kActivations, Activation::kRelu)}.outputs; }},
    {"embedding", [](Call& c) { return Invoke{c, embedding, c.input(), c.need("weight")}.outputs; }},
    {"one_hot", [](Call& c) { return Invoke{c, one_hot, c.input(), c.options.whole("num_classes", 0)}.outputs; }},
    {"permute_rows", [](Call& c) { return Invoke{c, permute_rows, c.input(), c.need("order")}.outputs; }},
    {"layer_norm",
     [](Call& c) {
       const Shape shape = c.options.wholes("normalized_shape", 1);
       return Invoke{c, layer_norm, c.input(), shape, c.may("weight"), c.may("bias"), c.eps(1e-5), read_epsilon_form(c.options)}
           .outputs;
     }},
    {"rms_norm",
     [](Call& c) {
       return Invoke{c, rms_norm, c.input(), c.options.wholes("normalized_shape", 1), c.may("weight"), c.eps(-1)}.outputs;
     }},
    {"batch_norm",
     [](Call& c) {
       return Invoke{
           c, batch_norm, c.input(), c.need("running_mean"), c.need("running_var"), c.may("weight"), c.may("bias"), c.eps(1e-5)}
           .outputs;
     }},
    {"instance_norm",
     [](Call& c) { return Invoke{c, instance_norm, c.input(), c.may("weight"), c.may("bias"), c.eps(1e-5)}.outputs; }},
    {"vector_norm",
     [](Call& c) {
       return Invoke{c, vector_norm, c.input(), c.options.number("ord", 2), c.dim(-1), c.options.yes("keepdim", false)}.outputs;
     }},
    {"normalize",
     [](Call& c) { return Invoke{c, normalize, c.input(), c.options.number("p", 2), c.dim(1), c.eps(1e-12)}.outputs; }},
    {"avg_pool2d", [](Call& c) { return Invoke{c, avg_pool2d, c.input(), read_window(c.options)}.outputs; }},
    {"max_pool2d", [](Call& c) { return Invoke{c, max_pool2d, c.input(), read_window(c.options)}.outputs; }},
    {"pool_sequence",
     [](Call& c) { return Invoke{c, pool_sequence, c.input(), read_pooling(c.options, "mode"), c.may("mask")}.outputs; }},
    {"scaled_dot_product_attention", call_attention},
    {"sinusoidal",
     [](Call& c) {
       return Invoke{c,
                     sinusoidal,
                     c.options.needed_whole("length"),
                     c.options.needed_whole("dim"),
                     c.options.choice("form", kSinusoidalForms, SinusoidalForm::kVaswani),
                     c.options.number("base", 10000)}
           .outputs;
     }},
    {"relative_offsets", [](Call& c) { return Invoke{c, relative_offsets, c.queries(), c.keys(), c.past()}.outputs; }},
    {"relative_bias", [](Call& c) { return Invoke{c, relative_bias, c.need("table"), c.queries(), c.keys(), c.past()}.outputs; }},
    {"relative_scores", call_relative_scores},
    {"t5_buckets", [](Call& c) { return Invoke{c, t5_buckets, c.queries(), c.keys(), c.t5(), c.past()}.outputs; }},
    {"t5_bias", [](Call& c) { return Invoke{c, t5_bias, c.need("table"), c.queries(), c.keys(), c.t5(), c.past()}.outputs; }},
    {"alibi_slopes", [](Call& c) { return Invoke{c, alibi_slopes, c.options.needed_whole("heads")}.outputs; }},
    {"alibi_bias",
     [](Call& c) { return Invoke{c, alibi_bias, c.options.needed_whole("heads"), c.queries(), c.keys(), c.past()}.outputs; }},
    {"rotary", call_rotary},
    {"sampling_probabilities", call_sampling_probabilities},
};

constexpr std::pair<std::string_view, const Tensor * Arguments::*> kArguments[] = {
    {"input", &Arguments::input},
    {"key", &Arguments::key},
    {"value", &Arguments::value},
    {"memory", &Arguments::memory},
    {"attn_mask", &Arguments::attn_mask},
    {"key_padding_mask", &Arguments::key_padding_mask},
    {"memory_mask", &Arguments::memory_mask},
    {"memory_key_padding_mask", &Arguments::memory_key_padding_mask},
    {"src_mask", &Arguments::src_mask},
    {"src_key_padding_mask", &Arguments::src_key_padding_mask},
};

}  // namespace

Result<Outputs> call_function(std::string_view name, const Inputs& inputs, Options options) {
  for (const NamedFunction& function : kFunctions) {
    if (function.name != name) continue;
    Call call{inputs, std::move(options)};
    return function.run(call);
  }
  return input_error("nn: unknown function '" + std::string(name) + "'");
}

Result<Outputs> call_module(const Module& module, const Inputs& inputs, Options options, KeyValueCache* cache, Observer* observer,
                            std::uint64_t seed) {
  Arguments arguments;
  for (const auto& [name, tensor] : inputs) {
    const auto at = std::find_if(std::begin(kArguments), std::end(kArguments), [&](const auto& row) { return row.first == name; });
    if (at == std::end(kArguments)) return input_error(module.where() + ": unknown tensor '" + name + "'");
    arguments.*at->second = &tensor;
  }
  arguments.is_causal = options.yes("is_causal", false);
  arguments.need_weights = options.yes("need_weights", false);
  arguments.average_attn_weights = options.yes("average_attn_weights", true);
  arguments.cache = cache;
  arguments.observer = observer;
  Generator random(seed);
  arguments.random = &random;
  const GradMode mode(grad_enabled() && !cache);  // what a cache keeps has no gradient
  if (const auto end = options.finish(); !end.ok()) return end.error();
  auto out = module.forward(arguments);
  // In generate() the model counts its own steps; here each forward is one.
  if (out.ok() && cache && arguments.input->rank() >= 2) cache->length += arguments.input->dim(1);
  return out;
}

Result<GenerateOptions> read_generate_options(Options& options) {
  GenerateOptions out;
  out.max_new_tokens = options.whole("max_new_tokens", out.max_new_tokens, 1);
  out.min_new_tokens = options.whole("min_new_tokens", out.min_new_tokens);
  for (const std::int64_t id : options.wholes("eos_token_id", -1)) {
    if (id >= 0) out.eos_token_ids.push_back(static_cast<std::int32_t>(id));
  }
  out.do_sample = options.yes("do_sample", out.do_sample);
  for (const auto& [name, value] : {std::pair{"temperature", &out.temperature},
                                    {"top_p", &out.top_p},
                                    {"min_p", &out.min_p},
                                    {"repetition_penalty", &out.repetition_penalty},
                                    {"length_penalty", &out.length_penalty}}) {
    *value = options.number(name, *value);
  }
  out.top_k = options.whole("top_k", out.top_k);
  out.no_repeat_ngram_size = options.whole("no_repeat_ngram_size", out.no_repeat_ngram_size);
  const auto token = [&](const char* name, std::optional<std::int32_t>& to) {
    if (options.has(name)) to = static_cast<std::int32_t>(options.whole(name, 0));
  };
  token("forced_bos_token_id", out.forced_bos_token_id);
  token("forced_eos_token_id", out.forced_eos_token_id);
  out.num_beams = options.whole("num_beams", out.num_beams, 1);
  if (options.yes("early_stopping", false)) out.early_stopping = GenerateOptions::EarlyStopping::kYes;
  out.seed = static_cast<std::uint64_t>(options.whole("seed", 0));
  out.use_cache = options.yes("use_cache", out.use_cache);
  if (const auto end = options.finish(); !end.ok()) return end.error();
  return out;
}

}  // namespace wattn::nn
