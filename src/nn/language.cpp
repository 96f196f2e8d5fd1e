#include "nn/language.h"

#include <cmath>

#include "nn/functional.h"

namespace wattn::nn {
namespace {

Result<Tensor> output_of(Result<Outputs> outputs) {
  if (!outputs.ok()) return outputs.error();
  return std::move(outputs.value().output);
}

Result<void> check_ids(const Module& module, std::string_view what, const Tensor& ids) {
  if (ids.rank() == 2 && ids.size() > 0) return {};
  return wrong_shape(module.where(), what, "[batch, seq]", ids.dims);
}

// x [batch, seq, d] -> its last tokens [batch, d].
Tensor last_tokens(const Tensor& x) {
  Tensor out{{x.dim(0), x.dim(2)}, {}};
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    const float* row = x.at(((b + 1) * x.dim(1) - 1) * x.dim(2));
    out.data.insert(out.data.end(), row, row + x.dim(2));
  }
  return out;
}

// Embedding, scale, positions.
Result<Tensor> embed(const Module& embedding, std::string_view name, const Module& positions, double scale, const Tensor& ids,
                     const Arguments& arguments) {
  auto x = output_of(embedding.forward(arguments.only(ids), name));
  if (!x.ok()) return x;
  if (scale != 1) {
    for (float& value : x.value().data) value = static_cast<float>(value * scale);
  }
  return output_of(positions.forward(arguments.only(x.value()), "positions"));
}

double scale_of(const LanguageOptions& options) {
  return options.scale_embedding ? std::sqrt(static_cast<double>(options.layer.d_model)) : 1;
}

std::shared_ptr<PositionalEncoding> positions_of(const LanguageOptions& options) {
  return std::make_shared<PositionalEncoding>(options.positions, options.max_len, options.layer.d_model);
}

}  // namespace

SequenceClassifier::SequenceClassifier(const LanguageOptions& o) : Module("SequenceClassifier"), options_(o) {
  embedding_ = add_child("embedding", std::make_shared<Embedding>(o.vocab_size, o.layer.d_model));
  positions_ = add_child("positions", positions_of(o));
  encoder_ =
      add_child("encoder", std::make_shared<TransformerStack>("TransformerEncoder", false, o.layer, o.num_layers, o.final_norm));
  classifier_ = add_child("classifier", std::make_shared<Linear>(o.layer.d_model, o.num_classes));
}

Result<Outputs> SequenceClassifier::run(const Arguments& arguments) const {
  if (const auto fits = check_ids(*this, "ids", *arguments.input); !fits.ok()) return fits.error();
  auto x = embed(*embedding_, "embedding", *positions_, scale_of(options_), *arguments.input, arguments);
  if (!x.ok()) return x.error();
  Arguments next = arguments;
  next.input = &x.value();
  auto encoded = call(*encoder_, "encoder", next);
  if (!encoded.ok()) return encoded;
  Tensor kept;
  if (arguments.key_padding_mask) {
    kept = *arguments.key_padding_mask;
    for (float& value : kept.data) value = value == 0 ? 1.0f : 0.0f;
  }
  auto pooled = pool_sequence(encoded.value().output, options_.pooling, arguments.key_padding_mask ? &kept : nullptr);
  if (!pooled.ok()) return pooled.error();
  auto logits = output_of(call(*classifier_, "classifier", arguments.only(pooled.value())));
  if (!logits.ok()) return logits.error();
  return Outputs{std::move(logits).value(), std::move(encoded.value().weights)};
}

LanguageModel::LanguageModel(const LanguageOptions& o) : Generative("LanguageModel"), options_(o) {
  embedding_ = add_child("embedding", std::make_shared<Embedding>(o.vocab_size, o.layer.d_model));
  positions_ = add_child("positions", positions_of(o));
  layers_ =
      add_child("decoder", std::make_shared<TransformerStack>("TransformerEncoder", false, o.layer, o.num_layers, o.final_norm));
  head_ = add_child("head", std::make_shared<Linear>(o.layer.d_model, o.vocab_size, false));
  if (o.tie_weights) head_->tie(embedding_->weight);
}

