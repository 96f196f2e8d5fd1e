// Small complete models over token ids: a classifier, a language model, an encoder-decoder.
#pragma once

#include <memory>

#include "nn/transformer.h"

namespace wattn::nn {

struct LanguageOptions {
  LayerOptions layer;
  std::int64_t vocab_size = 0;  // of the source, if there are two
  std::int64_t tgt_vocab_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_decoder_layers = 0;
  std::int64_t max_len = 512;
  Positions positions = Positions::kLearned;
  bool final_norm = false;
  bool tie_weights = true;
  bool scale_embedding = false;  // embeddings times sqrt(d_model), arXiv 1706.03762 3.4
  std::int64_t num_classes = 0;
  std::string pooling = "mean";
};

// A model that generates: a head over the hidden states of target tokens.
class Generative : public Module {
 public:
  const Generative* generative() const override { return this; }
  // ids [batch, new tokens], which follow those in the cache; memory [batch, source, d] or null -> logits [batch, vocab] of the
  // last.
  Result<Tensor> next_logits(const Tensor& ids, const Tensor* memory, KeyValueCache& cache) const;
  // Source ids [batch, source] -> memory. Only with an encoder.
  virtual Result<Tensor> encode(const Tensor& source, const Tensor* padding) const;
  virtual bool has_encoder() const { return false; }
  std::int64_t max_len() const { return options_.max_len; }

 protected:
  Generative(std::string type, const LanguageOptions& options) : Module(std::move(type)), options_(options) {}
  // tied: the target's embedding.
  void add_head(const Embedding& tied, std::int64_t vocab_size);
  Result<Outputs> run(const Arguments& arguments) const override;
  virtual Result<Outputs> hidden_states(const Arguments& arguments) const = 0;

  LanguageOptions options_;
  std::shared_ptr<PositionalEncoding> positions_;

 private:
  std::shared_ptr<Linear> head_;
};

// Encoder, pooling, linear: ids [batch, seq] -> logits [batch, classes]. Takes key_padding_mask.
class SequenceClassifier : public Module {
 public:
  explicit SequenceClassifier(const LanguageOptions& options);

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  LanguageOptions options_;
  std::shared_ptr<Embedding> embedding_;
  std::shared_ptr<PositionalEncoding> positions_;
  std::shared_ptr<TransformerStack> encoder_;
  std::shared_ptr<Linear> classifier_;
};

// Embedding, positions, layers with causal attention, norm, head (tied to the embedding): ids [batch, seq] -> logits [batch, seq,
// vocab].
class LanguageModel : public Generative {
 public:
  explicit LanguageModel(const LanguageOptions& options);

 protected:
  Result<Outputs> hidden_states(const Arguments& arguments) const override;

 private:
  std::shared_ptr<Embedding> embedding_;
  std::shared_ptr<TransformerStack> layers_;
};

// Target ids as input, source ids as key: [batch, tgt], [batch, src] -> logits [batch, tgt, tgt_vocab_size]; causal in the target.
class EncoderDecoder : public Generative {
 public:
  explicit EncoderDecoder(const LanguageOptions& options);
  Result<Tensor> encode(const Tensor& source, const Tensor* padding) const override;
  bool has_encoder() const override { return true; }

 protected:
  Result<Outputs> hidden_states(const Arguments& arguments) const override;

 private:
  std::shared_ptr<Embedding> src_embedding_, tgt_embedding_;
  std::shared_ptr<Transformer> transformer_;
};

}  // namespace wattn::nn
