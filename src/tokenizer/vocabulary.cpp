#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>

#include "tokenizer/component.h"

namespace wattn {

namespace {

// Gaps are fine (some files leave ids for added tokens out), a table of mostly gaps is not.
constexpr std::size_t kIdsPerToken = 16;
constexpr std::size_t kIdsToSpare = 1 << 16;

}  // namespace

Result<Vocabulary> Vocabulary::from_json(JsonRef json) {
  if (!json.is_object()) return json.mismatch("an object of tokens and their ids");
  const auto members = json.members();
  const std::size_t id_limit = kIdsPerToken * members.size() + kIdsToSpare;
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> member_of;  // [num_ids] index into members
  std::size_t num_bytes = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Result<std::int32_t> id = read_id(members[i].second);
    if (!id.ok()) return id.error();
    const std::size_t index = static_cast<std::size_t>(id.value());
    if (index >= id_limit) {
      return members[i].second.mismatch("an id below " + std::to_string(id_limit) + " in a vocabulary of " +
                                        std::to_string(members.size()) + " tokens");
    }
    if (index >= member_of.size()) member_of.resize(std::max(index + 1, members.size()), kNone);
    if (member_of[index] != kNone) return members[i].second.mismatch("an id that no other token has");
    member_of[index] = static_cast<std::uint32_t>(i);
    num_bytes += members[i].first.size();
  }
  if (num_bytes > UINT32_MAX) return json.mismatch("a vocabulary of less than 4 GiB");
  while (!member_of.empty() && member_of.back() == kNone) member_of.pop_back();

  Vocabulary vocabulary;
  vocabulary.num_tokens_ = static_cast<std::int32_t>(members.size());
  vocabulary.bytes_.reserve(num_bytes);
  vocabulary.slots_.resize(std::bit_ceil(2 * members.size() + 2));
  vocabulary.mask_ = vocabulary.slots_.size() - 1;
  vocabulary.begins_.reserve(member_of.size() + 1);
  vocabulary.begins_.push_back(0);
  for (std::size_t id = 0; id < member_of.size(); ++id) {
    const std::string_view token = member_of[id] == kNone ? std::string_view() : members[member_of[id]].first;
    vocabulary.bytes_ += token;
    vocabulary.begins_.push_back(static_cast<std::uint32_t>(vocabulary.bytes_.size()));
    vocabulary.longest_token_ = std::max(vocabulary.longest_token_, token.size());
    if (member_of[id] != kNone) vocabulary.insert(static_cast<std::int32_t>(id));
  }
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
