// The Model's adapters.
#include <algorithm>

#include "engine/model.h"

namespace wattn {
namespace {

Error missing_tensor(const std::string& name) {
  return {ErrorCode::kModelFormat, "adapter: expected one with tensor '" + name + "', which the model lacks, found none"};
}

}  // namespace

Model::~Model() = default;

Result<void> Model::check_head() const {
  if (missing_.empty() || lora()) return {};
  return missing_tensor(missing_.front());
}

std::int64_t Model::labels() const { return labels_of(lora()); }

std::int64_t Model::labels_of(const Lora* lora) const {
  if (!head_) return 0;
  const LinearWeights& output = head_->output();
  return lora && output.in > 0 ? lora->used_for(output).out : head_->labels();
}

std::int64_t Model::labels_with(int adapter) const { return labels_of(&find_adapter(adapter)->lora()); }

Adapter* Model::find_adapter(int number) const { return number > 0 ? adapters_[number - 1].get() : nullptr; }

const Lora* Model::lora() const {
  const Adapter* adapter = find_adapter(adapter_ > 0 ? adapter_ : merged_);
  return adapter ? &adapter->lora() : nullptr;
}

Result<int> Model::add_adapter(AdapterTensors tensors) {
  for (std::string& name : tensors.names) name = canonical_weight_name(*arch_, name, false);
  for (const std::string& name : missing_) {
    if (merged_ == 0 && std::find(tensors.names.begin(), tensors.names.end(), name) == tensors.names.end())
      return missing_tensor(name);
  }
  const bool tied_head = head_ && head_->layers().tied;
  AdaptedModel model{{transformer_.weight_targets(arch_->names, false)}, {}, generator().shared_weights(), tied_head, ignored_};
  if (decoder_) model.targets[1] = decoder_->weight_targets(arch_->decoder_names, false);
  if (head_) model.targets[2] = head_->weight_targets(arch_->names.word_embeddings);
  if (head_) model.output = head_->output();
  auto adapter = std::make_unique<Adapter>();
  adapter->set_before(find_adapter(merged_));
  if (auto loaded = adapter->load(model, tensors); !loaded.ok()) return loaded.error();
  adapters_.push_back(std::move(adapter));
  return static_cast<int>(adapters_.size());
}

Result<void> Model::use_adapter(int number) {
  Adapter* adapter = find_adapter(number);
  if (number > 0 && !adapter) return Error{ErrorCode::kState, "this adapter was deleted"};
  if (Adapter* used = find_adapter(adapter_)) used->exchange_vectors();
  if (adapter) adapter->exchange_vectors();
  adapter_ = number;
  set_lora(lora());
  return {};
}

void Model::set_lora(const Lora* lora) {
  transformer_.set_lora(lora);
  if (decoder_) decoder_->set_lora(lora);
}

void Model::delete_adapter(int number) {
  adapters_[number - 1].reset();
  slots_.forget_prefixes(number);
}

Result<void> Model::merge_adapter(int number) {
  if (auto used = use_adapter(number); !used.ok()) return used;
  find_adapter(number)->merge();
  merged_ = number;
  slots_.forget_prefixes();
  adapter_ = 0;  // its vectors stay in place
  return use_adapter(0);
}

}  // namespace wattn
