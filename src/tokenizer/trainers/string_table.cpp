// build: -Os
#include "tokenizer/trainers/string_table.h"

#include "tokenizer/vocabulary.h"

namespace wattn {
namespace {

std::uint32_t hash_of(std::string_view text) {
  const Vocabulary::Hash hash = Vocabulary::hash_of(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

std::size_t StringTable::slot_of(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = (hash ^ (hash >> 15)) & mask;
  for (; slots_[slot].number != kAbsent; slot = (slot + 1) & mask) {
    if (slots_[slot].hash == hash && (*this)[slots_[slot].number] == text) break;
  }
  return slot;
}

std::uint32_t StringTable::find(std::string_view text) const { return slots_[slot_of(text, hash_of(text))].number; }

std::uint32_t StringTable::add(std::string_view text) {
  const std::uint32_t hash = hash_of(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.number != kAbsent) return slot.number;
  const std::uint32_t number = size();
  slot = {hash, number};
  bytes_ += text;
  begins_.push_back(bytes_.size());
  if (2 * std::size_t{size()} > slots_.size()) grow();
  return number;
}

void StringTable::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& each : old) {
    if (each.number == kAbsent) continue;
    std::size_t slot = (each.hash ^ (each.hash >> 15)) & mask;
    while (slots_[slot].number != kAbsent) slot = (slot + 1) & mask;
    slots_[slot] = each;
  }
}

}  // namespace wattn
