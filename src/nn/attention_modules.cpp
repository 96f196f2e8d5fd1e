#include "nn/attention_modules.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "nn/elementwise.h"
#include "nn/shapes.h"
#include "ops/macs.h"

namespace wattn::nn {
namespace {

struct KeysAndValues {
  Tensor keys, values;  // of this call
  KeyValueCache::Entry* entry = nullptr;
  bool all_cached = false;  // keys and values are unused
  std::int64_t past = 0;    // cached tokens before this call
  std::int64_t count = 0;   // of keys, including cached ones

  MultiHead heads(std::int64_t count_of_heads, float scale, const Tensor& q) const {
    return {count_of_heads, scale, q, all_cached ? nullptr : &keys, all_cached ? nullptr : &values, entry};
  }
};

// own: self-attention, where each call appends to the cache; else a context, which is projected and cached once.
struct KeySource {
  bool own;
  std::int64_t batch, heads;
  std::function<Result<Tensor>()> project_keys, project_values;
};

Result<KeysAndValues> keys_and_values(const Module& module, const Arguments& arguments, const KeySource& source) {
  KeysAndValues out;
  out.entry = arguments.cache ? &arguments.cache->entries[&module] : nullptr;
  if (out.entry && !source.own && !out.entry->empty()) {
    if (auto e = out.entry->reserve({}, source.batch, 0); !e.ok()) return e.error();
    out.all_cached = true;
    out.count = out.entry->tokens;
    return out;
  }
  auto keys = source.project_keys();
  if (!keys.ok()) return keys.error();
  auto values = source.project_values();
  if (!values.ok()) return values.error();
  out.keys = std::move(keys).value();
  out.values = std::move(values).value();
  out.count = out.keys.dim(1);
  if (!out.entry) return out;
  out.past = out.entry->tokens;
  out.count += out.past;
  const std::int64_t key_width = out.keys.dim(2), value_width = out.values.dim(2);
  const AttentionShape shape{source.heads, source.heads, key_width / source.heads, value_width / source.heads};
  if (auto e = out.entry->reserve(shape, source.batch, out.count); !e.ok()) return e.error();
  if (source.own) return out;
  for (std::int64_t i = 0; i < source.batch; ++i) {
    store_kv(
        out.entry->kv, i, 0, 0,
        {out.keys.at(i * out.count * key_width), out.values.at(i * out.count * value_width), key_width, out.count, value_width});
  }
  out.entry->tokens = out.count;
  out.all_cached = true;
  return out;
}

// The masks of a call as score changes, with the tensors these refer to.
struct Masks {
  Tensor by_head, padding;
  ScoreChanges changes;

