// LabelsEncoder: what a bi-encoder of GLiNER reads labels with, a tokenizer and an encoder of their own (BiEncoder in
// gliner/modeling/encoder.py, 0.2.29). A label's vector is the mean over its tokens. It does not depend on texts or other labels,
// so what SpanHead makes of it is kept for later calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"

namespace wattn {

class LabelsEncoder {
 public:
  // Bytes of kept rows, at most: 8,000 labels of a model with 512 components. If more come, those that a call lacks are dropped.
  static constexpr std::size_t kMostKeptBytes = 1 << 26;
  void limit(std::size_t most_kept_bytes) { most_kept_bytes_ = most_kept_bytes; }

  // config: gliner_config.json. Other files: labels_tokenizer/*, and labels_encoder/config.json if config has no
  // labels_encoder_config.
  static Result<std::unique_ptr<LabelsEncoder>> read(const Documents& documents, JsonRef config, const LoadOptions& options,
                                                     const Kernels& kernels);

  const Transformer& transformer() const { return transformer_; }
  std::uint64_t weight_bytes() const { return transformer_.weight_bytes(); }
  // The targets of its weights, and the tensors that a bi-encoder ignores. Names of its own begin with "labels_encoder.".
  std::vector<WeightTarget> weight_targets(bool is_gguf) const;
  std::vector<std::string> ignored() const;
  // The name of one of its tensors in a file among the targets' names; empty for a tensor of another part.
  std::string name_of(std::string_view name, bool is_gguf) const;

  // SpanHead::label_rows() of these labels, which must be different ones: [labels, head.label_width()].
  Result<std::vector<float>> rows(const SpanHead& head, ThreadTeam& team, std::span<const std::u16string_view> labels);
  // Labels whose rows are kept, and how many were read so far.
  std::size_t kept() const { return kept_.size(); }
  std::size_t num_read() const { return num_read_; }

 private:
  LabelsEncoder(Tokenizer tokenizer, Transformer transformer)
      : tokenizer_(std::move(tokenizer)), transformer_(std::move(transformer)) {}
  std::int64_t token_budget() const;
  // The labels' vectors, [labels, hidden of the labels' encoder].
  Result<std::vector<float>> read_labels(ThreadTeam& team, std::span<const std::u16string_view> labels);
  Result<void> run(ThreadTeam& team, const Batch& batch, std::span<const std::u16string_view> labels, std::vector<float>& out);
  void keep(std::size_t width, std::span<const std::u16string_view> labels, const std::vector<float>& rows);

  Tokenizer tokenizer_;
  Transformer transformer_;
  const Arch* arch_ = nullptr;
  std::int64_t max_length_ = 0;
  std::vector<std::string> ignored_;
  Arena arena_;  // allocated at the first run
  struct Kept {
    std::vector<float> row;
    std::size_t call = 0;  // the last one that had this label
  };
  std::map<std::u16string, Kept, std::less<>> kept_;
  std::size_t calls_ = 0;
  std::size_t num_read_ = 0;
  std::size_t most_kept_bytes_ = kMostKeptBytes;
};

// What finds spans.
struct SpanParts {
  std::unique_ptr<SpanHead> head;
  std::unique_ptr<LabelsEncoder> labels;  // of a bi-encoder, or null
};

}  // namespace wattn
