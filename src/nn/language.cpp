#include "nn/language.h"

#include <cmath>

#include "nn/elementwise.h"
#include "nn/functional.h"

namespace wattn::nn {
namespace {

Result<void> check_ids(const Module& module, std::string_view what, const Tensor& ids) {
  if (ids.rank() == 2 && ids.size() > 0) return {};
  return wrong_shape(module.where(), what, "[batch, seq]", ids.dims);
}

// x [batch, seq, d] -> its last tokens [batch, d].
Tensor last_tokens(const Tensor& x) {
  Tensor out{{x.dim(0), x.dim(2)}, {}, {}};
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    const float* row = x.at(((b + 1) * x.dim(1) - 1) * x.dim(2));
    out.data.insert(out.data.end(), row, row + x.dim(2));
  }
  return out;
}

// Embeds, scales and adds positions.
Result<Tensor> embed(const Module& embedding, std::string_view name, const Module& positions, const LanguageOptions& options,
                     const Tensor& ids, const Arguments& arguments) {
  auto x = output_of(embedding.forward(arguments.only(ids), name));
  if (!x.ok()) return x;
  if (options.scale_embedding) {
    x = scaled(x.value(), std::sqrt(static_cast<double>(options.layer.d_model)));
  }
  return output_of(positions.forward(arguments.only(x.value()), "positions"));
}

std::shared_ptr<PositionalEncoding> positions_of(const LanguageOptions& options) {
  return std::make_shared<PositionalEncoding>(options.positions, options.max_len, options.layer.d_model);
}

}  // namespace

SequenceClassifier::SequenceClassifier(const LanguageOptions& o) : Module("SequenceClassifier"), options_(o) {
  embedding_ = add_child("embedding", std::make_shared<Embedding>(o.vocab_size, o.layer.d_model));
  positions_ = add_child("positions", positions_of(o));
  encoder_ = add_child("encoder", std::make_shared<TransformerStack>(false, o.layer, o.num_layers, o.final_norm));
  classifier_ = add_child("classifier", std::make_shared<Linear>(o.layer.d_model, o.num_classes));
}

Result<Outputs> SequenceClassifier::run(const Arguments& arguments) const {
  if (const auto fits = check_ids(*this, "ids", *arguments.input); !fits.ok()) return fits.error();
  auto x = embed(*embedding_, "embedding", *positions_, options_, *arguments.input, arguments);
  if (!x.ok()) return x.error();
  Arguments next = arguments;
  next.input = &x.value();
  auto encoded = call(*encoder_, "encoder", next);
  if (!encoded.ok()) return encoded;
  auto pooled = pool_unpadded(encoded.value().output, options_.pooling, arguments.key_padding_mask);
  if (!pooled.ok()) return pooled.error();
  auto logits = output_of(call(*classifier_, "classifier", arguments.only(pooled.value())));
  if (!logits.ok()) return logits.error();
  return Outputs{std::move(logits).value(), std::move(encoded.value().weights)};
}

void Generative::add_head(const Embedding& tied, std::int64_t vocab_size) {
  head_ = add_child("head", std::make_shared<Linear>(options_.layer.d_model, vocab_size, false));
  if (options_.tie_weights) head_->tie(tied.weight);
}

Result<Outputs> Generative::run(const Arguments& arguments) const {
  if (const auto fits = check_ids(*this, has_encoder() ? "target ids" : "ids", *arguments.input); !fits.ok()) return fits.error();
  auto hidden = hidden_states(arguments);
  if (!hidden.ok()) return hidden;
  auto logits = output_of(call(*head_, "head", arguments.only(hidden.value().output)));
  if (!logits.ok()) return logits.error();
  return Outputs{std::move(logits).value(), std::move(hidden.value().weights)};
}

Result<Tensor> Generative::next_logits(const Tensor& ids, const Tensor* memory, KeyValueCache& cache) const {
  Arguments arguments;
  arguments.input = &ids;
  arguments.cache = &cache;
  arguments.memory = memory;
  auto hidden = output_of(hidden_states(arguments));
  if (!hidden.ok()) return hidden;
  cache.length += ids.dim(1);
  return head_->apply(last_tokens(hidden.value()));
}

Result<Tensor> Generative::encode(const Tensor&, const Tensor*) const {
  return input_error(where() + ": expected no source, as there is no encoder");
}

LanguageModel::LanguageModel(const LanguageOptions& o) : Generative("LanguageModel", o) {
  embedding_ = add_child("embedding", std::make_shared<Embedding>(o.vocab_size, o.layer.d_model));
  positions_ = add_child("positions", positions_of(o));
  layers_ = add_child("decoder", std::make_shared<TransformerStack>(false, o.layer, o.num_layers, o.final_norm));
  add_head(*embedding_, o.vocab_size);
}

Result<Outputs> LanguageModel::hidden_states(const Arguments& arguments) const {
  auto x = embed(*embedding_, "embedding", *positions_, options_, *arguments.input, arguments);
  if (!x.ok()) return x.error();
  Arguments next = arguments;
  next.input = &x.value();
  next.is_causal = true;
  return call(*layers_, "decoder", next);
}

EncoderDecoder::EncoderDecoder(const LanguageOptions& o) : Generative("EncoderDecoder", o) {
  src_embedding_ = add_child("src_embedding", std::make_shared<Embedding>(o.vocab_size, o.layer.d_model));
  tgt_embedding_ = add_child("tgt_embedding", std::make_shared<Embedding>(o.tgt_vocab_size, o.layer.d_model));
  positions_ = add_child("positions", positions_of(o));
  transformer_ = add_child("transformer", std::make_shared<Transformer>(o.layer, o.num_layers, o.num_decoder_layers));
  add_head(*tgt_embedding_, o.tgt_vocab_size);
}

Result<Tensor> EncoderDecoder::encode(const Tensor& source, const Tensor* padding) const {
  if (const auto fits = check_ids(*this, "source ids", source); !fits.ok()) return fits.error();
  auto x = embed(*src_embedding_, "src_embedding", *positions_, options_, source, {});
  if (!x.ok()) return x;
  Arguments next;
  next.input = &x.value();
  next.key_padding_mask = padding;
  return output_of(transformer_->encoder().forward(next, "encoder"));
}

// The source is key, or memory where it has been encoded.
Result<Outputs> EncoderDecoder::hidden_states(const Arguments& arguments) const {
  if (!arguments.key && !arguments.memory) return input_error(where() + ": expected source ids and target ids, found no source");
  Arguments next = arguments;
  Tensor source;
  if (arguments.key) {
    if (const auto fits = check_ids(*this, "source ids", *arguments.key); !fits.ok()) return fits.error();
    auto x = embed(*src_embedding_, "src_embedding", *positions_, options_, *arguments.key, arguments);
    if (!x.ok()) return x.error();
    source = std::move(x).value();
    next.key = &source;
    next.src_key_padding_mask = arguments.memory_key_padding_mask;
  }
  auto y = embed(*tgt_embedding_, "tgt_embedding", *positions_, options_, *arguments.input, arguments);
  if (!y.ok()) return y.error();
  next.input = &y.value();
  next.is_causal = true;
  return arguments.key ? call(*transformer_, "transformer", next) : transformer_->decoder().forward(next, "decoder");
}

}  // namespace wattn::nn
