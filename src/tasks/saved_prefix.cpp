#include "tasks/saved_prefix.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "pass/run.h"

namespace wattn {
namespace {

constexpr std::int64_t kWhole = Prefixes::kBlockTokens;  // tokens that all layers read again

std::uint64_t bytes_of(const Model& model, std::size_t tokens) {
  Arena measure;
  take_kv_cache(measure, model.generator().plan(), 1, static_cast<std::int64_t>(tokens));
  return measure.used();
}

Result<void> reserve(Model& model, std::size_t tokens) {
  if (!model.has_lm_head() || model.decoder()) return input_error("prefix: expected a decoder with a language-model head");
  if (tokens > 0 && std::cmp_less_equal(tokens, model.context_length())) {
    return model.slots().reserve({.slots = 1, .length = static_cast<std::int64_t>(tokens)});
  }
  return input_error("prefix: expected from 1 to context_length = " + std::to_string(model.context_length()) + " tokens, found " +
                     std::to_string(tokens));
}

}  // namespace

Result<Arena> save_prefix(Model& model, std::span<const std::int32_t> ids) {
  if (auto e = reserve(model, ids.size()); !e.ok()) return e.error();
  const auto tokens = static_cast<std::int64_t>(ids.size());
  if (const std::int64_t kept = model.slots().restore(0, ids); kept < tokens) {
    return input_error("save_prefix: expected " + std::to_string(tokens) + " tokens to fit into the cache, found " +
                       std::to_string(kept) + " (raise prefix_cache_bytes)");
  }
  auto bytes = Arena::with_zeros(bytes_of(model, ids.size()), "a prefix");
  if (!bytes.ok()) return bytes.error();
  const KvCache saved = take_kv_cache(bytes.value(), model.generator().plan(), 1, tokens);
  copy_tokens({model.slots().cache()}, {saved}, tokens);
  return bytes;
}

Result<std::unique_ptr<LoadPrefixJob>> LoadPrefixJob::begin(Model& model, std::vector<std::int32_t> ids, Arena bytes) {
  if (auto e = reserve(model, ids.size()); !e.ok()) return e.error();
  if (const std::uint64_t expected = bytes_of(model, ids.size()); bytes.used() != expected) {
    return model_format_error("prefix: expected " + std::to_string(expected) + " bytes for " + std::to_string(ids.size()) +
                              " tokens of this model, found " + std::to_string(bytes.used()));
  }
  std::unique_ptr<LoadPrefixJob> out(new LoadPrefixJob(model, std::move(ids), std::move(bytes)));
  const auto tokens = static_cast<std::int64_t>(out->ids_.size());
  out->bytes_.reset();
  out->given_ = take_kv_cache(out->bytes_, model.generator().plan(), 1, tokens);
  copy_tokens({out->given_}, {model.slots().cache()}, tokens);
  out->turn_ = model.slots().turn();
  return out;
}

// The states after all tokens, of the first layer if it has some: only that layer has read them all again.
bool LoadPrefixJob::has_same_states() const {
  if (!model_.generator().config().is_recurrent(0)) return true;
  const float* theirs = given_.states_at(0, 0);
  return std::memcmp(model_.slots().cache().states_at(0, 0), theirs, static_cast<std::size_t>(given_.state_size) * sizeof(float)) ==
         0;
}

bool LoadPrefixJob::is_same() const {
  const Plan& plan = model_.generator().plan();
  const std::uint64_t bytes = bytes_of(model_, kWhole);
  auto left = Arena::with_zeros(bytes, "a prefix"), right = Arena::with_zeros(bytes, "a prefix");
  if (!left.ok() || !right.ok()) return false;
  const KvCache ours = take_kv_cache(left.value(), plan, 1, kWhole, false),
                theirs = take_kv_cache(right.value(), plan, 1, kWhole, false);
  for (std::int64_t begin = 0; begin < read_; begin += kWhole) {
    const std::int64_t tokens = std::min(kWhole, read_ - begin);
    copy_tokens({model_.slots().cache(), 0, begin}, {ours}, tokens);
    copy_tokens({given_, 0, begin}, {theirs}, tokens);
    if (std::memcmp(left.value().taken().data(), right.value().taken().data(), static_cast<std::size_t>(bytes)) != 0) return false;
  }
  return has_same_states();
}

Result<bool> LoadPrefixJob::step() {
  Slots& slots = model_.slots();
  if (turn_ != slots.turn()) return Error{ErrorCode::kState, "prefix: this call was ended by another call to the same model"};
  const auto tokens = static_cast<std::int64_t>(ids_.size());
  const std::int64_t count = std::min(tokens - read_, read_ == 0 ? kWhole : slots.token_budget());
  Batch batch;
  batch.add_to_slot(0, static_cast<std::int32_t>(read_),
                    std::span(ids_).subspan(static_cast<std::size_t>(read_), static_cast<std::size_t>(count)));
  if (auto run = slots.run(batch, nullptr, read_ == 0 ? SIZE_MAX : 1); !run.ok()) return run.error();
  read_ += count;
  if (read_ < tokens) return true;
  if (!is_same()) {
    return model_format_error(
        "prefix: expected the keys and values that this model computes for its tokens, found others: it was saved by "
        "another model, adapter or build with different arithmetic");
  }
  slots.fill(0, given_, tokens);
  slots.keep(0, ids_);
  kept_ = slots.restore(0, ids_);
  return false;
}

}  // namespace wattn
