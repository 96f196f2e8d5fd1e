// Prefixes of models with recurrent states (ops/gated_delta.h), which belong to all tokens before them.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/prefixes.h"

namespace wattn {

Prefixes::Match Prefixes::find_whole(int kind, const Block* parent, std::span<const std::int32_t> ids, bool with_states) const {
  Match best;
  for (const auto& block : blocks_) {
    if (block->kind != kind || block->parent != parent || (with_states && block->state_blocks == 0)) continue;
    const std::size_t tokens = block->ids.size();
    if (tokens > ids.size() || !std::ranges::equal(block->ids, ids.first(tokens))) continue;
    if (std::cmp_greater(tokens, best.tokens)) best = {block.get(), static_cast<std::int64_t>(tokens)};
  }
  return best;
}

std::vector<Prefixes::Match> Prefixes::path_to_states(int kind, std::span<const std::int32_t> ids) {
  ++clock_;
  std::vector<Match> path, out;
  Match at;
  do {
    const auto rest = ids.subspan(path.size() * static_cast<std::size_t>(kBlockTokens));
    if (const Match end = find_whole(kind, at.block, rest, true); end.block) {
      out = path;
      out.push_back(end);
    }
    at = find_whole(kind, at.block, rest, false);
    if (at.block) path.push_back(at);
  } while (at.tokens == kBlockTokens);
  for (const Match& match : out) match.block->used = clock_;
  return out;
}

// The last block's states are copied with its tokens.
std::int64_t Prefixes::restore_states(Prefixes& of, int kind, std::span<const std::int32_t> ids, const KvCache& cache,
                                      std::int64_t slot) {
  std::int64_t read = 0;
  for (const auto& [block, tokens] : of.path_to_states(kind, ids)) {
    copy_tokens({block->cache}, {cache, slot, read}, tokens);
    read += tokens;
  }
  return read;
}

void Prefixes::keep_states(Prefixes& of, int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot) {
  const std::size_t blocks = (ids.size() + kBlockTokens - 1) / kBlockTokens;
  if (blocks + of.state_blocks_ > of.most_blocks_) return;
  ++of.clock_;
  Block* parent = nullptr;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t begin = i * kBlockTokens;
    const auto own = ids.subspan(begin, std::min(ids.size() - begin, static_cast<std::size_t>(kBlockTokens)));
    const Match found = of.find_whole(kind, parent, own, false);
    const bool is_found = std::cmp_equal(found.tokens, own.size());
    Block* const block = is_found ? found.block : of.add(kind, parent);
    if (!block) return;
    if (!is_found) {
      block->ids.assign(own.begin(), own.end());
      block->states = Arena();  // memory that is used again may have some
    }
    block->used = of.clock_;
    if ((i + 1 == blocks && block->state_blocks == 0 && of.add_states(*block)) || !is_found) {
      copy_tokens({cache, slot, static_cast<std::int64_t>(begin)}, {block->cache}, static_cast<std::int64_t>(own.size()));
    }
    parent = block;
  }
}

bool Prefixes::add_states(Block& block) {
  ++block.holds;  // it stays, whatever goes for its states
  while (blocks_.size() + states_ + state_blocks_ > most_blocks_) {
    Block* oldest = nullptr;
    for (const auto& each : blocks_) {
      if (each->children == 0 && each->holds == 0 && (!oldest || each->used < oldest->used)) oldest = each.get();
    }
    if (!oldest) break;
    take_out(oldest);
  }
  --block.holds;
  if (blocks_.size() + states_ + state_blocks_ > most_blocks_) return false;
  const State& state = plan_->keys_values;
  const std::int64_t size = state.state_layers * state.state_size;
  auto memory = Arena::with_bytes(static_cast<std::uint64_t>(size) * sizeof(float), "a prefix");
  if (!memory.ok()) return false;
  block.states = std::move(memory).value();
  block.cache.states = block.states.take<float>(size);
  block.cache.state_layers = state.state_layers;
  states_ += block.state_blocks = state_blocks_;
  return true;
}

std::int64_t Prefixes::hold_states(Prefixes& of, int number, int kind, std::span<const std::int32_t> ids) {
  const std::vector<Match> found = of.path_to_states(kind, ids);
  if (found.empty()) return 0;
  const auto& [last, tokens] = found.back();
  ++last->holds;
  of.holds_.push_back({number, last});
  return static_cast<std::int64_t>(found.size() - 1) * kBlockTokens + tokens;
}

namespace {

// At the end of a block, so that none is stored twice; before the rows that are shown, which other calls with the prompt ask for.
std::int64_t keeps_at(std::int64_t tokens, std::span<const std::int32_t> rows_from) {
  if (!rows_from.empty()) return rows_from[0];
  const std::int64_t most = std::max<std::int64_t>(tokens - Prefixes::kPromptEnd, 0);
  return most - most % Prefixes::kBlockTokens;
}

Result<void> note_read(const Batch& batch, std::span<std::int32_t> read) {
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int32_t begin = batch.seq_start[i], count = batch.seq_start[i + 1] - begin;
    if (count == 0) continue;
    std::int32_t& of_slot = read[static_cast<std::size_t>(batch.slots[i])];
    const std::int32_t position = batch.position_ids[begin];
    if (position != 0 && position != of_slot) {
      return unsupported_error("this model has layers with a recurrent state: expected the token at position " +
                               std::to_string(of_slot) + " of a sequence next, found that at " + std::to_string(position));
    }
    of_slot = position + count;
  }
  return {};
}

}  // namespace

const Prefixes::Recurrent Prefixes::kRecurrent{restore_states, keep_states, hold_states, keeps_at, note_read};

}  // namespace wattn
