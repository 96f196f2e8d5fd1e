// JSON documents, read only. A Json owns the parsed document, a JsonRef points at one value in it.
// Typed reads name the file, the path, what was expected and what was found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn {

struct JsonDocument;  // json.cpp

// As JSON text: a string with its quotes (what is no UTF-8 becomes U+FFFD), a number such that reading it gives the same bits.
std::string json_text(std::string_view text);
std::string json_text(double number);
// A string for messages: as json_text() has it, but in ASCII and with "..." behind 60 characters.
std::string shown_text(std::string_view text);

class JsonRef {
 public:
  JsonRef() = default;  // refers to nothing: exists() is false, every typed read is an error

  bool exists() const { return node_ != nullptr; }  // absent keys do not exist; an explicit null does
  bool is_null() const;                             // absent, or an explicit null
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_bool() const;
  bool is_number() const;

  // Member of an object by key; refers to nothing when this is no object or has no such key.
  JsonRef operator[](std::string_view key) const;
  // Element of an array; refers to nothing when this is no array or the index is past the end.
  JsonRef operator[](std::size_t index) const;
  std::size_t size() const;  // elements of an array, members of an object, else 0

  Result<std::string_view> as_string() const;  // valid as long as the document
  Result<std::int64_t> as_int() const;         // whole numbers only
  Result<double> as_number() const;
  Result<bool> as_bool() const;
  // The same with a default for a value that is absent or null; a value of another type is an error all the same.
  Result<std::string_view> as_string_or(std::string_view fallback) const;
  Result<std::int64_t> as_int_or(std::int64_t fallback) const;
  Result<double> as_number_or(double fallback) const;
  Result<bool> as_bool_or(bool fallback) const;

  // Members of an object as the file has them (of a repeated key the last). Views live as long as the document.
  std::vector<std::pair<std::string_view, JsonRef>> members() const;

  // "tokenizer.json: model.vocab" for messages; costs a walk over the document.
  std::string where() const;
  // A ModelFormatError: "<where>: expected <expected>, found <what is there>".
  Error mismatch(std::string_view expected) const;
  // A short picture of the value for messages, at most about 60 characters.
  std::string describe() const;
  // The value as JSON; "null" when this refers to nothing.
  std::string to_text() const;

 private:
  friend class Json;
  JsonRef(const JsonDocument* document, const void* node) : document_(document), node_(node) {}

  const JsonDocument* document_ = nullptr;
  const void* node_ = nullptr;      // a Node, which only json.cpp sees
  const void* parent_ = nullptr;    // for the message when node_ is absent: where the missing key was looked for
  std::string_view missing_key_{};  // the key that was not there
};

class Json {
 public:
  // file_name is only for messages. Text that is not JSON is a ModelFormatError, as are numbers beyond a double's range, and zeros
  // and near numbers in a spelling of that range (0e400), and 4 GiB of text.
  static Result<Json> parse(std::string_view text, std::string_view file_name);

  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  ~Json();

  JsonRef root() const;

 private:
  explicit Json(std::unique_ptr<JsonDocument> document);
  std::unique_ptr<JsonDocument> document_;
};

}  // namespace wattn
