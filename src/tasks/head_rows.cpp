#include "tasks/head_rows.h"

#include <algorithm>
#include <span>

#include "ops/pooling.h"

namespace wattn {
namespace {

// Of one sequence of at least one token. As transformers: padding at the end counts as no token, unless there is nothing else.
std::int64_t last_token(std::span<const std::int32_t> ids, std::int32_t pad) {
  const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](std::int32_t id) { return id != pad; });
  return last == ids.rend() ? 0 : ids.rend() - last - 1;
}

void add_sequence_row(const Model& model, std::span<const std::int32_t> ids, const float* hidden, std::vector<float>& states) {
  const std::int64_t width = model.generator().config().hidden_size;
  const std::size_t begin = states.size();
  states.resize(begin + static_cast<std::size_t>(width));
  if (model.head()->input() == HeadInput::kMean) {
    constexpr PoolingMode kMean[] = {PoolingMode::kMean};
    pool(model.kernels(), kMean, hidden, static_cast<std::int64_t>(ids.size()), width, 0, states.data() + begin);
    return;
  }
  const std::int64_t token = model.head()->input() == HeadInput::kLast ? last_token(ids, model.special_ids().pad) : 0;
  std::copy_n(hidden + token * width, width, states.data() + begin);
}

}  // namespace

HeadRows head_rows(const Model& model, const Batch& batch, const float* hidden, std::optional<std::int32_t> only_id) {
  const std::int64_t width = model.generator().config().hidden_size;
  HeadRows out;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::size_t before = out.states.size();
    const std::int32_t first = batch.seq_start[i];
    const auto ids = std::span(batch.input_ids).subspan(first, static_cast<std::size_t>(batch.length(i)));
    if (model.head_kind() == HeadKind::kSequence) {
      if (!ids.empty()) add_sequence_row(model, ids, hidden + first * width, out.states);
    } else {
      for (std::size_t t = 0; t < ids.size(); ++t) {
        const float* row = hidden + (first + static_cast<std::int64_t>(t)) * width;
        if (!only_id || ids[t] == *only_id) out.states.insert(out.states.end(), row, row + width);
      }
    }
    out.counts.push_back(static_cast<std::int32_t>((out.states.size() - before) / static_cast<std::size_t>(width)));
  }
  return out;
}

}  // namespace wattn
