#include "tokenizer/decode_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "core/utf.h"

namespace wattn {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bits for rare properties of a token.
enum Kind : std::uint8_t {
  kNew = 1,      // not asked for yet
  kAbsent = 2,   // no token has the id
  kSpecial = 4,  // left out on request
  kByte = 8,     // text[0] is a byte of a run
  kLong = 16,    // begins with where its text is in long_, and how many bytes it has
  kPart = 32,    // not UTF-8 by itself
};
constexpr unsigned kRare = kNew | kAbsent | kSpecial | kByte | kLong;

// One for each id: reading a text touches one line of the processor's cache for each.
struct alignas(16) Slot {
  std::array<char, 14> text{};
  std::uint8_t size = 0;
  std::uint8_t kind = kNew;
};

struct Place {
  std::uint32_t begin, size;
};

// A text that grows at its end; what is behind `out` is not text.
class Output {
 public:
  explicit Output(std::string& text, std::size_t guess) : text_(text) { open(guess); }
  // Makes room for so many bytes.
  void need(std::size_t bytes) {
    if (static_cast<std::size_t>(limit_ - out) >= bytes) [[likely]]
      return;
    open(bytes + size() / 2);
  }
  void put(std::string_view bytes) {
    need(bytes.size());
    std::memcpy(out, bytes.data(), bytes.size());
    out += bytes.size();
  }
  std::size_t size() const { return static_cast<std::size_t>(out - text_.data()); }
  void close() { text_.resize(size()); }

  char* out = nullptr;

 private:
  void open(std::size_t more) {
    const std::size_t used = out ? size() : 0;
    text_.resize(used + more);
    out = text_.data() + used;
    limit_ = text_.data() + text_.size();
  }
  std::string& text_;
  const char* limit_ = nullptr;
};

class Table final : public DecodeTable {
 public:
  Table(std::vector<const Decoder*> each, const TokenDecoder* only, bool has_bytes, std::vector<const Decoder*> whole,
        const ShownTokens& tokens)
      : each_(std::move(each)), only_(only), has_bytes_(has_bytes), whole_(std::move(whole)), tokens_(tokens) {}

  bool decode(std::span<const std::int32_t> ids, bool skip_special_tokens, std::string& text) const override;

 private:
  // The text of tokens that a text begins with, each by itself; false if a decoder refuses them.
  bool run_each(std::vector<std::string>& tokens) const {
    if (only_) return only_->TokenDecoder::decode(tokens);
    return std::all_of(each_.begin(), each_.end(), [&](const Decoder* step) { return step->decode(tokens); });
  }
  bool make(std::int32_t id, Slot& slot) const;  // false: too long
  std::optional<std::size_t> begin(std::span<const std::int32_t> ids, bool skip_special_tokens, Output& to, unsigned& seen) const;
  std::size_t put_bytes(std::span<const std::int32_t> ids, std::size_t i, bool skip_special_tokens, Output& to) const;
  // Null: the token is too long.
  const Slot* slot_of(std::int32_t id) const {
    Slot& slot = slots_[static_cast<std::size_t>(id)];
    return slot.kind == kNew && !make(id, slot) ? nullptr : &slot;
  }
  bool is_absent(std::int32_t id) const { return static_cast<std::size_t>(id) >= slots_.size(); }  // or negative

  std::vector<const Decoder*> each_;   // for one token at a time
  const TokenDecoder* only_;           // the only one of them, if it can do so without lists; may be null
  bool has_bytes_;                     // then runs of bytes become text
  std::vector<const Decoder*> whole_;  // then, for the text of all
  ShownTokens tokens_;
  mutable std::vector<Slot> slots_;  // [ids], of the first text on
  mutable std::string long_;
};

bool Table::make(std::int32_t id, Slot& slot) const {
  constexpr std::size_t kLongest = 1 << 12;
  const std::optional<std::string_view> token = tokens_.token(id);
  if (!token) {
    slot.kind = kAbsent;
    return true;
  }
  if (token->size() > kLongest) return false;
  std::string text;
  if (only_) {
    text.resize(token->size() + 1);
    text.resize(static_cast<std::size_t>(only_->write(*token, false, text.data()) - text.data()));
  } else {
    std::vector<std::string> two{"x", std::string(*token)};
    if (!run_each(two) || two.size() != 2 || two[1].size() > kLongest) return false;
    text = std::move(two[1]);
  }
  unsigned kind = tokens_.is_special(id, *token) ? unsigned{kSpecial} : 0;
  if (const int byte = has_bytes_ ? byte_of_fallback(text) : -1; byte >= 0) {
    text.assign(1, static_cast<char>(byte));
    kind |= kByte;
  } else if (!is_utf8(text)) {
    kind |= kPart;
  }
  if (text.size() > slot.text.size()) {
    const Place place{static_cast<std::uint32_t>(long_.size()), static_cast<std::uint32_t>(text.size())};
    std::memcpy(slot.text.data(), &place, sizeof place);
    long_ += text;
    kind |= kLong;
  } else {
    std::copy(text.begin(), text.end(), slot.text.begin());
    slot.size = static_cast<std::uint8_t>(text.size());
  }
  slot.kind = static_cast<std::uint8_t>(kind);
  return true;
}

// Writes the beginning up to the first token that has text, and returns the number of its ids. Nothing: the decoders know better.
std::optional<std::size_t> Table::begin(std::span<const std::int32_t> ids, bool skip_special_tokens, Output& to,
                                        unsigned& seen) const {
  constexpr std::size_t kMost = 16;
  std::vector<std::string> raw, tokens;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (is_absent(ids[i])) continue;
    const Slot* slot = slot_of(ids[i]);
    if (!slot) return std::nullopt;
    if (slot->kind & kAbsent || (skip_special_tokens && slot->kind & kSpecial)) continue;
    if (slot->kind & kByte) return i;
    raw.emplace_back(*tokens_.token(ids[i]));
    tokens = raw;
    if (!run_each(tokens) || tokens.size() != raw.size() || raw.size() > kMost) return std::nullopt;
    if (tokens.back().empty()) continue;
    to.put(tokens.back());
    seen |= slot->kind;
    return i + 1;
  }
  return ids.size();
}

