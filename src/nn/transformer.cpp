#include "nn/transformer.h"

#include "nn/elementwise.h"
#include "nn/functional.h"

namespace wattn::nn {
namespace {

Result<void> add_into(Tensor& x, const Tensor& y) {
  if (x.dims != y.dims) return wrong_shape("nn: a residual connection", "both sides", to_string(x.dims), y.dims);
  compute().kernels.axpy(1.0f, y.at(0), x.at(0), x.size());
  Tensor before;
  before.node = x.node;
  record(x, {&before, &y}, [&] {
    return [size = x.size()](const Flow& flow) {
      for (const std::size_t input : {0, 1}) {
        if (flow.wants(input)) compute().kernels.axpy(1.0f, flow.dy, flow.to(input), size);
      }
    };
  });
  return {};
}

// x = x + part(norm(x)), or norm(x + part(x)). part and norm map a Tensor to a Result<Tensor>.
template <class Part, class NormOf>
Result<void> residual(Tensor& x, bool norm_first, const Part& part, const NormOf& norm) {
  if (norm_first) {
    auto normal = norm(x);
    if (!normal.ok()) return normal.error();
    auto out = part(normal.value());
    if (!out.ok()) return out.error();
    return add_into(x, out.value());
  }
  auto out = part(x);
  if (!out.ok()) return out.error();
  if (const auto added = add_into(x, out.value()); !added.ok()) return added;
  auto normal = norm(x);
  if (!normal.ok()) return normal.error();
  x = std::move(normal).value();
  return {};
}

}  // namespace

LayerOptions read_layer_options(Options& options) {
  LayerOptions out;
  out.d_model = options.needed_whole("d_model");
  out.nhead = options.needed_whole("nhead");
  out.dim_feedforward = options.whole("dim_feedforward", 2048, 1);
  out.activation = read_activation(options);
  out.layer_norm_eps = static_cast<float>(options.number("layer_norm_eps", 1e-5));
  out.norm_first = options.yes("norm_first", false);
  out.bias = options.yes("bias", true);
  out.dropout = read_dropout(options, "dropout", 0.1);
  check_batch_first(options);
  check_divides(options, "d_model", out.d_model, out.nhead);
  return out;
}

TransformerLayer::TransformerLayer(bool decoder, const LayerOptions& o)
    : Module(decoder ? "TransformerDecoderLayer" : "TransformerEncoderLayer"), options_(o) {
  const auto norm = [&](const char* name) { return add_child(name, layer_norm_module(o.d_model, o.layer_norm_eps, o.bias)); };
  const auto attention = [&] { return std::make_shared<MultiheadAttention>(o.d_model, o.nhead, o.bias, 0, 0, o.dropout); };
  self_attn_ = add_child("self_attn", attention());
  if (decoder) multihead_attn_ = add_child("multihead_attn", attention());
  linear1_ = add_child("linear1", std::make_shared<Linear>(o.d_model, o.dim_feedforward, o.bias));
  linear2_ = add_child("linear2", std::make_shared<Linear>(o.dim_feedforward, o.d_model, o.bias));
  norm1_ = norm("norm1");
  norm2_ = norm("norm2");
  if (decoder) norm3_ = norm("norm3");
}

Result<Outputs> TransformerLayer::run(const Arguments& arguments) const {
  Tensor x = *arguments.input;
  if (x.rank() < 2 || x.dim(-1) != options_.d_model) {
    return wrong_shape(where(), "the input", "[batch, seq, " + std::to_string(options_.d_model) + "]", x.dims);
  }
  if (multihead_attn_ && !arguments.memory) return input_error(where() + ": expected memory (the encoder's output), found none");
  Tensor weights;
  const auto attend = [&](const Module& attention, std::string_view name, const Arguments& to) -> Result<Tensor> {
    auto out = call(attention, name, to);
    if (!out.ok()) return out.error();
    weights = std::move(out.value().weights);
    return dropped(*this, options_.dropout, arguments, out.value().output);
  };
  const auto attend_self = [&](const Tensor& of) {
    Arguments next = arguments;
    next.input = &of;
    next.key = next.value = nullptr;
    next.need_weights = multihead_attn_ ? arguments.traces_weights() : arguments.need_weights;
    return attend(*self_attn_, "self_attn", next);
  };
  const auto attend_memory = [&](const Tensor& of) {
    Arguments next = arguments.only(of);
    next.key = arguments.memory;
    next.attn_mask = arguments.memory_mask;
    next.key_padding_mask = arguments.memory_key_padding_mask;
    next.need_weights = arguments.need_weights;
    next.average_attn_weights = arguments.average_attn_weights;
    return attend(*multihead_attn_, "multihead_attn", next);
  };
  const auto feed = [&](const Tensor& of) -> Result<Tensor> {
    auto wide = call(*linear1_, "linear1", arguments.only(of));
    if (!wide.ok()) return wide.error();
    const auto inside = dropped(*this, options_.dropout, arguments, activate(wide.value().output, options_.activation));
    if (!inside.ok()) return inside;
    auto narrow = output_of(call(*linear2_, "linear2", arguments.only(inside.value())));
    if (!narrow.ok()) return narrow;
    return dropped(*this, options_.dropout, arguments, narrow.value());
  };
  const auto norm = [&](const Norm& layer, std::string_view name) {
    return [&layer, name, &arguments](const Tensor& of) { return output_of(call(layer, name, arguments.only(of))); };
  };
  const auto norm2 = norm(*norm2_, "norm2");
  if (const auto done = residual(x, options_.norm_first, attend_self, norm(*norm1_, "norm1")); !done.ok()) return done.error();
  if (multihead_attn_) {
    if (const auto done = residual(x, options_.norm_first, attend_memory, norm2); !done.ok()) return done.error();
  }
  const auto last_norm = norm3_ ? norm(*norm3_, "norm3") : norm2;
  if (const auto done = residual(x, options_.norm_first, feed, last_norm); !done.ok()) return done.error();
  return Outputs{std::move(x), std::move(weights)};
}

TransformerStack::TransformerStack(bool decoder, const LayerOptions& options, std::int64_t num_layers, bool norm)
    : Module(decoder ? "TransformerDecoder" : "TransformerEncoder") {
  for (std::int64_t i = 0; i < num_layers; ++i) {
    layers_.push_back(add_child("layers." + std::to_string(i), std::make_shared<TransformerLayer>(decoder, options)));
  }
  if (norm) norm_ = add_child("norm", layer_norm_module(options.d_model, options.layer_norm_eps, options.bias));
}

Result<Outputs> TransformerStack::run(const Arguments& arguments) const {
  Outputs out{*arguments.input, {}};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Tensor x = std::move(out.output);
    Arguments next = arguments;
    next.input = &x;
    auto layer = call(*layers_[i], children()[i].name, next);
    if (!layer.ok()) return layer;
    out = std::move(layer).value();
  }
  if (!norm_) return out;
  auto normal = output_of(call(*norm_, "norm", arguments.only(out.output)));
  if (!normal.ok()) return normal.error();
  out.output = std::move(normal).value();
  return out;
}

