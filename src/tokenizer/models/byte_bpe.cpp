#include "tokenizer/models/byte_bpe.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "core/utf.h"
#include "tokenizer/byte_alphabet.h"

namespace wattn {
namespace {

constexpr std::size_t kOnStack = 48;  // bytes of words whose pairs are searched again after every merge

// Appends the bytes that a token of visible characters stands for; nothing if one of them stands for none.
void append_bytes(std::string_view token, std::string& out) {
  const std::size_t begin = out.size();
  for (std::size_t at = 0; at < token.size();) {
    const int byte = byte_of_char(next_code_point(token, at));
    if (byte < 0) return out.resize(begin);
    out += static_cast<char>(byte);
  }
}

}  // namespace

void Joins::add(std::string_view left, std::string_view right) {
  if (left.empty() || right.empty()) return;
  if (begins_char(right[0]) && left.size() >= 3 && right.size() >= 3) {
    const std::size_t bit = bit_of(left.substr(left.size() - 3), right.substr(0, 3));
    chars_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
  } else {
    const std::size_t pair = pair_of(left.back(), right[0]);
    pairs_[pair >> 6] |= std::uint64_t{1} << (pair & 63);
  }
}

std::size_t Joins::bit_of(std::string_view left, std::string_view right) {
  std::uint64_t both = 0;
  for (int i = 0; i < 3; ++i) both = both << 16 | static_cast<std::uint64_t>(pair_of(left[i], right[i]));
  return static_cast<std::size_t>(both * 0x9E3779B97F4A7C15 >> (64 - kBits));
}

void ShortTokens::reserve(std::size_t count) {
  slots_.assign(std::bit_ceil(count + count / 2 + 1), {});
  mask_ = slots_.size() - 1;
}

void ShortTokens::add(const Key& key, std::int32_t id) {
  std::size_t slot = slot_of(key);
  while (slots_[slot].key[1] != 0 && slots_[slot].key != key) slot = (slot + 1) & mask_;
  slots_[slot] = {key, id};
}

ByteBpe::ByteBpe(const Vocabulary& vocabulary, const Merges& merges, bool whole_words)
    : vocabulary_(vocabulary), merges_(merges), whole_words_(whole_words), pairs_(1 << 16) {
  for (std::size_t byte = 0; byte < ids_.size(); ++byte) {
    char utf8[4];
    ids_[byte] = vocabulary.find({utf8, write_utf8(kByteChars[byte], utf8)});
    is_complete_ = is_complete_ && ids_[byte] != Vocabulary::kAbsent;
  }
  if (!is_complete_) return;
  read_tokens();
  for (std::size_t left = 0; left < 256; ++left) {
    for (std::size_t right = 0; right < 256; ++right) pairs_[left << 8 | right] = merges.find(ids_[left], ids_[right]);
  }
}

void ByteBpe::read_tokens() {
  const auto count = static_cast<std::size_t>(vocabulary_.num_ids());
  std::string bytes;                   // of all tokens, and some more
  std::vector<std::size_t> begins{0};  // [ids + 1]
  begins.reserve(count + 1);
  for (std::size_t id = 0; id < count; ++id) {
    append_bytes(vocabulary_.token(static_cast<std::int32_t>(id)).value_or(""), bytes);
    begins.push_back(bytes.size());
  }
  bytes.append(ShortWords::kBytesRead, '\0');
  const auto token = [&](std::int32_t id) {
    const std::size_t begin = begins[static_cast<std::size_t>(id)];
    return std::string_view(bytes).substr(begin, begins[static_cast<std::size_t>(id) + 1] - begin);
  };
  merges_.for_each([&](std::int32_t left, std::int32_t right, Merges::Merge) { joins_.add(token(left), token(right)); });
  if (!whole_words_) return;
  short_tokens_.reserve(count);
  for (std::int32_t id = 0; id < vocabulary_.num_ids(); ++id) {
    const std::string_view each = token(id);
    if (!each.empty() && each.size() <= ShortWords::kMostBytes) {
      short_tokens_.add(ShortWords::key_of(each.data(), each.size(), 0), id);
    }
  }
}

// Writes the ids of a word that ShortWords does not take.
std::int32_t* ByteBpe::put_long(const char* word, std::size_t size, bool is_part, std::int32_t* out) const {
  if (size <= LongWords::kMostBytes) {
    const std::size_t count = long_words_.get(LongWords::key_of(word, size, is_part && whole_words_), out);
    return count - 1 < LongWords::kMostIds ? out + count : put_new(word, size, is_part, out);
  }
  const std::int32_t id = whole_words_ && !is_part ? whole(word, size) : Vocabulary::kAbsent;
  if (id == Vocabulary::kAbsent) return is_part ? merge(word, size, out) : put_parts(word, size, out);
  *out++ = id;
  return out;
}

// Writes the ids of a word that is in no cache yet.
std::int32_t* ByteBpe::put_new(const char* word, std::size_t size, bool is_part, std::int32_t* out) const {
  const bool has_own_tokens = is_part && whole_words_, is_short = size <= ShortWords::kMostBytes;
  std::int32_t id = Vocabulary::kAbsent;
  if (whole_words_ && !is_part) id = is_short ? short_tokens_.find(ShortWords::key_of(word, size, 0)) : whole(word, size);
  std::int32_t* end = out;
  if (id != Vocabulary::kAbsent) {
    *end++ = id;
  } else {
    end = merge(word, size, out);
  }
  const auto count = static_cast<std::size_t>(end - out);
  if (is_short) {
    short_words_.put(ShortWords::key_of(word, size, has_own_tokens), out, std::min(count, ShortWords::kMany));
    if (count < ShortWords::kMany) return end;
  }
  if (count < LongWords::kMany) long_words_.put(LongWords::key_of(word, size, has_own_tokens), out, count);
  return end;
}

// Writes the ids of a word in parts that no merge joins, which are often known.
std::int32_t* ByteBpe::put_parts(const char* word, std::size_t size, std::int32_t* out) const {
  for (std::size_t begin = 0, end; begin < size; begin = end) {
    for (end = begin + 1; end < size && joins_.may_be(word, end, size);) ++end;
    const std::size_t bytes = end - begin;
    out = bytes > ShortWords::kMostBytes ? put_long(word + begin, bytes, true, out) : put_short(word + begin, bytes, true, out);
  }
  return out;
}

// The token of a word in the vocabulary.
std::int32_t ByteBpe::whole(const char* word, std::size_t size) const {
  if (size > vocabulary_.longest_token()) return Vocabulary::kAbsent;
  std::array<char, 2 * kOnStack> chars;
  std::string many;
  if (size > kOnStack) many.resize(2 * size);
  char* const begin = size > kOnStack ? many.data() : chars.data();
  char* end = begin;
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned c = kByteChars[static_cast<unsigned char>(word[i])];
    if (c < 0x80) {
      *end++ = static_cast<char>(c);
    } else {  // below U+0144
      *end++ = static_cast<char>(0xC0 | c >> 6);
      *end++ = static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return vocabulary_.find({begin, static_cast<std::size_t>(end - begin)});
}

std::int32_t* ByteBpe::merge(const char* word, std::size_t size, std::int32_t* out) const {
  const auto id_at = [&](std::size_t i) { return ids_[static_cast<unsigned char>(word[i])]; };
  if (size > kOnStack) {
    symbols_.clear();
    for (std::size_t i = 0; i < size; ++i) symbols_.push_back({id_at(i), 1});
    merge_all(merges_, symbols_);
    for (const BpeSymbol& symbol : symbols_) *out++ = symbol.id;
    return out;
  }
  std::array<std::uint32_t, kOnStack> ranks;  // [i] of what i and i + 1 become
  std::array<std::int32_t, kOnStack> joined, ids;
  for (std::size_t i = 0; i < size; ++i) ids[i] = id_at(i);
  for (std::size_t i = 0; i + 1 < size; ++i) {
    const Merges::Merge pair =
        pairs_[std::size_t{static_cast<unsigned char>(word[i])} << 8 | static_cast<unsigned char>(word[i + 1])];
    ranks[i] = pair.rank;
    joined[i] = pair.id;
  }
  const auto find = [&](std::size_t i) {
    const Merges::Merge pair = merges_.find(ids[i], ids[i + 1]);
    ranks[i] = pair.rank;
    joined[i] = pair.id;
  };
  for (; size > 1; --size) {
    std::size_t best = 0;
    std::uint32_t lowest = ranks[0];
    for (std::size_t i = 1; i + 1 < size; ++i) {
      if (ranks[i] >= lowest) continue;
      lowest = ranks[i];
      best = i;
    }
    if (lowest == Merges::kNone) break;
    ids[best] = joined[best];
    for (std::size_t i = best + 1; i + 1 < size; ++i) {
      ids[i] = ids[i + 1];
      ranks[i - 1] = ranks[i];
      joined[i - 1] = joined[i];
    }
    if (best > 0) find(best - 1);
    if (best + 2 < size) find(best);
  }
  for (std::size_t i = 0; i < size; ++i) *out++ = ids[i];
  return out;
}

std::uint32_t ByteBpe::bytes_of(std::int32_t id) const {
  if (token_bytes_.empty()) {
    token_bytes_.resize(static_cast<std::size_t>(vocabulary_.num_ids()));
    for (std::int32_t each = 0; each < vocabulary_.num_ids(); ++each) {
      for (const char c : vocabulary_.token(each).value_or("")) token_bytes_[static_cast<std::size_t>(each)] += (c & 0xC0) != 0x80;
    }
  }
  return token_bytes_[static_cast<std::size_t>(id)];
}

}  // namespace wattn