  Result<void> read(const Module& module, const Arguments& arguments, std::int64_t batch, std::int64_t heads, std::int64_t keys) {
    changes.causal = arguments.is_causal;
    if (const Tensor* mask = arguments.attn_mask) {
      by_head = *mask;
      if (mask->rank() == 3 && mask->dim(0) == batch * heads) by_head.dims = {batch, heads, mask->dim(1), mask->dim(2)};
      changes.add.push_back(&by_head);
    }
    if (const Tensor* mask = arguments.key_padding_mask) {
      if (mask->dims != Shape{batch, keys} && !(batch == 1 && mask->dims == Shape{keys})) {
        return wrong_shape(module.where(), "key_padding_mask", to_string(Shape{batch, keys}), mask->dims);
      }
      padding = *mask;
      padding.dims = {batch, 1, 1, keys};
      changes.add.push_back(&padding);
    }
    return {};
  }
};

// q, k^T and the sum over values; q: [batch, queries, heads * d_k].
void count_attention(const Arguments& arguments, const ScoreChanges& changes, const Tensor& q, std::int64_t heads,
                     std::int64_t value_width, std::int64_t keys) {
  if (!arguments.observer) return;
  const AttentionShape shape{.heads = heads, .kv_heads = heads, .head_dim = q.dim(2) / heads, .value_dim = value_width / heads};
  const std::int64_t pairs = scored_pairs({.causal = changes.causal}, q.dim(1), keys, changes.past);
  arguments.count_macs(q.dim(0) * attention_macs(shape, pairs));
}

Tensor batched(const Tensor& x) {
  Tensor out = x;
  if (out.rank() == 2) out.dims.insert(out.dims.begin(), 1);
  return out;
}

Result<void> check_sequences(const Module& module, std::string_view what, const Tensor& x, std::int64_t width) {
  if ((x.rank() == 2 || x.rank() == 3) && x.dim(-1) == width) return {};
  return wrong_shape(module.where(), what, "[batch, seq, " + std::to_string(width) + "]", x.dims);
}

// weights [batch, heads, queries, keys] -> [batch, queries, keys].
Tensor mean_over_heads(const Tensor& weights) {
  const std::int64_t batch = weights.dim(0), heads = weights.dim(1), size = weights.dim(2) * weights.dim(3);
  Tensor out = Tensor::of({batch, weights.dim(2), weights.dim(3)}, std::vector<float>(static_cast<std::size_t>(batch * size)));
  for (std::int64_t i = 0; i < batch * heads; ++i) {
    compute().kernels.axpy(1.0f / static_cast<float>(heads), weights.at(i * size), out.at(i / heads * size), size);
  }
  record(out, {&weights}, [&] {
    return [batch, heads, size](const Flow& flow) {
      for (std::int64_t i = 0; i < batch * heads; ++i) {
        compute().kernels.axpy(1.0f / static_cast<float>(heads), flow.dy + i / heads * size, flow.to(0) + i * size, size);
      }
    };
  });
  return out;
}

Outputs without_batch(Outputs outputs, bool wanted) {
  if (!wanted) return outputs;
  outputs.output.dims.erase(outputs.output.dims.begin());
  if (!outputs.weights.dims.empty()) outputs.weights.dims.erase(outputs.weights.dims.begin());
  return outputs;
}

}  // namespace

Result<AttentionOptions> read_attention_options(Options& options, bool cross) {
  AttentionOptions out;
  out.hidden = options.needed_whole("k");
  out.context = cross ? options.whole("k_context", out.hidden, 1) : out.hidden;
  out.heads = options.whole("heads", 1, 1);
  const bool has_mode = options.has("mode");
  out.wide = options.choice("mode", {"narrow", "wide"}) == 1;
  out.unify = options.yes("unify", has_mode || out.heads > 1);
  out.bias = options.yes("bias", false);
  out.d_q = options.whole("d_q", out.hidden, 1);
  out.d_v = options.whole("d_v", out.hidden, 1);
  out.scaled = options.yes("scaled", true);
  out.causal = options.yes("causal", false);
  out.relative = static_cast<Relative>(options.choice("relative", {"none", "bias", "multiply", "vector", "t5", "alibi", "rotary"}));
  out.max_distance = options.whole("max_distance", 128, 1);
  out.t5.num_buckets = options.whole("num_buckets", 32, 4);
  out.t5.bidirectional = options.yes("bidirectional", !out.causal);
  out.t5.max_distance = out.max_distance;
  out.rotary.base = options.number("base", 10000);
  out.rotary.interleaved = options.yes("interleaved", false);
  if (!out.wide) {
    check_divides(options, "d_q", out.d_q, out.heads);
    check_divides(options, "d_v", out.d_v, out.heads);
  }
  const std::int64_t d_head = out.wide ? out.d_q : out.d_q / out.heads;
  if (out.relative == Relative::kRotary && d_head % 2 != 0)
    options.fail("rotary positions: expected an even width of each head, found " + std::to_string(d_head));
  if (!(out.rotary.base > 0)) options.fail("option 'base': expected a number above 0");
  if (const auto end = options.finish(); !end.ok()) return end.error();
  return out;
}

SelfAttention::SelfAttention(std::string type, const AttentionOptions& options)
    : Module(std::move(type)), options_(options), d_head_(options.wide ? options.d_q : options.d_q / options.heads) {
  const std::int64_t times = options.wide ? options.heads : 1;
  query_ = add_child("W_q", std::make_shared<Linear>(options.hidden, times * options.d_q, options.bias));
  key_ = add_child("W_k", std::make_shared<Linear>(options.context, times * options.d_q, options.bias));
  value_ = add_child("W_v", std::make_shared<Linear>(options.context, times * options.d_v, options.bias));
  if (options.unify) unify_ = add_child("unify", std::make_shared<Linear>(times * options.d_v, options.hidden, true));
  const std::int64_t rows = 2 * options.max_distance + 1;  // offsets from -max_distance to max_distance
  const Draw normal{Draw::Kind::kNormal, 1 / std::sqrt(static_cast<double>(d_head_))};
  if (options.relative == Relative::kBias) relative_ = add_parameter("relative", {rows, options.heads}, {});
  if (options.relative == Relative::kMultiply)
    relative_ = add_parameter("relative", {rows, options.heads}, {Draw::Kind::kConstant, 1});
  if (options.relative == Relative::kVector) relative_ = add_parameter("relative", {rows, d_head_}, normal);
  if (options.relative == Relative::kT5) relative_ = add_parameter("relative", {options.t5.num_buckets, options.heads}, normal);
}

// [heads, queries, keys], or [batch, heads, queries, keys] for vectors; empty if none.
Result<Tensor> SelfAttention::relative_of(const Tensor& q, std::int64_t keys, std::int64_t past, float scale) const {
  const std::int64_t queries = q.dim(1), heads = options_.heads;
  switch (options_.relative) {
    case Relative::kBias:
    case Relative::kMultiply:
      return relative_bias(relative_->value(), queries, keys, past);
    case Relative::kT5:
      return t5_bias(relative_->value(), queries, keys, options_.t5, past);
    case Relative::kAlibi:
      return alibi_bias(heads, queries, keys, past);
    case Relative::kVector: {
      Tensor rows = q;
      rows.dims = {q.dim(0), queries, heads, d_head_};
      const auto by_head = permute(rows, {0, 2, 1, 3});
      if (!by_head.ok()) return by_head;
      const auto scores = relative_scores(by_head.value(), relative_->value(), keys, past);
      if (!scores.ok()) return scores;
      return scaled(scores.value(), scale);
    }
    case Relative::kNone:
    case Relative::kRotary:
      break;
  }
  return Tensor{};
}

Result<Outputs> SelfAttention::run(const Arguments& arguments) const {
  const Tensor& from = arguments.key ? *arguments.key : *arguments.input;
  if (const auto fits = check_sequences(*this, "the input", *arguments.input, options_.hidden); !fits.ok()) return fits.error();
  if (const auto fits = check_sequences(*this, "the context", from, options_.context); !fits.ok()) return fits.error();
  const Tensor x = batched(*arguments.input), context = batched(from);
  if (context.dim(0) != x.dim(0))
    return wrong_shape(where(), "the context", "[" + std::to_string(x.dim(0)) + ", keys, ...]", from.dims);
  const auto project = [&](const Linear& linear, std::string_view name, const Tensor& of) {
    return output_of(call(linear, name, arguments.only(of)));
  };
  auto q = project(*query_, "W_q", x);
  if (!q.ok()) return q.error();
  Rotary rotary = options_.rotary;
  const bool rotates = options_.relative == Relative::kRotary;
  if (arguments.cache && !arguments.key) rotary.first = arguments.cache->entries[this].tokens;
  const auto project_keys = [&]() -> Result<Tensor> {
    auto k = project(*key_, "W_k", context);
    if (k.ok() && rotates) rotate(k.value(), k.value().dim(1), options_.heads, rotary);
    return k;
  };
  const auto project_values = [&] { return project(*value_, "W_v", context); };
  auto kv = keys_and_values(*this, arguments, {!arguments.key, x.dim(0), options_.heads, project_keys, project_values});
  if (!kv.ok()) return kv.error();
  const std::int64_t keys = kv.value().count, past = kv.value().past;
  if (rotates) rotate(q.value(), q.value().dim(1), options_.heads, rotary);
  const float scale = options_.scaled ? 1.0f / std::sqrt(static_cast<float>(d_head_)) : 1.0f;
  Masks masks;
  if (const auto read = masks.read(*this, arguments, x.dim(0), options_.heads, keys); !read.ok()) return read.error();
  masks.changes.causal = masks.changes.causal || options_.causal;
  masks.changes.past = past;
  const auto relative = relative_of(q.value(), keys, past, scale);
  if (!relative.ok()) return relative.error();
  if (!relative.value().dims.empty()) {
    (options_.relative == Relative::kMultiply ? masks.changes.multiply : masks.changes.add).push_back(&relative.value());
    if (options_.relative == Relative::kVector) arguments.count_macs(relative.value().size() * d_head_);
  }
  count_attention(arguments, masks.changes, q.value(), options_.heads, (options_.wide ? options_.heads : 1) * options_.d_v, keys);
  auto attention = multi_head(kv.value().heads(options_.heads, scale, q.value()), masks.changes, arguments.need_weights);
  if (!attention.ok()) return attention.error();
  if (unify_) {
    auto unified = project(*unify_, "unify", attention.value().output);
    if (!unified.ok()) return unified.error();
    attention.value().output = std::move(unified).value();
  }
  return without_batch(std::move(attention).value(), arguments.input->rank() == 2);
}

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim, std::int64_t heads, bool bias, std::int64_t kdim, std::int64_t vdim,
                                       double dropout)
    : Module("MultiheadAttention"), dim_(embed_dim), heads_(heads), dropout_(dropout) {
  const auto xavier = [](std::int64_t in, std::int64_t out) {
    return Draw{Draw::Kind::kUniform, std::sqrt(6.0 / static_cast<double>(in + out))};
  };
  if ((kdim == 0 || kdim == embed_dim) && (vdim == 0 || vdim == embed_dim)) {
    in_weight_ = add_parameter("in_proj_weight", {3 * embed_dim, embed_dim}, xavier(embed_dim, 3 * embed_dim));
  } else {
    const std::int64_t k = kdim == 0 ? embed_dim : kdim, v = vdim == 0 ? embed_dim : vdim;
    q_weight_ = add_parameter("q_proj_weight", {embed_dim, embed_dim}, xavier(embed_dim, embed_dim));
    k_weight_ = add_parameter("k_proj_weight", {embed_dim, k}, xavier(k, embed_dim));
    v_weight_ = add_parameter("v_proj_weight", {embed_dim, v}, xavier(v, embed_dim));
  }
  if (bias) in_bias_ = add_parameter("in_proj_bias", {3 * embed_dim}, {});
  out_proj_ = add_child("out_proj", std::make_shared<Linear>(embed_dim, embed_dim, bias));
}

