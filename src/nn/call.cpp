#include "nn/call.h"

#include <algorithm>
#include <limits>

#include "nn/attention.h"
#include "nn/functional.h"
#include "nn/norms.h"
#include "nn/pooling.h"
#include "nn/positional.h"

namespace wattn::nn {
namespace {

constexpr std::int64_t kAnyWhole = std::numeric_limits<std::int32_t>::min();

// A call being read: what it lacks is kept as an error.
struct Call {
  const Inputs& inputs;
  Options options;

  const Tensor& need(std::string_view name) {
    static const Tensor kNothing;
    const Tensor* tensor = inputs.find(name);
    if (!tensor) options.fail("expected a tensor '" + std::string(name) + "', found none");
    return tensor ? *tensor : kNothing;
  }
  const Tensor* may(std::string_view name) const { return inputs.find(name); }
  std::int64_t dim(std::int64_t fallback) { return options.whole("dim", fallback, kAnyWhole); }
  float eps(double fallback) { return static_cast<float>(options.number("eps", fallback)); }
  std::int64_t past() { return options.whole("past", 0); }
};

// run() once all has been read without an error.
template <class F>
Result<Outputs> when_read(Call& call, const F& run) {
  if (const auto end = call.options.finish(); !end.ok()) return end.error();
  auto out = run();
  if (!out.ok()) return out.error();
  return Outputs{std::move(out).value(), {}};
}

Result<Outputs> two(Call& call, std::string_view first, std::string_view second,
                    Result<Tensor> (*f)(const Tensor&, const Tensor&)) {
  const Tensor& a = call.need(first);
  const Tensor& b = call.need(second);
  return when_read(call, [&] { return f(a, b); });
}

Result<Outputs> f_softmax(Call& call) {
  const Tensor& x = call.need("input");
  const std::int64_t dim = call.dim(-1);
  return when_read(call, [&] { return softmax(x, dim); });
}
Result<Outputs> f_log_softmax(Call& call) {
  const Tensor& x = call.need("input");
  const std::int64_t dim = call.dim(-1);
  return when_read(call, [&] { return log_softmax(x, dim); });
}
Result<Outputs> f_matmul(Call& call) { return two(call, "input", "other", matmul); }
Result<Outputs> f_bmm(Call& call) { return two(call, "input", "other", bmm); }
Result<Outputs> f_add(Call& call) { return two(call, "input", "other", add); }
Result<Outputs> f_mul(Call& call) { return two(call, "input", "other", mul); }
Result<Outputs> f_similarity(Call& call) {
  const Tensor& x = call.need("input");
  const Tensor* y = call.may("other");
  return when_read(call, [&] { return dot_product_similarity(x, y ? *y : x); });
}
Result<Outputs> f_embedding(Call& call) { return two(call, "input", "weight", embedding); }
Result<Outputs> f_permute_rows(Call& call) { return two(call, "input", "order", permute_rows); }
Result<Outputs> f_linear(Call& call) {
  const Tensor& x = call.need("input");
  const Tensor& weight = call.need("weight");
  return when_read(call, [&] { return linear(x, weight, call.may("bias")); });
}
Result<Outputs> f_one_hot(Call& call) {
  const Tensor& ids = call.need("input");
  const std::int64_t classes = call.options.whole("num_classes", 0);
  return when_read(call, [&] { return one_hot(ids, classes); });
}
Result<Outputs> f_activate(Call& call) {
  const Tensor& x = call.need("input");
  constexpr Activation kActivations[] = {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                                         Activation::kSilu, Activation::kTanh, Activation::kSigmoid};
  const int kind = call.options.choice("kind", {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"});
  return when_read(call, [&]() -> Result<Tensor> { return activate(x, kActivations[kind]); });
}
Result<Outputs> f_layer_norm(Call& call) {
  const Tensor& x = call.need("input");
  const Shape shape = call.options.wholes("normalized_shape", 1);
  const float eps = call.eps(1e-5);
  const bool outside = call.options.choice("eps_form", {"inside", "outside"}) == 1;
  const auto form = outside ? EpsilonForm::kBesideSigma : EpsilonForm::kInsideRoot;
  return when_read(call, [&] { return layer_norm(x, shape, call.may("weight"), call.may("bias"), eps, form); });
}
Result<Outputs> f_rms_norm(Call& call) {
  const Tensor& x = call.need("input");
  const Shape shape = call.options.wholes("normalized_shape", 1);
  const float eps = call.eps(-1);
  return when_read(call, [&] { return rms_norm(x, shape, call.may("weight"), eps); });
}
Result<Outputs> f_batch_norm(Call& call) {
  const Tensor& x = call.need("input");
  const Tensor& mean = call.need("running_mean");
  const Tensor& variance = call.need("running_var");
  const float eps = call.eps(1e-5);
  return when_read(call, [&] { return batch_norm(x, mean, variance, call.may("weight"), call.may("bias"), eps); });
}
Result<Outputs> f_instance_norm(Call& call) {
  const Tensor& x = call.need("input");
  const float eps = call.eps(1e-5);
  return when_read(call, [&] { return instance_norm(x, call.may("weight"), call.may("bias"), eps); });
}
Result<Outputs> f_vector_norm(Call& call) {
  const Tensor& x = call.need("input");
  const double p = call.options.number("ord", 2);
  const std::int64_t dim = call.dim(-1);
  const bool keep = call.options.yes("keepdim", false);
  return when_read(call, [&] { return vector_norm(x, p, dim, keep); });
}
Result<Outputs> f_normalize(Call& call) {
  const Tensor& x = call.need("input");
  const double p = call.options.number("p", 2);
  const std::int64_t dim = call.dim(1);
  const float eps = call.eps(1e-12);
  return when_read(call, [&] { return normalize(x, p, dim, eps); });
}
Result<Outputs> f_avg_pool2d(Call& call) {
  const Tensor& x = call.need("input");
  const Window window = read_window(call.options);
  return when_read(call, [&] { return avg_pool2d(x, window); });
}
Result<Outputs> f_max_pool2d(Call& call) {
  const Tensor& x = call.need("input");
  const Window window = read_window(call.options);
  return when_read(call, [&] { return max_pool2d(x, window); });
}
Result<Outputs> f_pool_sequence(Call& call) {
  const Tensor& x = call.need("input");
  constexpr const char* kModes[] = {"mean", "max", "cls", "last", "mean_sqrt_len_tokens", "weightedmean"};
  const int mode = call.options.choice("mode", {std::begin(kModes), std::end(kModes)});
  return when_read(call, [&] { return pool_sequence(x, kModes[mode], call.may("mask")); });
}
Result<Outputs> f_attention(Call& call) {
  const Tensor& q = call.need("query");
  const Tensor& k = call.need("key");
  const Tensor& v = call.need("value");
  ScoreChanges changes;
  changes.causal = call.options.yes("is_causal", false);
  if (const Tensor* mask = call.may("attn_mask")) changes.add.push_back(mask);
  if (const Tensor* factor = call.may("score_factor")) changes.multiply.push_back(factor);
  std::optional<float> scale;
  if (call.options.has("scale")) scale = static_cast<float>(call.options.number("scale", 1));
  const bool need_weights = call.options.yes("need_weights", false);
  if (const auto end = call.options.finish(); !end.ok()) return end.error();
  auto out = scaled_dot_product_attention(q, k, v, changes, scale, need_weights);
  if (!out.ok()) return out.error();
  return Outputs{std::move(out.value().output), std::move(out.value().weights)};
}
Result<Outputs> f_sinusoidal(Call& call) {
  const std::int64_t length = call.options.needed_whole("length"), dim = call.options.needed_whole("dim");
  const bool notes = call.options.choice("form", {"vaswani", "notes"}) == 1;
  const double base = call.options.number("base", 10000);
  const auto form = notes ? SinusoidalForm::kNotes : SinusoidalForm::kVaswani;
  return when_read(call, [&] { return sinusoidal(length, dim, form, base); });
}
struct Lengths {
  std::int64_t queries, keys, past;
};
Lengths lengths(Call& call) {
  const std::int64_t queries = call.options.needed_whole("queries");
  return {queries, call.options.whole("keys", queries, 1), call.past()};
}
Result<Outputs> f_relative_offsets(Call& call) {
  const auto [queries, keys, past] = lengths(call);
  return when_read(call, [&, q = queries, k = keys, p = past] { return relative_offsets(q, k, p); });
}
Result<Outputs> f_relative_bias(Call& call) {
  const Tensor& table = call.need("table");
  const auto [queries, keys, past] = lengths(call);
  return when_read(call, [&, q = queries, k = keys, p = past] { return relative_bias(table, q, k, p); });
}
Result<Outputs> f_relative_scores(Call& call) {
  const Tensor& q = call.need("query");
  const Tensor& table = call.need("table");
  const std::int64_t keys = call.options.whole("keys", q.rank() < 2 ? 1 : q.dim(-2), 1), past = call.past();
  return when_read(call, [&] { return relative_scores(q, table, keys, past); });
}
T5Buckets t5(Call& call) {
  T5Buckets out;
  out.bidirectional = call.options.yes("bidirectional", true);
  out.num_buckets = call.options.whole("num_buckets", 32, 2);
  out.max_distance = call.options.whole("max_distance", 128, 2);
  return out;
}
Result<Outputs> f_t5_buckets(Call& call) {
  const T5Buckets buckets = t5(call);
  const auto [queries, keys, past] = lengths(call);
  return when_read(call, [&, q = queries, k = keys, p = past] { return t5_buckets(q, k, buckets, p); });
}
Result<Outputs> f_t5_bias(Call& call) {
  const Tensor& table = call.need("table");
  const T5Buckets buckets = t5(call);
  const auto [queries, keys, past] = lengths(call);
  return when_read(call, [&, q = queries, k = keys, p = past] { return t5_bias(table, q, k, buckets, p); });
}
Result<Outputs> f_alibi_slopes(Call& call) {
  const std::int64_t heads = call.options.needed_whole("heads");
  return when_read(call, [&] { return alibi_slopes(heads); });
}
Result<Outputs> f_alibi_bias(Call& call) {
  const std::int64_t heads = call.options.needed_whole("heads");
  const auto [queries, keys, past] = lengths(call);
  return when_read(call, [&, q = queries, k = keys, p = past] { return alibi_bias(heads, q, k, p); });
}
Result<Outputs> f_rotary(Call& call) {
  const Tensor& x = call.need("input");
  Rotary options;
  options.base = call.options.number("base", 10000);
  options.interleaved = call.options.yes("interleaved", false);
  options.first = call.options.whole("first", 0);
  return when_read(call, [&] { return rotary(x, options); });
}
Result<Outputs> f_sampling_probabilities(Call& call) {
  const Tensor& logits = call.need("input");
  const auto options = read_generate_options(call.options);
  if (!options.ok()) return options.error();
  return when_read(call, [&] { return sampling_probabilities(logits, options.value()); });
}

struct NamedFunction {
  std::string_view name;
  Result<Outputs> (*run)(Call&);
};
constexpr NamedFunction kFunctions[] = {
    {"softmax", f_softmax},
    {"log_softmax", f_log_softmax},
    {"matmul", f_matmul},
    {"bmm", f_bmm},
    {"add", f_add},
    {"mul", f_mul},
    {"linear", f_linear},
    {"dot_product_similarity", f_similarity},
    {"activate", f_activate},
    {"embedding", f_embedding},
    {"one_hot", f_one_hot},
    {"permute_rows", f_permute_rows},
    {"layer_norm", f_layer_norm},
    {"rms_norm", f_rms_norm},
    {"batch_norm", f_batch_norm},
    {"instance_norm", f_instance_norm},
    {"vector_norm", f_vector_norm},
    {"normalize", f_normalize},
    {"avg_pool2d", f_avg_pool2d},
    {"max_pool2d", f_max_pool2d},
    {"pool_sequence", f_pool_sequence},
    {"scaled_dot_product_attention", f_attention},
    {"sinusoidal", f_sinusoidal},
    {"relative_offsets", f_relative_offsets},
    {"relative_bias", f_relative_bias},
    {"relative_scores", f_relative_scores},
    {"t5_buckets", f_t5_buckets},
    {"t5_bias", f_t5_bias},
    {"alibi_slopes", f_alibi_slopes},
    {"alibi_bias", f_alibi_bias},
    {"rotary", f_rotary},
    {"sampling_probabilities", f_sampling_probabilities},
};

}  // namespace

const Tensor* Inputs::find(std::string_view name) const {
  for (const auto& [key, tensor] : tensors_) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

Result<void> Inputs::check(const std::string& where, const std::vector<std::string_view>& known) const {
  const auto unknown = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& named) {
    return std::find(known.begin(), known.end(), named.first) == known.end();
  });
  if (unknown != tensors_.end()) return input_error(where + ": it takes no tensor '" + unknown->first + "'");
  return {};
}

Result<Outputs> call_function(std::string_view name, const Inputs& inputs, Options options) {
  for (const NamedFunction& function : kFunctions) {
    if (function.name != name) continue;
    Call call{inputs, std::move(options)};
    return function.run(call);
  }
  return input_error("nn: there is no function '" + std::string(name) + "'");
}

Result<Outputs> call_module(const Module& module, const Inputs& inputs, Options options, KeyValueCache* cache, Observer* observer) {
  const auto known = inputs.check(module.where(), {"input", "key", "value", "memory", "attn_mask", "key_padding_mask",
                                                   "memory_mask", "memory_key_padding_mask", "src_mask", "src_key_padding_mask"});
  if (!known.ok()) return known.error();
  Arguments arguments;
  arguments.input = inputs.find("input");
  arguments.key = inputs.find("key");
  arguments.value = inputs.find("value");
  arguments.memory = inputs.find("memory");
  arguments.attn_mask = inputs.find("attn_mask");
  arguments.key_padding_mask = inputs.find("key_padding_mask");
  arguments.memory_mask = inputs.find("memory_mask");
  arguments.memory_key_padding_mask = inputs.find("memory_key_padding_mask");
  arguments.src_mask = inputs.find("src_mask");
  arguments.src_key_padding_mask = inputs.find("src_key_padding_mask");
  arguments.is_causal = options.yes("is_causal", false);
  arguments.need_weights = options.yes("need_weights", false);
  arguments.average_attn_weights = options.yes("average_attn_weights", true);
  arguments.cache = cache;
  arguments.observer = observer;
  if (const auto end = options.finish(); !end.ok()) return end.error();
  auto out = module.forward(arguments);
  // A whole model counts its own steps in generate(); called by hand, each forward is one.
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
  out.temperature = options.number("temperature", out.temperature);
  out.top_k = options.whole("top_k", out.top_k);
  out.top_p = options.number("top_p", out.top_p);
  out.min_p = options.number("min_p", out.min_p);
  out.repetition_penalty = options.number("repetition_penalty", out.repetition_penalty);
  out.no_repeat_ngram_size = options.whole("no_repeat_ngram_size", out.no_repeat_ngram_size);
  const auto token = [&](const char* name, std::optional<std::int32_t>& to) {
    if (options.has(name)) to = static_cast<std::int32_t>(options.whole(name, 0));
  };
  token("forced_bos_token_id", out.forced_bos_token_id);
  token("forced_eos_token_id", out.forced_eos_token_id);
  out.num_beams = options.whole("num_beams", out.num_beams, 1);
  out.length_penalty = options.number("length_penalty", out.length_penalty);
  if (options.yes("early_stopping", false)) out.early_stopping = GenerateOptions::EarlyStopping::kYes;
  out.seed = static_cast<std::uint64_t>(options.whole("seed", 0));
  out.use_cache = options.yes("use_cache", out.use_cache);
  if (const auto end = options.finish(); !end.ok()) return end.error();
  return out;
}

}  // namespace wattn::nn
