#include "tasks/head_logits.h"

#include <span>

namespace wattn {

Result<void> add_head_logits(Model& model, const Batch& batch, const float* hidden, std::optional<std::int32_t> only_id,
                             HeadLogits out) {
  const std::int64_t width = model.generator().config().hidden_size;
  const std::size_t first_count = out.counts.size(), first_logit = out.logits.size();
  const HeadReading reading = head_reading(model, only_id);
  std::vector<float> rows;
  head_rows(model.kernels(), reading, batch, hidden, width, rows, out.counts);
  if (auto ran = model.run_head(rows.data(), static_cast<std::int64_t>(rows.size()) / width, out.logits); !ran.ok()) return ran;
  if (model.head_kind() == HeadKind::kSequence && reading.input == HeadInput::kEach) {
    average_logits(model.kernels(), first_logit, model.labels(), std::span(out.counts).subspan(first_count), out.logits);
  }
  return {};
}

}  // namespace wattn