Result<Outputs> MultiheadAttention::run(const Arguments& arguments) const {
  const Tensor& from = arguments.key ? *arguments.key : *arguments.input;
  const Tensor& also = arguments.value ? *arguments.value : from;
  if (const auto fits = check_sequences(*this, "query", *arguments.input, dim_); !fits.ok()) return fits.error();
  const Tensor x = batched(*arguments.input), key = batched(from), value = batched(also);
  for (const Tensor* other : {&key, &value}) {
    if (other->rank() != 3 || other->dim(0) != x.dim(0) || other->dim(1) != key.dim(1)) {
      return wrong_shape(where(), "key and value",
                         "[" + std::to_string(x.dim(0)) + ", " + std::to_string(key.rank() == 3 ? key.dim(1) : 0) + ", ...]",
                         other->dims);
    }
  }
  // Part 0, 1 or 2 of the joint projection, or a separate one.
  const auto project = [&](const PackedLinear& packed, const ParameterPtr& own, std::int64_t part,
                           const Tensor& of) -> Result<Tensor> {
    const Parameter& weight = own ? *own : *in_weight_;
    arguments.count_macs(of.rows() * dim_ * of.dim(-1));
    auto projected = packed.apply(of, weight, nullptr, own ? 0 : part * dim_, dim_);
    if (!projected.ok() || !in_bias_) return projected;
    const float* bias = in_bias_->value().at(part * dim_);
    for (std::int64_t i = 0; i < projected.value().rows(); ++i)
      compute().kernels.axpy(1.0f, bias, projected.value().at(i * dim_), dim_);
    Tensor before;
    before.node = projected.value().node;
    record(projected.value(), {&before, &in_bias_->value()}, [&] {
      return [dim = dim_, part, rows = projected.value().rows()](const Flow& flow) {
        const Kernels& kernels = compute().kernels;
        if (flow.wants(0)) kernels.axpy(1.0f, flow.dy, flow.to(0), rows * dim);
        for (std::int64_t i = 0; flow.wants(1) && i < rows; ++i)
          kernels.axpy(1.0f, flow.dy + i * dim, flow.to(1) + part * dim, dim);
      };
    });
    return projected;
  };
  auto q = project(q_packed_, q_weight_, 0, x);
  if (!q.ok()) return q.error();
  auto kv = keys_and_values(*this, arguments,
                            {!arguments.key, x.dim(0), heads_, [&] { return project(k_packed_, k_weight_, 1, key); },
                             [&] { return project(v_packed_, v_weight_, 2, value); }});
  if (!kv.ok()) return kv.error();
  Masks masks;
  if (const auto read = masks.read(*this, arguments, x.dim(0), heads_, kv.value().count); !read.ok()) return read.error();
  masks.changes.past = kv.value().past;
  masks.changes.dropout = training() ? dropout_ : 0;
  masks.changes.random = arguments.random;
  const std::int64_t d_head = dim_ / heads_;
  const float scale = 1.0f / std::sqrt(static_cast<float>(d_head));
  count_attention(arguments, masks.changes, q.value(), heads_, dim_, kv.value().count);
  auto attention = multi_head(kv.value().heads(heads_, scale, q.value()), masks.changes, arguments.need_weights);
  if (!attention.ok()) return attention.error();
  // Not a separate forward, as in torch: a trace has no row for it.
  arguments.count_macs(attention.value().output.rows() * dim_ * dim_);
  auto out = out_proj_->apply(attention.value().output);
  if (!out.ok()) return out.error();
  Tensor weights = std::move(attention.value().weights);
  if (arguments.need_weights && arguments.average_attn_weights) weights = mean_over_heads(weights);
  return without_batch({std::move(out).value(), std::move(weights)}, arguments.input->rank() == 2);
}

}  // namespace wattn::nn
