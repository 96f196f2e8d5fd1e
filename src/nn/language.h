// Whole small models over token ids: a classifier, a language model, an encoder-decoder.
#pragma once

#include <memory>

#include "nn/transformer.h"

namespace wattn::nn {

struct LanguageOptions {
  LayerOptions layer;
  std::int64_t vocab_size = 0;  // of the source, where there are two
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

// What generate() needs of a model: logits of the tokens that follow, given a cache.
class Generative : public Module {
 public:
  const Generative* generative() const override { return this; }
  // ids [batch, new tokens], after what the cache has; memory [batch, source, d] or null -> logits [batch, vocab] of the last one.
  virtual Result<Tensor> next_logits(const Tensor& ids, const Tensor* memory, const Tensor* memory_padding,
                                     KeyValueCache& cache) const = 0;
  // The source as the decoder sees it; empty for a model without an encoder.
  virtual Result<Tensor> encode(const Tensor& source, const Tensor* padding) const = 0;
  virtual bool has_encoder() const = 0;
  virtual std::int64_t max_len() const = 0;

 protected:
  using Module::Module;
};

// Encoder + pooling + linear: ids [batch, seq] -> logits [batch, classes]. key_padding_mask as everywhere.
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

// A decoder without memory: embedding, positions, layers with causal attention, norm, head (tied to the embedding):
// ids [batch, seq] -> logits [batch, seq, vocab].
class LanguageModel : public Generative {
 public:
  explicit LanguageModel(const LanguageOptions& options);
  Result<Tensor> next_logits(const Tensor& ids, const Tensor* memory, const Tensor* memory_padding,
                             KeyValueCache& cache) const override;
  Result<Tensor> encode(const Tensor& source, const Tensor* padding) const override;
  bool has_encoder() const override { return false; }
  std::int64_t max_len() const override { return options_.max_len; }

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  LanguageOptions options_;
  std::shared_ptr<Embedding> embedding_;
  std::shared_ptr<PositionalEncoding> positions_;
  std::shared_ptr<TransformerStack> layers_;
  std::shared_ptr<Linear> head_;
};

// Target ids as input, source ids as key: [batch, tgt], [batch, src] -> logits [batch, tgt, tgt_vocab_size]; causal in the target.
class EncoderDecoder : public Generative {
 public:
  explicit EncoderDecoder(const LanguageOptions& options);
  Result<Tensor> next_logits(const Tensor& ids, const Tensor* memory, const Tensor* memory_padding,
                             KeyValueCache& cache) const override;
  Result<Tensor> encode(const Tensor& source, const Tensor* padding) const override;
  bool has_encoder() const override { return true; }
  std::int64_t max_len() const override { return options_.max_len; }

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  Result<Outputs> decode(const Arguments& arguments) const;

  LanguageOptions options_;
  std::shared_ptr<Embedding> src_embedding_, tgt_embedding_;
  std::shared_ptr<PositionalEncoding> positions_;
  std::shared_ptr<Transformer> transformer_;
  std::shared_ptr<Linear> head_;
};

}  // namespace wattn::nn
