#include "tasks/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>

namespace wattn {
namespace {

// The tensors of targets, read from weights. The targets write into `places`, memory laid out as weights are, which gets numbers
// that say which element of which tensor each weight is. So a layout is known to the targets alone (rows that are joined,
// transposed or permuted).
std::vector<NamedTensor> read_targets(const std::vector<WeightTarget>& targets, std::span<float> places,
                                      std::span<const float> weights) {
  std::fill(places.begin(), places.end(), 0.0f);  // computed tables are not saved
  std::vector<NamedTensor> out;
  std::vector<std::uint32_t> first;  // the number of each tensor's first element, from 1
  std::vector<float> offsets;
  std::uint32_t next = 1;
  for (const WeightTarget& target : targets) {
    if (!target.write_row) continue;
    const std::int64_t width = target.shape.back();
    const std::int64_t rows =
        std::accumulate(target.shape.begin(), target.shape.end() - 1, std::int64_t{1}, std::multiplies<std::int64_t>());
    std::vector<float> row(static_cast<std::size_t>(width));
    first.push_back(next);
    offsets.push_back(target.offset);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (float& number : row) number = std::bit_cast<float>(next++);
      target.write_row(i, row.data());
    }
    out.push_back({target.name, target.shape, std::vector<float>(static_cast<std::size_t>(rows * width))});
  }
  first.push_back(next);
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto id = std::bit_cast<std::uint32_t>(places[i]);
    if (id == 0) continue;
    if (id < first[tensor] || id >= first[tensor + 1]) {
      tensor = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), id) - first.begin()) - 1;
    }
    out[tensor].values[id - first[tensor]] = weights[i] - offsets[tensor];
  }
  return out;
}

}  // namespace

std::vector<NamedTensor> head_tensors(const Model& model) {
  const Head& head = *model.head();
  const auto places = Head::with_layers(head.layers(), head.shape(), model.kernels());
  if (!places.ok()) return {};  // it is small
  const std::string words = model.arch().names.word_embeddings;
  return read_targets(places.value().weight_targets(words), places.value().weights_f32(), head.weights_f32());
}

Result<std::vector<NamedTensor>> checkpoint(const Model& model) {
  const Transformer& transformer = model.transformer();
  if (transformer.weight_type() != WeightType::kF32) return input_error("checkpoint: expected a model loaded with dtype 'f32'");
  const double bytes = static_cast<double>(transformer.weight_bytes() + (model.decoder() ? model.decoder()->weight_bytes() : 0));
  if (auto room = Arena::fits(2 * bytes, "a copy of the weights"); !room.ok()) return room.error();
  const Arch& arch = model.arch();
  std::vector<NamedTensor> out;
  for (const auto& [stack, names] : {std::pair{&transformer, &arch.names}, {model.decoder(), &arch.decoder_names}}) {
    if (!stack) continue;
    const auto places = Transformer::with_config(stack->config(), stack->positions(), stack->kernels(), WeightType::kF32);
    if (!places.ok()) return places.error();
    for (NamedTensor& tensor :
         read_targets(places.value().weight_targets(*names, false), places.value().weights_f32(), stack->weights_f32())) {
      const auto is_it = [&](const NamedTensor& other) { return other.name == tensor.name; };
      if (std::none_of(out.begin(), out.end(), is_it)) out.push_back(std::move(tensor));  // both stacks have the words
    }
  }
  const std::string pooler = arch.names.pooler ? arch.names.pooler : "";
  const auto is_pooler = [&](const std::string& name) { return !pooler.empty() && name.starts_with(pooler); };
  const bool replaced =
      model.head() && model.head()->layers().dense && model.head()->layers().dense == pooler;  // the head's is the trained one
  if (!transformer.has_pooler() || replaced) std::erase_if(out, [&](const NamedTensor& tensor) { return is_pooler(tensor.name); });
  if (model.has_lm_head()) {
    const TransformerNames& names = model.decoder() ? arch.decoder_names : arch.names;
    const std::string head = names.lm_head, bias = names.lm_head_bias ? names.lm_head_bias : head;
    for (NamedTensor& tensor : out) {
      if (tensor.name.starts_with(head) || tensor.name == bias) continue;
      tensor.name.insert(0, model.decoder() ? arch.seq2seq_prefix : arch.base_prefix);
    }
  }
  if (!model.head()) return out;
  for (NamedTensor& tensor : head_tensors(model)) out.push_back(std::move(tensor));
  // Checkpoints with a head name the stack below it; the pooler is a part of that.
  const auto head = model.head()->weight_targets(arch.names.word_embeddings);
  const auto is_base = [&](const NamedTensor& tensor) {
    return is_pooler(tensor.name) ||
           std::none_of(head.begin(), head.end(), [&](const WeightTarget& target) { return target.name == tensor.name; });
  };
  for (NamedTensor& tensor : out) {
    if (is_base(tensor)) tensor.name.insert(0, arch.base_prefix);
  }
  return out;
}

}  // namespace wattn
