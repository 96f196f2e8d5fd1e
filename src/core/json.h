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

// JSON text: a quoted string (invalid UTF-8 becomes U+FFFD), or a number that reads back to the same bits.
std::string json_text(std::string_view text);
std::string json_text(double number);
// A string for messages: like json_text(), but in ASCII, and cut after 60 characters with "...".
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

  // Member of an object by key; refers to nothing if this is not an object or has no such key.
  JsonRef operator[](std::string_view key) const;
  // Element of an array; refers to nothing if this is not an array or the index is past the end.
  JsonRef operator[](std::size_t index) const;
  std::size_t size() const;  // elements of an array, members of an object, else 0

  Result<std::string_view> as_string() const;  // valid as long as the document
  Result<std::int64_t> as_int() const;         // whole numbers only
  Result<double> as_number() const;
  Result<bool> as_bool() const;
  std::string_view number_text() const;  // a number as the file has it; empty if this is none
  // The same with a default for an absent or null value; a value of another type is still an error.
  Result<std::string_view> as_string_or(std::string_view fallback) const;
  Result<std::int64_t> as_int_or(std::int64_t fallback) const;
  Result<double> as_number_or(double fallback) const;
  Result<bool> as_bool_or(bool fallback) const;

  // Members of an object in file order; only the last of a repeated key. Views live as long as the document.
  std::vector<std::pair<std::string_view, JsonRef>> members() const;

  // "tokenizer.json: model.vocab", for messages. Searches the whole document.
  std::string where() const;
  // A ModelFormatError: "<where>: expected <expected>, found <value>".
  Error mismatch(std::string_view expected) const;
  // A short description of the value for messages, at most about 60 characters.
  std::string describe() const;
  // The value as JSON; "null" when this refers to nothing.
  std::string to_text() const;

 private:
  friend class Json;
  JsonRef(const JsonDocument* document, const void* node) : document_(document), node_(node) {}

  const JsonDocument* document_ = nullptr;
  const void* node_ = nullptr;      // a Node, which is defined in json.cpp
  const void* parent_ = nullptr;    // if node_ is null: the container of the missing value, for messages
  std::string_view missing_key_{};  // the first missing key
};

class Json {
 public:
  // file_name is only used in messages. Anything other than JSON is a ModelFormatError. So are numbers beyond a double's range,
  // also if only their exponent is (0e400), and texts of 4 GiB or more.
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
