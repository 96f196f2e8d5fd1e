// A reader of Protocol Buffers' wire format: one field of a message after the other, without a schema.
#pragma once

#include <cstdint>
#include <string_view>

namespace wattn {

class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // Moves to the next field. Returns false at the end, and if the bytes are malformed (see ok()).
  bool next();
  bool ok() const { return ok_; }

  std::uint32_t field() const { return field_; }
  std::uint64_t number() const { return number_; }   // of a varint, or the bits of a fixed field; else 0
  std::string_view bytes() const { return bytes_; }  // of a string, bytes or message; else empty
  float real() const;                                // of a float

 private:
  bool fail() { return ok_ = false; }
  bool read_varint(std::uint64_t& value);
  bool read_fixed(std::size_t bytes);

  std::string_view rest_;
  bool ok_ = true;
  std::uint32_t field_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace wattn