Result<Outputs> LanguageModel::run(const Arguments& arguments) const {
  if (const auto fits = check_ids(*this, "ids", *arguments.input); !fits.ok()) return fits.error();
  auto x = embed(*embedding_, "embedding", *positions_, scale_of(options_), *arguments.input, arguments);
  if (!x.ok()) return x.error();
  Arguments next = arguments;
  next.input = &x.value();
  next.is_causal = true;
  auto hidden = call(*layers_, "decoder", next);
  if (!hidden.ok()) return hidden;
  auto logits = output_of(call(*head_, "head", arguments.only(hidden.value().output)));
  if (!logits.ok()) return logits.error();
  return Outputs{std::move(logits).value(), std::move(hidden.value().weights)};
}

Result<Tensor> LanguageModel::encode(const Tensor&, const Tensor*) const {
  return input_error(where() + ": there is no encoder to take a source");
}

Result<Tensor> LanguageModel::next_logits(const Tensor& ids, const Tensor*, const Tensor*, KeyValueCache& cache) const {
  Arguments arguments;
  arguments.cache = &cache;
  auto x = embed(*embedding_, "embedding", *positions_, scale_of(options_), ids, arguments);
  if (!x.ok()) return x;
  Arguments next = arguments.only(x.value());
  next.is_causal = true;
  auto hidden = output_of(call(*layers_, "decoder", next));
  if (!hidden.ok()) return hidden;
  cache.length += ids.dim(1);
  return head_->apply(last_tokens(hidden.value()));
}

EncoderDecoder::EncoderDecoder(const LanguageOptions& o) : Generative("EncoderDecoder"), options_(o) {
  src_embedding_ = add_child("src_embedding", std::make_shared<Embedding>(o.vocab_size, o.layer.d_model));
  tgt_embedding_ = add_child("tgt_embedding", std::make_shared<Embedding>(o.tgt_vocab_size, o.layer.d_model));
  positions_ = add_child("positions", positions_of(o));
  transformer_ = add_child("transformer", std::make_shared<Transformer>(o.layer, o.num_layers, o.num_decoder_layers));
  head_ = add_child("head", std::make_shared<Linear>(o.layer.d_model, o.tgt_vocab_size, false));
  if (o.tie_weights) head_->tie(tgt_embedding_->weight);
}

Result<Tensor> EncoderDecoder::encode(const Tensor& source, const Tensor* padding) const {
  if (const auto fits = check_ids(*this, "source ids", source); !fits.ok()) return fits.error();
  Arguments arguments;
  auto x = embed(*src_embedding_, "src_embedding", *positions_, scale_of(options_), source, arguments);
  if (!x.ok()) return x;
  Arguments next = arguments.only(x.value());
  next.key_padding_mask = padding;
  return output_of(transformer_->encoder().forward(next, "encoder"));
}

// Target ids and memory -> hidden states of the target.
Result<Outputs> EncoderDecoder::decode(const Arguments& arguments) const {
  auto y = embed(*tgt_embedding_, "tgt_embedding", *positions_, scale_of(options_), *arguments.input, arguments);
  if (!y.ok()) return y.error();
  Arguments next = arguments;
  next.input = &y.value();
  next.key = nullptr;
  next.is_causal = true;
  return transformer_->decoder().forward(next, "decoder");
}

Result<Outputs> EncoderDecoder::run(const Arguments& arguments) const {
  if (const auto fits = check_ids(*this, "target ids", *arguments.input); !fits.ok()) return fits.error();
  if (!arguments.key) return input_error(where() + ": expected source ids beside the target's, found none");
  auto memory = encode(*arguments.key, arguments.memory_key_padding_mask);
  if (!memory.ok()) return memory.error();
  Arguments next = arguments;
  next.memory = &memory.value();
  auto hidden = decode(next);
  if (!hidden.ok()) return hidden;
  auto logits = output_of(call(*head_, "head", arguments.only(hidden.value().output)));
  if (!logits.ok()) return logits.error();
  return Outputs{std::move(logits).value(), std::move(hidden.value().weights)};
}

Result<Tensor> EncoderDecoder::next_logits(const Tensor& ids, const Tensor* memory, const Tensor* memory_padding,
                                           KeyValueCache& cache) const {
  Arguments arguments;
  arguments.input = &ids;
  arguments.cache = &cache;
  arguments.memory = memory;
  arguments.memory_key_padding_mask = memory_padding;
  auto hidden = output_of(decode(arguments));
  if (!hidden.ok()) return hidden;
  cache.length += ids.dim(1);
  return head_->apply(last_tokens(hidden.value()));
}

}  // namespace wattn::nn
