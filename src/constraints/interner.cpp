#include "constraints/interner.h"

#include <algorithm>

namespace wattn {
namespace {

// FNV-1a over words, with the high bits mixed in, as places are its low bits.
std::size_t hash_of(std::span<const std::int32_t> words) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::int32_t word : words) hash = (hash ^ static_cast<std::uint32_t>(word)) * 1099511628211u;
  return static_cast<std::size_t>(hash ^ hash >> 29);
}

}  // namespace

std::int32_t Interner::id(std::span<const std::int32_t> words) {
  if (2 * static_cast<std::size_t>(size()) >= places_.size()) {
    places_.assign(std::max<std::size_t>(64, 2 * places_.size()), -1);
    for (std::int32_t each = 0; each < size(); ++each) {
      std::size_t place = hash_of(this->words(each)) & (places_.size() - 1);
      while (places_[place] >= 0) place = (place + 1) & (places_.size() - 1);
      places_[place] = each;
    }
  }
  std::size_t place = hash_of(words) & (places_.size() - 1);
  for (; places_[place] >= 0; place = (place + 1) & (places_.size() - 1)) {
    if (std::ranges::equal(this->words(places_[place]), words)) return places_[place];
  }
  const std::int32_t fresh = size();
  places_[place] = fresh;
  if (words.data() >= words_.data() && words.data() < words_.data() + words_.size()) {  // it may be a part of another list
    const std::vector<std::int32_t> copy(words.begin(), words.end());
    words_.insert(words_.end(), copy.begin(), copy.end());
  } else {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  begins_.push_back(static_cast<std::uint32_t>(words_.size()));
  return fresh;
}

}  // namespace wattn
