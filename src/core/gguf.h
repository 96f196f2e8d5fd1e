// The metadata of a GGUF file: key-value pairs before the tensors. Nothing is copied; the bytes must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn {

// Reads from the front of `rest`. The first read past the end sets cut_off, and later reads return nothing.
struct GgufReader {
  std::string_view rest;
  bool cut_off = false;

  std::string_view take(std::uint64_t count) {
    if (cut_off || count > rest.size()) {
      cut_off = true;
      return {};
    }
    const std::string_view taken = rest.substr(0, static_cast<std::size_t>(count));
    rest.remove_prefix(taken.size());
    return taken;
  }
  std::uint64_t number(std::size_t bytes);
  std::string_view string() { return take(number(8)); }
};

class GgufMetadata {
 public:
  // bytes: a whole file or its beginning. is_cut_off(): the metadata continues past these bytes.
  static Result<GgufMetadata> read(std::string_view bytes);
  bool is_cut_off() const { return is_cut_off_; }

  std::uint64_t tensor_count() const { return tensor_count_; }
  std::string_view rest() const { return rest_; }  // the bytes after the metadata, beginning with the tensor list

  // Values by key; nothing if the key is missing or its value has another type.
  std::optional<std::string_view> string(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;  // of any numeric type; true is 1
  std::vector<std::string_view> strings(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::string_view bytes(std::string_view key) const;  // of an array of bytes

  // Repository files stored in a packed model: names in wattn.files, contents in wattn.contents. tokenizer.json may leave its
  // vocabulary and merges to llama.cpp's keys, as {"tokenizer.ggml.tokens":N}, the first N tokens, and "tokenizer.ggml.merges".
  // fills: puts both there; if false, not the vocabulary of WordPiece, which a tokenizer reads faster from pieces().
  std::vector<std::pair<std::string, std::string>> packed_files(bool fills = true) const;

  // Whether tokenizer.ggml.tokens are WordPiece's.
  bool has_word_pieces() const;
  // The first `count` of tokenizer.ggml.tokens as tokenizer.json spells them, in `buffer`. One that is not UTF-8 is a gap, without
  // data().
  std::vector<std::string_view> pieces(std::size_t count, std::string& buffer) const;

 private:
  struct Entry {
    std::string_view key;
    std::uint32_t type;  // of the value, or of the elements of an array
    std::uint64_t count;
    bool is_array;
    std::string_view data;
  };

  const Entry* find(std::string_view key) const;
  void fill_tokenizer(std::string& json) const;

  std::vector<Entry> entries_;
  std::uint64_t tensor_count_ = 0;
  std::string_view rest_;
  bool is_cut_off_ = false;
};

}  // namespace wattn
