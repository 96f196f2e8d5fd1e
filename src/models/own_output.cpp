// Heads over the vocabulary whose output is not, or not only, the word embeddings.
// - As in transformers' tie_weights (v5.23.0), only tensors with equal values are tied, and none if tie_word_embeddings is false.
// - MobileBERT's reads more columns than the word embeddings have, by a second matrix.
#include <algorithm>
#include <memory>

#include "models/heads.h"
#include "models/target_list.h"

namespace wattn {

// Allocated with the first row, as most checkpoints have none.
struct Head::OwnOutput {
  Arena weights;
  Result<void> made;
  LinearWeights output;  // in is 0: not made
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

// targets: of weight_targets(), with what repeats the tied tensors last. The bias of a separate Linear takes precedence, whichever
// comes first.
void Head::keep_own_output(std::vector<WeightTarget>& targets) const {
  own_ = std::make_shared<OwnOutput>();
  const std::int64_t size = shape_.labels;
  WeightTarget* bias = nullptr;
  for (WeightTarget& target : targets) {
    if (target.values == bias_ && bias_) bias = &target;
    if (target.twin.empty()) continue;
    if (target.shape.size() == 2) {
      target.may_differ = true;
      target.write_row = [own = own_, shape = shape_, &kernels = *kernels_](std::int64_t i, const float* row) {
        if (i == 0) make(*own, shape, kernels);
        if (own->output.in > 0) set_weight_row(own->output, i, row);
      };
      continue;
    }
    target.twin.clear();
    target.write_row = [own = own_, to = bias_, size](std::int64_t, const float* row) {
      own->has_bias = true;
      std::copy_n(row, size, to);
    };
    bias->write_row = [own = own_, to = bias_, size](std::int64_t, const float* row) {
      if (!own->has_bias) std::copy_n(row, size, to);
    };
  }
}

Result<void> Head::choose_output(std::span<const WeightTarget> targets) {
  const std::shared_ptr<OwnOutput> own = std::move(own_);
  if (!layers_.tied) return {};
  const auto found =
      std::find_if(targets.begin(), targets.end(), [](const WeightTarget& target) { return target.may_differ && target.filled; });
  if (found == targets.end() && layers_.untied) {
    return model_format_error(
        "config.json: tie_word_embeddings: expected true, as the checkpoint has no weights of the output over the vocabulary, "
        "found "
        "false");
  }
  if (found == targets.end() || !(found->differs || layers_.untied)) return {};
  if (!own->made.ok()) return own->made;
  layers_.tied = false;
  own_weights_ = std::move(own->weights);
  output_ = own->output;
  output_.bias = layers_.output_bias ? bias_ : nullptr;
  own_name_ = found->name.substr(0, found->name.rfind('.'));
  return {};
}

namespace {

// Columns [first, first + width) of rows.
std::vector<float> columns(const float* rows, std::int64_t count, std::int64_t stride, std::int64_t first, std::int64_t width) {
  std::vector<float> out(static_cast<std::size_t>(count * width));
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(rows + i * stride + first, width, out.data() + i * width);
  return out;
}

}  // namespace

Result<void> Head::run_rest(const Compute& compute, const EmbeddingTable& words, const float* rows, std::int64_t count,
                            float* logits) const {
  const std::int64_t width = this->width(), first = words.hidden;
  tied_logits(compute, words, bias_, columns(rows, count, width, 0, first).data(), count, logits);
  const auto take = [&](Arena& arena) { return take_linear_scratch(arena, rest_.type, count, rest_.in, 1); };
  Arena measure;
  take(measure);
  auto arena = Arena::with_bytes(measure.used(), "activations of the head");
  if (!arena.ok()) return arena.error();
  std::vector<float> more(static_cast<std::size_t>(count * shape_.labels));
  linear(compute, rest_, columns(rows, count, width, first, rest_.in).data(), count, Activation::kNone, take(arena.value()),
         more.data());
  compute.kernels.axpy(1.0f, more.data(), logits, count * shape_.labels);
  return {};
}

namespace {

void rest_backward(const Compute& compute, const Head& head, const LinearGradient& output, const Head* gradients, float* scratch) {
  const std::int64_t width = output.in, count = output.tokens, first = width - head.rest().in;
  LinearGradient of_words = output, of_rest{.layer = &head.rest(), .d_layer = gradients ? &gradients->rest() : nullptr};
  std::int64_t column = 0;
  for (LinearGradient* part : {&of_words, &of_rest}) {
    part->in = column == 0 ? first : width - first;
    part->out = output.out;
    part->tokens = count;
    const std::vector<float> x = columns(output.x, count, width, column, part->in);
    std::vector<float> dx(output.dx ? x.size() : 0);
    part->x = x.data();
    part->dy = output.dy;
    part->dx = output.dx ? dx.data() : nullptr;
    linear_backward(compute, *part, scratch);
    for (std::int64_t i = 0; output.dx && i < count; ++i) {
      std::copy_n(dx.data() + i * part->in, part->in, output.dx + i * width + column);
    }
    column = first;
  }
}

}  // namespace

const OwnOutputs kOwnOutputs{&Head::keep_own_output, &Head::choose_output, &Head::run_rest, rest_backward};

}  // namespace wattn
