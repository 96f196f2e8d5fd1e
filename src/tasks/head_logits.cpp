#include "tasks/head_logits.h"

#include <algorithm>
#include <span>

#include "ops/pooling.h"

namespace wattn {
namespace {

constexpr PoolingMode kMean[] = {PoolingMode::kMean};

// As in transformers, the last token that is not padding, or the first one if all are. ids: not empty.
std::int64_t last_token(std::span<const std::int32_t> ids, std::int32_t pad) {
  const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](std::int32_t id) { return id != pad; });
  return last == ids.rend() ? 0 : ids.rend() - last - 1;
}

// Appends the rows of a sequence that the head reads.
void add_rows(const Model& model, std::span<const std::int32_t> ids, const float* hidden, std::optional<std::int32_t> only_id,
              std::vector<float>& rows) {
  const std::int64_t width = model.generator().config().hidden_size;
  const HeadInput input = model.head()->input();
  if (model.head_kind() != HeadKind::kSequence || input == HeadInput::kEach) {
    for (std::size_t t = 0; t < ids.size(); ++t, hidden += width) {
      if (!only_id || ids[t] == *only_id) rows.insert(rows.end(), hidden, hidden + width);
    }
  } else if (!ids.empty() && input == HeadInput::kMean) {
    rows.resize(rows.size() + static_cast<std::size_t>(width));
    pool(model.kernels(), kMean, hidden, static_cast<std::int64_t>(ids.size()), width, 0, rows.data() + rows.size() - width);
  } else if (!ids.empty()) {
    const std::int64_t token = input == HeadInput::kLast ? last_token(ids, model.special_ids().pad) : 0;
    rows.insert(rows.end(), hidden + token * width, hidden + (token + 1) * width);
  }
}

// Replaces each sequence's rows of logits, from begin on, by their mean.
void average(const Model& model, std::size_t begin, std::span<std::int32_t> counts, std::vector<float>& logits) {
  const std::int64_t labels = model.head()->labels();
  std::vector<float> mean(static_cast<std::size_t>(labels));
  float* to = logits.data() + begin;
  const float* from = to;
  for (std::int32_t& count : counts) {
    if (count == 0) continue;
    pool(model.kernels(), kMean, from, count, labels, 0, mean.data());
    from += count * labels;
    to = std::copy(mean.begin(), mean.end(), to);
    count = 1;
  }
  logits.resize(static_cast<std::size_t>(to - logits.data()));
}

}  // namespace

Result<void> add_head_logits(Model& model, const Batch& batch, const float* hidden, std::optional<std::int32_t> only_id,
                             HeadLogits out) {
  const std::int64_t width = model.generator().config().hidden_size;
  const std::size_t first_count = out.counts.size(), first_logit = out.logits.size();
  std::vector<float> rows;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::size_t before = rows.size();
    const std::int32_t first = batch.seq_start[i];
    const auto ids = std::span(batch.input_ids).subspan(first, static_cast<std::size_t>(batch.length(i)));
    add_rows(model, ids, hidden + first * width, only_id, rows);
    out.counts.push_back(static_cast<std::int32_t>((rows.size() - before) / static_cast<std::size_t>(width)));
  }
  if (auto ran = model.run_head(rows.data(), static_cast<std::int64_t>(rows.size()) / width, out.logits); !ran.ok()) return ran;
  if (model.head_kind() == HeadKind::kSequence && model.head()->input() == HeadInput::kEach) {
    average(model, first_logit, std::span(out.counts).subspan(first_count), out.logits);
  }
  return {};
}

}  // namespace wattn