// Writes the run of bytes that begins at ids[i], and returns where it ends.
std::size_t Table::put_bytes(std::span<const std::int32_t> ids, std::size_t i, bool skip_special_tokens, Output& to) const {
  std::string bytes;
  for (; i < ids.size(); ++i) {
    if (is_absent(ids[i])) continue;
    const Slot* slot = slot_of(ids[i]);
    if (!slot) break;
    if (slot->kind & kAbsent || (skip_special_tokens && slot->kind & kSpecial)) continue;
    if (!(slot->kind & kByte)) break;
    bytes += slot->text[0];
  }
  if (is_utf8(bytes)) {
    to.put(bytes);
  } else {
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) to.put(kReplacement);
  }
  return i;
}

bool Table::decode(std::span<const std::int32_t> ids, bool skip_special_tokens, std::string& text) const {
  constexpr std::size_t kBytesOfId = 6;  // a guess
  if (slots_.empty()) slots_.resize(static_cast<std::size_t>(std::max(tokens_.model.num_ids(), tokens_.added.num_ids())));
  Output to(text, kBytesOfId * std::min(ids.size(), kMostDecodedBytes / 16) + 2 * sizeof(Slot));
  unsigned seen = 0;  // kinds
  std::optional<std::size_t> first = begin(ids, skip_special_tokens, to, seen);
  for (std::size_t i = first.value_or(ids.size()); i < ids.size(); ++i) {
    if (is_absent(ids[i])) continue;
    const Slot* slot = &slots_[static_cast<std::size_t>(ids[i])];
    if (slot->kind & kRare) [[unlikely]] {
      slot = slot_of(ids[i]);
      if (!slot || to.size() > kMostDecodedBytes) {
        first.reset();
        break;
      }
      if (slot->kind & kAbsent || (skip_special_tokens && slot->kind & kSpecial)) continue;
      if (slot->kind & kByte) {
        i = put_bytes(ids, i, skip_special_tokens, to) - 1;
        continue;
      }
      if (slot->kind & kLong) {
        Place place;
        std::memcpy(&place, slot->text.data(), sizeof place);
        to.put(std::string_view(long_).substr(place.begin, place.size));
        seen |= slot->kind;
        continue;
      }
    }
    to.need(sizeof *slot);
    std::memcpy(to.out, slot, sizeof *slot);
    to.out += slot->size;
    seen |= slot->kind;
  }
  to.close();
  bool is_done = first.has_value() && text.size() <= kMostDecodedBytes;
  if (is_done && only_ && seen & kPart) only_->end(text);
  if (is_done && !whole_.empty()) {
    std::vector<std::string> all{std::move(text)};
    is_done = std::all_of(whole_.begin(), whole_.end(), [&](const Decoder* step) { return step->decode(all); });
    text = is_done && !all.empty() ? std::move(all[0]) : std::string();
    for (std::size_t i = 1; is_done && i < all.size(); ++i) text += all[i];
  }
  if (!is_done) text.clear();
  return is_done;
}

void add_steps(const Decoder& decoder, std::vector<const Decoder*>& out) {
  for (const std::unique_ptr<Decoder>& step : decoder.steps()) add_steps(*step, out);
  if (decoder.steps().empty()) out.push_back(&decoder);
}

std::unique_ptr<DecodeTable> make_table(const Decoder& decoder, const ShownTokens& tokens) {
  using Sees = Decoder::Sees;
  std::vector<const Decoder*> steps;
  add_steps(decoder, steps);
  auto at = steps.begin();
  const auto sees = [&](Sees what) { return at != steps.end() && (*at)->sees() == what; };
  const auto first = at;
  if (sees(Sees::kBeginning)) ++at;
  while (sees(Sees::kToken)) ++at;
  std::vector<const Decoder*> each(first, at);
  const bool has_bytes = sees(Sees::kByteRuns);
  const TokenDecoder* only = each.size() == 1 ? each[0]->by_token() : nullptr;
  if (has_bytes) ++at;
  if (sees(Sees::kText)) {
    if (const TokenDecoder* bytes = (*at)->by_token()) {  // ByteLevel
      if (has_bytes || !each.empty()) return nullptr;
      only = bytes;
    }
    ++at;
  } else if (at != steps.end()) {
    return nullptr;
  }
  return std::make_unique<Table>(std::move(each), only, has_bytes, std::vector<const Decoder*>(at, steps.end()), tokens);
}

}  // namespace

const DecodeTableMaker kDecodeTable{make_table};

}  // namespace wattn
