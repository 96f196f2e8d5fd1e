#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tokenizer/component.h"

namespace wattn {

namespace {

// Gaps are fine (some files leave ids for added tokens out), a table of mostly gaps is not.
constexpr std::int64_t kIdsPerToken = 16;
constexpr std::int64_t kIdsToSpare = 1 << 16;

}  // namespace

Result<Vocabulary> Vocabulary::from_json(JsonRef json) {
  if (!json.is_object()) return json.mismatch("an object of tokens and their ids");
  const auto members = json.members();
  const std::int64_t id_limit = kIdsPerToken * static_cast<std::int64_t>(members.size()) + kIdsToSpare;
  std::vector<std::pair<std::int32_t, std::size_t>> by_id;  // id, index into members
  by_id.reserve(members.size());
  std::size_t num_bytes = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Result<std::int32_t> id = read_id(members[i].second);
    if (!id.ok()) return id.error();
    if (id.value() >= id_limit) {
      return members[i].second.mismatch("an id below " + std::to_string(id_limit) + " in a vocabulary of " +
                                        std::to_string(members.size()) + " tokens");
    }
    by_id.emplace_back(id.value(), i);
    num_bytes += members[i].first.size();
  }
  if (num_bytes > UINT32_MAX) return json.mismatch("a vocabulary of less than 4 GiB");
  std::sort(by_id.begin(), by_id.end());

  Vocabulary vocabulary;
  vocabulary.num_tokens_ = static_cast<std::int32_t>(by_id.size());
  vocabulary.bytes_.reserve(num_bytes);
  vocabulary.slots_.resize(std::bit_ceil(2 * by_id.size() + 2));
  vocabulary.mask_ = vocabulary.slots_.size() - 1;
  vocabulary.begins_.reserve(by_id.empty() ? 1 : static_cast<std::size_t>(by_id.back().first) + 2);
  for (std::size_t i = 0; i < by_id.size(); ++i) {
    const auto& [id, member] = by_id[i];
    if (i > 0 && by_id[i - 1].first == id) {
      return members[member].second.mismatch("an id that no other token has");
    }
    const std::size_t begin = vocabulary.bytes_.size();
    vocabulary.begins_.resize(static_cast<std::size_t>(id) + 1, static_cast<std::uint32_t>(begin));
    vocabulary.bytes_ += members[member].first;
    vocabulary.begins_.push_back(static_cast<std::uint32_t>(vocabulary.bytes_.size()));
    vocabulary.longest_token_ = std::max(vocabulary.longest_token_, members[member].first.size());
    vocabulary.insert(id);
  }
  if (vocabulary.begins_.empty()) vocabulary.begins_.push_back(0);
  return vocabulary;
}

void Vocabulary::insert(std::int32_t id) {
  const Hash hash = hash_of(bytes_of(id));
  std::size_t slot = slot_of(hash);
  while (slots_[slot].id != kAbsent) slot = (slot + 1) & mask_;
  slots_[slot] = {tag_of(hash), id};
}

std::optional<std::string_view> Vocabulary::token(std::int32_t id) const {
  if (id < 0 || id >= num_ids()) return std::nullopt;
  const std::string_view token = bytes_of(id);
  // A gap and the empty token look alike in the buffer, but only the token is found.
  if (token.empty() && find(token) != id) return std::nullopt;
  return token;
}

}  // namespace wattn