Transformer::Transformer(const LayerOptions& options, std::int64_t num_encoder_layers, std::int64_t num_decoder_layers)
    : Module("Transformer") {
  encoder_ = add_child("encoder", std::make_shared<TransformerStack>(false, options, num_encoder_layers, true));
  decoder_ = add_child("decoder", std::make_shared<TransformerStack>(true, options, num_decoder_layers, true));
}

Result<Outputs> Transformer::run(const Arguments& arguments) const {
  if (!arguments.key) return input_error(where() + ": expected a source and a target, found no source");
  Arguments source = arguments.only(*arguments.key);
  source.cache = nullptr;
  source.attn_mask = arguments.src_mask;
  source.key_padding_mask = arguments.src_key_padding_mask;
  source.need_weights = arguments.traces_weights();
  source.average_attn_weights = arguments.average_attn_weights;
  auto memory = output_of(call(*encoder_, "encoder", source));
  if (!memory.ok()) return memory.error();
  Arguments target = arguments;
  target.key = nullptr;
  target.memory = &memory.value();
  return call(*decoder_, "decoder", target);
}

TransformerBlock::TransformerBlock(const AttentionOptions& attention, std::int64_t width, Activation activation, bool pre_norm,
                                   bool rms, float eps)
    : Module("TransformerBlock"), pre_norm_(pre_norm) {
  const auto norm = [&] {
    if (!rms) return layer_norm_module(attention.hidden, eps);
    return std::make_shared<Norm>("RMSNorm", NormKind::kRms, Shape{attention.hidden}, eps);
  };
  attention_ = add_child("attention", std::make_shared<SelfAttention>("SelfAttention", attention));
  norm1_ = add_child("norm1", norm());
  feed_forward_ = add_child("feed_forward", std::make_shared<FeedForward>(attention.hidden, width, activation));
  norm2_ = add_child("norm2", norm());
}

Result<Outputs> TransformerBlock::run(const Arguments& arguments) const {
  Tensor x = *arguments.input;
  Tensor weights;
  const auto attend = [&](const Tensor& of) -> Result<Tensor> {
    Arguments next = arguments;
    next.input = &of;
    next.key = nullptr;
    auto out = call(*attention_, "attention", next);
    if (out.ok()) weights = std::move(out.value().weights);
    return output_of(std::move(out));
  };
  const auto feed = [&](const Tensor& of) { return output_of(call(*feed_forward_, "feed_forward", arguments.only(of))); };
  const auto norm1 = [&](const Tensor& of) { return output_of(call(*norm1_, "norm1", arguments.only(of))); };
  const auto norm2 = [&](const Tensor& of) { return output_of(call(*norm2_, "norm2", arguments.only(of))); };
  if (const auto done = residual(x, pre_norm_, attend, norm1); !done.ok()) return done.error();
  if (const auto done = residual(x, pre_norm_, feed, norm2); !done.ok()) return done.error();
  return Outputs{std::move(x), std::move(weights)};
}

}  // namespace wattn::nn
