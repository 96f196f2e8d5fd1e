// A head over the vocabulary whose output is not tied to the word embeddings, as transformers' tie_weights (v5.23.0) has it: it
// ties only what is equal, and nothing if tie_word_embeddings is false.
#include <algorithm>
#include <memory>

#include "models/heads.h"
#include "models/slot_list.h"

namespace wattn {

// Allocated with the first row, as most checkpoints have none.
struct Head::OwnOutput {
  Arena weights;
  Result<void> made;
  Linear output;  // in is 0: not made
  bool has_bias = false;
};

namespace {

template <class Own>
void make(Own& own, const HeadShape& shape, const Kernels& kernels) {
  const auto take = [&](Arena& arena) {
    return take_linear(arena, kernels, at_least_q8(shape.type), shape.width, shape.labels, false);
  };
  Arena measure;
  take(measure);
  auto weights = Arena::with_zeros(measure.used(), "weights of the head");
  own.made = weights.ok() ? Result<void>() : Result<void>(weights.error());
  if (!weights.ok()) return;
  own.weights = std::move(weights).value();
  own.output = take(own.weights);
}

}  // namespace

bool Head::may_be_untied() { return true; }

// slots: of weight_slots(), with what repeats the tied tensors last. The bias of a Linear of its own counts, whichever comes first.
void Head::keep_own_output(std::vector<WeightSlot>& slots) const {
  own_ = std::make_shared<OwnOutput>();
  const std::int64_t size = shape_.labels;
  WeightSlot* bias = nullptr;
  for (WeightSlot& slot : slots) {
    if (slot.values == bias_ && bias_) bias = &slot;
    if (slot.twin.empty()) continue;
    if (slot.shape.size() == 2) {
      slot.may_differ = true;
      slot.write_row = [own = own_, shape = shape_, &kernels = *kernels_](std::int64_t i, const float* row) {
        if (i == 0) make(*own, shape, kernels);
        if (own->output.in > 0) set_weight_row(own->output, i, row);
      };
      continue;
    }
    slot.twin.clear();
    slot.write_row = [own = own_, to = bias_, size](std::int64_t, const float* row) {
      own->has_bias = true;
      std::copy_n(row, size, to);
    };
    bias->write_row = [own = own_, to = bias_, size](std::int64_t, const float* row) {
      if (!own->has_bias) std::copy_n(row, size, to);
    };
  }
}

Result<void> Head::choose_output(std::span<const WeightSlot> slots) {
  const std::shared_ptr<OwnOutput> own = std::move(own_);
  if (!layers_.tied) return {};
  const auto found =
      std::find_if(slots.begin(), slots.end(), [](const WeightSlot& slot) { return slot.may_differ && slot.filled; });
  if (found == slots.end() && layers_.untied) {
    return model_format_error(
        "config.json: tie_word_embeddings: expected true, as the checkpoint has no weights of the output over the vocabulary, "
        "found "
        "false");
  }
  if (found == slots.end() || !(found->differs || layers_.untied)) return {};
  if (!own->made.ok()) return own->made;
  layers_.tied = false;
  own_weights_ = std::move(own->weights);
  output_ = own->output;
  output_.bias = layers_.output_bias ? bias_ : nullptr;
  own_name_ = found->name.substr(0, found->name.rfind('.'));
  return {};
}

}  // namespace wattn
