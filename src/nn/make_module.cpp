// Makes modules by name and options, for the constructors in JS.
#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "nn/functional.h"
#include "nn/language.h"

namespace wattn::nn {
namespace {

constexpr std::int64_t kMostLayers = 1024;

struct Request {
  std::string type;
  Options options;
  std::vector<ModulePtr> parts;
};
using Made = Result<ModulePtr>;

template <class M, class... Args>
Made made(const Options& options, Args&&... args) {
  if (const auto end = options.finish(); !end.ok()) return end.error();
  return ModulePtr(std::make_shared<M>(std::forward<Args>(args)...));
}

Made linear(Request& r) {
  const std::int64_t in = r.options.needed_whole("in_features"), out = r.options.needed_whole("out_features");
  return made<Linear>(r.options, in, out, r.options.yes("bias", true));
}

Made embedding(Request& r) {
  const std::int64_t count = r.options.needed_whole("num_embeddings"), dim = r.options.needed_whole("embedding_dim");
  return made<Embedding>(r.options, count, dim);
}

Shape normalized_shape(Options& options) {
  const Shape shape = options.wholes("normalized_shape", 1);
  if (shape.empty()) options.fail("option 'normalized_shape' is missing: expected one or more whole numbers");
  return shape;
}

Made layer_norm(Request& r) {
  const Shape shape = normalized_shape(r.options);
  const bool affine = r.options.yes("elementwise_affine", true), bias = r.options.yes("bias", true);
  const auto eps = static_cast<float>(r.options.number("eps", 1e-5));
  const EpsilonForm form = read_epsilon_form(r.options);
  return made<Norm>(r.options, r.type, NormKind::kLayer, shape, eps, affine, bias, form);
}

Made rms_norm(Request& r) {
  const Shape shape = normalized_shape(r.options);
  const auto eps = static_cast<float>(r.options.number("eps", -1));
  return made<Norm>(r.options, r.type, NormKind::kRms, shape, eps, r.options.yes("elementwise_affine", true));
}

Made channel_norm(Request& r) {
  const NormKind kind = r.type.starts_with("Batch") ? NormKind::kBatch : NormKind::kInstance;
  const Shape shape{r.options.needed_whole("num_features")};
  const auto eps = static_cast<float>(r.options.number("eps", 1e-5));
  const bool affine = r.options.yes("affine", kind == NormKind::kBatch);
  const double momentum = kind == NormKind::kBatch ? r.options.number("momentum", 0.1) : 0;
  return made<Norm>(r.options, r.type, kind, shape, eps, affine, true, EpsilonForm::kInsideRoot, r.type.ends_with("2d") ? 4 : 3,
                    momentum);
}

Made activation(Request& r) {
  const auto row =
      std::find_if(std::begin(kActivationTypes), std::end(kActivationTypes), [&](const auto& one) { return one.first == r.type; });
  Activation activation = row == std::end(kActivationTypes) ? Activation::kNone : row->second;
  if (r.type == "GELU" && r.options.choice("approximate", {"none", "tanh"}) == 1) activation = Activation::kGeluTanh;
  return made<Function>(r.options, r.type, [=](const Arguments& a) -> Result<Tensor> { return activate(*a.input, activation); });
}

Made dropout_module(Request& r) {
  const double p = read_dropout(r.options, "p", 0.5);
  return made<Dropout>(r.options, p);
}

Made softmax_module(Request& r) {
  const std::int64_t dim = r.options.whole("dim", -1, std::numeric_limits<std::int32_t>::min());
  return made<Function>(r.options, r.type, [=](const Arguments& a) { return softmax(*a.input, dim); });
}

Made flatten(Request& r) {
  return made<Function>(r.options, r.type, [](const Arguments& a) -> Result<Tensor> {
    Tensor out = *a.input;
    if (out.rank() > 1) out.dims = {out.dim(0), out.dim(0) == 0 ? 0 : out.size() / out.dim(0)};
    return out;
  });
}

Made pool2d(Request& r) {
  const Window window = read_window(r.options);
  const auto pool = r.type == "AvgPool2d" ? avg_pool2d : max_pool2d;
  return made<Function>(
      r.options, r.type, [=](const Arguments& a) { return pool(*a.input, window); }, Shape{window.kernel[0], window.kernel[1]});
}

Made sequence_pooling(Request& r) {
  const std::string mode = read_pooling(r.options, "mode");
  return made<Function>(r.options, r.type, [=](const Arguments& a) { return pool_unpadded(*a.input, mode, a.key_padding_mask); });
}

Positions read_positions(Options& options, std::string_view name, Positions fallback) {
  return static_cast<Positions>(options.choice(name, {"none", "sinusoidal", "notes", "learned"}, static_cast<int>(fallback)));
}

Made positional_encoding(Request& r) {
  const auto kind = read_positions(r.options, "kind", Positions::kSinusoidal);
  const std::int64_t dim = r.options.needed_whole("d_model"), length = r.options.whole("max_len", 512, 1);
  const double base = r.options.number("base", 10000);
  if (!(base > 0)) r.options.fail("option 'base': expected a number above 0");
  return made<PositionalEncoding>(r.options, kind, length, dim, base);
}

Made sequential(Request& r) { return made<Sequential>(r.options, r.parts); }

Made feed_forward(Request& r) {
  const std::int64_t dim = r.options.needed_whole("k");
  const std::int64_t width = dim * r.options.whole("n_mlp", 4, 1);
  const Activation activation = read_activation(r.options);
  return made<FeedForward>(r.options, dim, width, activation, r.options.yes("bias", true));
}

Made self_attention(Request& r) {
  auto options = read_attention_options(r.options, r.type == "CrossAttention");
  if (!options.ok()) return options.error();
  return made<SelfAttention>(r.options, r.type, options.value());
}

Made multihead_attention(Request& r) {
  const std::int64_t dim = r.options.needed_whole("embed_dim"), heads = r.options.needed_whole("num_heads");
  const std::int64_t kdim = r.options.whole("kdim", dim, 1), vdim = r.options.whole("vdim", dim, 1);
  const bool bias = r.options.yes("bias", true);
  const double dropout = read_dropout(r.options, "dropout", 0);
  check_batch_first(r.options);
  check_divides(r.options, "embed_dim", dim, heads);
  return made<MultiheadAttention>(r.options, dim, heads, bias, kdim, vdim, dropout);
}

Made transformer_layer(Request& r) {
  const LayerOptions layer = read_layer_options(r.options);
  return made<TransformerLayer>(r.options, r.type == "TransformerDecoderLayer", layer);
}

std::int64_t read_layers(Options& options, std::string_view name, std::int64_t fallback) {
  const std::int64_t layers = options.whole(name, fallback, 1);
  if (layers > kMostLayers)
    options.fail("option '" + std::string(name) + "': expected at most " + std::to_string(kMostLayers) + " layers");
  return std::min(layers, kMostLayers);
}

Made transformer_stack(Request& r) {
  const LayerOptions layer = read_layer_options(r.options);
  const std::int64_t layers = read_layers(r.options, "num_layers", 6);
  const bool norm = r.options.yes("norm", false);
  return made<TransformerStack>(r.options, r.type == "TransformerDecoder", layer, layers, norm);
}

Made transformer(Request& r) {
  const LayerOptions layer = read_layer_options(r.options);
  const std::int64_t encoders = read_layers(r.options, "num_encoder_layers", 6);
  const std::int64_t decoders = read_layers(r.options, "num_decoder_layers", 6);
  return made<Transformer>(r.options, layer, encoders, decoders);
}

Made transformer_block(Request& r) {
  const std::int64_t n_mlp = r.options.whole("n_mlp", 4, 1);
  const Activation activation = read_activation(r.options);
  const bool pre_norm = r.options.choice("norm", {"post", "pre"}) == 1;
  const bool rms = r.options.choice("norm_kind", {"layer", "rms"}) == 1;
  const auto eps = static_cast<float>(r.options.number("eps", 1e-5));
  auto attention = read_attention_options(r.options, false);
  if (!attention.ok()) return attention.error();
  if (!attention.value().unify && attention.value().d_v != attention.value().hidden) {
    return input_error("nn.TransformerBlock: expected d_v = k, or unify: true, found d_v = " +
                       std::to_string(attention.value().d_v));
  }
  return made<TransformerBlock>(r.options, attention.value(), n_mlp * attention.value().hidden, activation, pre_norm, rms, eps);
}

Made language(Request& r) {
  LanguageOptions o;
  const bool seq2seq = r.type == "EncoderDecoder", classifier = r.type == "SequenceClassifier";
  const bool has_width = r.options.has("dim_feedforward");
  o.layer = read_layer_options(r.options);
  if (!has_width) o.layer.dim_feedforward = 4 * o.layer.d_model;
  o.vocab_size = r.options.needed_whole(seq2seq ? "src_vocab_size" : "vocab_size");
  if (seq2seq) o.tgt_vocab_size = r.options.whole("tgt_vocab_size", o.vocab_size, 1);
  o.num_layers = read_layers(r.options, seq2seq ? "num_encoder_layers" : "num_layers", 2);
  if (seq2seq) o.num_decoder_layers = read_layers(r.options, "num_decoder_layers", 2);
  o.max_len = r.options.whole("max_len", 512, 1);
  o.positions = read_positions(r.options, "positions", Positions::kLearned);
  o.scale_embedding = r.options.yes("scale_embedding", false);
  if (!seq2seq) o.final_norm = r.options.yes("final_norm", o.layer.norm_first);
  if (!classifier) o.tie_weights = r.options.yes("tie_weights", true);
  if (classifier) {
    o.num_classes = r.options.needed_whole("num_classes");
    o.pooling = read_pooling(r.options, "pooling");
    return made<SequenceClassifier>(r.options, o);
  }
  if (seq2seq) return made<EncoderDecoder>(r.options, o);
  return made<LanguageModel>(r.options, o);
}

struct Maker {
  std::string_view type;
  Made (*make)(Request&);
};
constexpr Maker kMakers[] = {
    {"Linear", linear},
    {"Embedding", embedding},
    {"LayerNorm", layer_norm},
    {"RMSNorm", rms_norm},
    {"BatchNorm1d", channel_norm},
    {"BatchNorm2d", channel_norm},
    {"InstanceNorm1d", channel_norm},
    {"InstanceNorm2d", channel_norm},
    {"ReLU", activation},
    {"GELU", activation},
    {"SiLU", activation},
    {"Tanh", activation},
    {"Sigmoid", activation},
    {"Identity", activation},
    {"Dropout", dropout_module},
    {"Softmax", softmax_module},
    {"Flatten", flatten},
    {"AvgPool2d", pool2d},
    {"MaxPool2d", pool2d},
    {"SequencePooling", sequence_pooling},
    {"PositionalEncoding", positional_encoding},
    {"Sequential", sequential},
    {"FeedForward", feed_forward},
    {"SelfAttention", self_attention},
    {"CrossAttention", self_attention},
    {"MultiheadAttention", multihead_attention},
    {"TransformerEncoderLayer", transformer_layer},
    {"TransformerDecoderLayer", transformer_layer},
    {"TransformerEncoder", transformer_stack},
    {"TransformerDecoder", transformer_stack},
    {"Transformer", transformer},
    {"TransformerBlock", transformer_block},
    {"SequenceClassifier", language},
    {"LanguageModel", language},
    {"EncoderDecoder", language},
};

}  // namespace

Result<ModulePtr> make_module(std::string_view type, Options options, std::vector<ModulePtr> parts) {
  for (const Maker& maker : kMakers) {
    if (maker.type != type) continue;
    Request request{std::string(type), std::move(options), std::move(parts)};
    const auto seed = static_cast<std::uint64_t>(request.options.whole("seed", 0));
    auto module = maker.make(request);
    if (!module.ok()) return module;
    for (const Module::Named& named : module.value()->state()) {
      if (named.parameter->value().dims.empty()) {
        return out_of_memory_error("nn." + std::string(type) + ": out of memory for the parameter '" + named.name + "'");
      }
    }
    if (request.parts.empty()) module.value()->draw(seed);  // parts have been initialised
    return module;
  }
  return input_error("nn: unknown module '" + std::string(type) + "'");
}

}  // namespace wattn::nn
