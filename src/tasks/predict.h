// predict: logits of the model's head, whatever its task, for texts or pairs. The caller interprets them (labels, spans, scores).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/text_job.h"

namespace wattn {

struct PredictOptions {
  EncodeOptions encode{};  // without max_length: the model's
  std::string at_token{};  // only logits of this token ("[MASK]"); empty: of all tokens
  // With a decoder's head over the vocabulary: a text's labels are the logits of these tokens after its last one.
  std::vector<std::int32_t> label_ids{};
  std::int64_t num_labels = 0;       // with a LabelHead: how many labels each text names
  std::vector<std::int32_t> tail{};  // the last tokens of a text that is cut, as of the others
  std::int64_t first_text = 0;       // index of texts[0] in messages: a host may split one call into several
};

struct PredictResult {
  std::vector<Encoding> encodings;  // text after text, each followed by its overflow windows
  std::vector<std::int32_t> text;   // [encodings] index of the text
  std::vector<std::int32_t> rows;   // [encodings] rows of logits; sequence head: 1, or 0 without a token (or all labels) to read
  std::vector<float> logits;        // [sum of rows, labels]
  std::int64_t labels = 0;
};

class PredictJob final : public TextJob {
 public:
  // pairs: second texts, as many as texts, or none. Both must live as long as the result. Needs model.head(), label_ids or
  // num_labels.
  static Result<std::unique_ptr<PredictJob>> begin(Model& model, std::span<const std::u16string_view> texts,
                                                   std::span<const std::u16string_view> pairs, const PredictOptions& options);
  // After the last step.
  PredictResult take_result() { return std::move(result_); }

 private:
  PredictJob(Model& model, std::span<const std::u16string_view> texts, std::span<const std::u16string_view> pairs,
             const PredictOptions& options)
      : TextJob(model, texts.size()), texts_(texts), pairs_(pairs), options_(options) {}

  Result<void> prepare();
  Result<void> run_both_stacks(const Encoding& encoding);
  Result<void> add_label_logits(const Batch& batch, const float* hidden);

  Result<Encoding> encode(std::size_t text) override;
  void add(Encoding window, std::size_t text, bool is_first) override;
  Result<void> run(const Batch& batch, const std::vector<std::size_t>& texts) override;

  std::span<const std::u16string_view> texts_, pairs_;
  PredictOptions options_;
  std::optional<std::int32_t> at_id_;
  PredictResult result_;
};

Result<PredictResult> predict(Model& model, std::span<const std::u16string_view> texts, std::span<const std::u16string_view> pairs,
                              const PredictOptions& options);

}  // namespace wattn
