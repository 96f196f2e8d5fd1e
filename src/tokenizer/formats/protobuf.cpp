#include "tokenizer/formats/protobuf.h"

#include <bit>

namespace wattn {

bool ProtobufReader::next() {
  number_ = 0;
  bytes_ = {};
  if (!ok_ || rest_.empty()) return false;
  std::uint64_t tag = 0;
  if (!read_varint(tag) || tag >> 3 == 0 || tag >> 32 != 0) return fail();
  field_ = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7) {
    case 0:
      return read_varint(number_) || fail();
    case 1:
      return read_fixed(8) || fail();
    case 2: {
      std::uint64_t size = 0;
      if (!read_varint(size) || size > rest_.size()) return fail();
      bytes_ = rest_.substr(0, static_cast<std::size_t>(size));
      rest_.remove_prefix(bytes_.size());
      return true;
    }
    case 5:
      return read_fixed(4) || fail();
    default:  // groups are obsolete
      return fail();
  }
}

float ProtobufReader::real() const { return std::bit_cast<float>(static_cast<std::uint32_t>(number_)); }

bool ProtobufReader::read_varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const std::uint8_t byte = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

bool ProtobufReader::read_fixed(std::size_t bytes) {
  if (rest_.size() < bytes) return false;
  for (std::size_t i = 0; i < bytes; ++i) number_ |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(rest_[i])) << (8 * i);
  rest_.remove_prefix(bytes);
  return true;
}

}  // namespace wattn
