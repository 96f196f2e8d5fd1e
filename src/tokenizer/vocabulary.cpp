#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>

#include "tokenizer/component.h"

namespace wattn {
namespace {

// Gaps are allowed (some files skip the ids of added tokens), but a table of mostly gaps is not.
constexpr std::size_t kIdsPerToken = 16;
constexpr std::size_t kIdsToSpare = 1 << 16;

}  // namespace

Result<Vocabulary> Vocabulary::from_json(JsonRef json) {
  if (!json.is_object()) return json.mismatch("an object of tokens and their ids");
  const auto members = json.members();
  const std::size_t id_limit = kIdsPerToken * members.size() + kIdsToSpare;
  std::vector<std::string_view> tokens(members.size());  // [num_ids]
  std::size_t num_bytes = 0;
  for (const auto& [token, value] : members) {
    const Result<std::int32_t> id = read_id(value);
    if (!id.ok()) return id.error();
    const std::size_t index = static_cast<std::size_t>(id.value());
    if (index >= id_limit) {
      return value.mismatch("an id below " + std::to_string(id_limit) + " in a vocabulary of " + std::to_string(members.size()) +
                            " tokens");
    }
    if (index >= tokens.size()) tokens.resize(index + 1);
    if (tokens[index].data()) return value.mismatch("an id that no other token has");
    tokens[index] = token;
    num_bytes += token.size();
  }
  if (num_bytes > UINT32_MAX) return json.mismatch("a vocabulary of less than 4 GiB");
  while (!tokens.empty() && !tokens.back().data()) tokens.pop_back();
  return from_tokens(tokens, num_bytes);
}

Result<Vocabulary> Vocabulary::from_list(const std::vector<std::string_view>& tokens) {
  std::size_t num_bytes = 0;
  for (const std::string_view token : tokens) num_bytes += token.size();
  if (num_bytes > UINT32_MAX) return model_format_error("vocabulary: expected less than 4 GiB");
  return from_tokens(tokens, num_bytes);
}

Vocabulary Vocabulary::from_tokens(const std::vector<std::string_view>& tokens, std::size_t num_bytes) {
  Vocabulary vocabulary;
  vocabulary.bytes_.reserve(num_bytes);
  vocabulary.slots_.resize(std::bit_ceil(2 * tokens.size() + 2));
  vocabulary.mask_ = vocabulary.slots_.size() - 1;
  vocabulary.begins_.reserve(tokens.size() + 1);
  vocabulary.begins_.push_back(0);
  for (const std::string_view token : tokens) {
    vocabulary.bytes_ += token;
    vocabulary.begins_.push_back(static_cast<std::uint32_t>(vocabulary.bytes_.size()));
    vocabulary.longest_token_ = std::max(vocabulary.longest_token_, token.size());
    if (!token.data()) continue;
    ++vocabulary.num_tokens_;
    vocabulary.insert(vocabulary.num_ids() - 1);
  }
  return vocabulary;
}

void Vocabulary::insert(std::int32_t id) {
  const Hash hash = hash_of(bytes_of(id));
  std::size_t slot = slot_of(hash);
  while (slots_[slot].id != kAbsent && (slots_[slot].tag != tag_of(hash) || bytes_of(slots_[slot].id) != bytes_of(id))) {
    slot = (slot + 1) & mask_;
  }
  slots_[slot] = {tag_of(hash), id};
}

std::optional<std::string_view> Vocabulary::token(std::int32_t id) const {
  if (id < 0 || id >= num_ids()) return std::nullopt;
  const std::string_view token = bytes_of(id);
  // In the buffer a gap looks like the empty token, but find() only returns the token.
  if (token.empty() && find(token) != id) return std::nullopt;
  return token;
}

}  // namespace wattn
