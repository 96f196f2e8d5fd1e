// build: -Os
// JSON as a flat tree: RapidJSON's reader puts all nodes into one buffer, and strings stay in place in a copy of the text. So a
// vocabulary of a hundred thousand tokens needs no allocation per token.
#include "core/json.h"

#include <rapidjson/reader.h>
#include <rapidjson/stream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <system_error>

#include "core/decimal.h"
#include "core/utf.h"

namespace wattn {
namespace {

struct Node {
  // kNotFinite: NaN, Infinity and -Infinity, which Python's json writes. Whoever asks for a number refuses them.
  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kUnsigned, kNumber, kString, kArray, kObject, kNotFinite };

  Kind kind = Kind::kNull;
  std::uint32_t size = 0;  // elements, members, or bytes of a string; of a number, where its text begins
  union {
    std::int64_t integer = 0;
    std::uint64_t unsigned_integer;  // kUnsigned: too large for int64
    double number;
    bool boolean;
    std::size_t begin;  // of its children or bytes; an object's children are key, value, key, value
  };

  static Node of(Kind kind, std::size_t size = 0) {
    Node node;
    node.kind = kind;
    node.size = static_cast<std::uint32_t>(size);
    return node;
  }
  bool is(Kind other) const { return kind == other; }
  bool is_number() const { return is(Kind::kInteger) || is(Kind::kUnsigned) || is(Kind::kNumber); }
};

}  // namespace

struct JsonDocument {
  std::string file_name;
  std::string text;            // strings are unescaped in place
  std::vector<Node> children;  // of all arrays and objects, contiguous for each
  Node root;

  std::string_view text_of(const Node& node) const { return std::string_view(text).substr(node.begin, node.size); }
  const Node* children_of(const Node& node) const { return children.data() + node.begin; }
};

namespace {

const Node* node_of(const void* pointer) { return static_cast<const Node*>(pointer); }

// Names that RapidJSON requires. NOLINTBEGIN(readability-identifier-naming)

// RapidJSON's allocator. If memory runs out, operator new handles it safely; RapidJSON's own allocator would carry on without.
struct Memory {
  static void* Malloc(std::size_t bytes) { return operator new(bytes); }
  static void* Realloc(void* block, std::size_t old_bytes, std::size_t bytes) {
    void* const out = Malloc(bytes);
    if (block) std::memcpy(out, block, std::min(old_bytes, bytes));
    Free(block);
    return out;
  }
  static void Free(void* block) { operator delete(block); }
};
using Utf8 = rapidjson::UTF8<>;

// RapidJSON's handler. The children of open containers stay on a stack until their number is known.
class Builder : public rapidjson::BaseReaderHandler<Utf8, Builder> {
 public:
  // escapes: whether the text has \\u escapes, which can encode half a surrogate pair.
  Builder(JsonDocument& document, bool escapes) : document_(document), escapes_(escapes) {}

  bool Null() { return put({}); }
  bool Bool(bool value) {
    Node node = Node::of(Node::Kind::kBool);
    node.boolean = value;
    return put(node);
  }
  // RapidJSON's own conversions are inexact, or in their exact form unsafe: 1e-400 ends the process.
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    const auto begin = static_cast<std::size_t>(text - document_.text.data());
    if (text[size - 1] > '9') return not_finite({text, size}, begin);
    if (std::find_if(text, text + size, [](char c) { return c == '.' || c == 'e' || c == 'E'; }) == text + size) {
      Node node = Node::of(Node::Kind::kInteger, begin);
      if (std::from_chars(text, text + size, node.integer).ec == std::errc()) return put(node);
      node = Node::of(Node::Kind::kUnsigned, begin);
      if (std::from_chars(text, text + size, node.unsigned_integer).ec == std::errc()) return put(node);
    }
    Node node = Node::of(Node::Kind::kNumber, begin);
    node.number = nearest_double({text, size});
    return std::isfinite(node.number) && put(node);
  }
  bool String(const char* bytes, rapidjson::SizeType size, bool) {
    if (escapes_ && !is_utf8({bytes, size})) return false;
    Node node = Node::of(Node::Kind::kString, size);
    node.begin = static_cast<std::size_t>(bytes - document_.text.data());
    return put(node);
  }
  bool Key(const char* bytes, rapidjson::SizeType size, bool) { return String(bytes, size, true); }
  bool StartObject() { return open(); }
  bool StartArray() { return open(); }
  bool EndObject(rapidjson::SizeType) {
    keep_last_of_each_key();
    return close(Node::Kind::kObject, 2);
  }
  bool EndArray(rapidjson::SizeType) { return close(Node::Kind::kArray, 1); }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool put(Node node) {
    waiting_.push_back(node);
    if (open_.empty()) document_.root = node;
    return true;
  }
  // RapidJSON also takes Inf, -Inf and -NaN.
  bool not_finite(std::string_view word, std::size_t begin) {
    Node node = Node::of(Node::Kind::kNotFinite, word.size());
    node.begin = begin;
    return (word == "NaN" || word.ends_with("Infinity")) && put(node);
  }
  bool open() {
    open_.push_back(waiting_.size());
    return true;
  }
  static std::size_t hash_of(std::string_view key) {
    std::uint64_t hash = key.size();
    for (; key.size() > 8; key.remove_prefix(8)) hash = mixed(hash ^ word_at(key, 8));
    return static_cast<std::size_t>(mixed(hash ^ word_at(key, key.size())));
  }
  static std::uint64_t word_at(std::string_view key, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, key.data(), bytes);
    return word;
  }
  static std::uint64_t mixed(std::uint64_t hash) {
    hash *= 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
    return hash ^ (hash >> 32);
  }

  bool close(Node::Kind kind, std::size_t nodes_each) {
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(open_.back());
    const std::size_t size = static_cast<std::size_t>(waiting_.end() - begin) / nodes_each;
    if (size > UINT32_MAX) return false;
    Node node = Node::of(kind, size);
    node.begin = document_.children.size();
    document_.children.insert(document_.children.end(), begin, waiting_.end());
    waiting_.erase(begin, waiting_.end());
    open_.pop_back();
    return put(node);
  }

  // The key of member i of the innermost open object.
  std::string_view key(std::size_t i) const { return document_.text_of(waiting_[open_.back() + 2 * i]); }

  // Sets repeated[i] for each member whose key is repeated later. Returns false after so many collisions that sorting is faster.
  bool find_repeated_by_hash(std::vector<bool>& repeated) const {
    std::size_t probes_left = 8 * repeated.size();                                // one to two per key are usual
    std::vector<std::uint32_t> slots(std::bit_ceil(2 * repeated.size() + 1), 0);  // 1 + index of a member
    for (std::size_t i = 0; i < repeated.size(); ++i) {
      std::size_t slot = hash_of(key(i)) & (slots.size() - 1);
      for (; slots[slot] != 0 && key(slots[slot] - 1) != key(i); slot = (slot + 1) & (slots.size() - 1)) {
        if (probes_left-- == 0) return false;
      }
      if (slots[slot] != 0) repeated[slots[slot] - 1] = true;
      slots[slot] = static_cast<std::uint32_t>(i + 1);
    }
    return true;
  }
  void find_repeated_by_order(std::vector<bool>& repeated) const {
    std::vector<std::uint32_t> order(repeated.size());
    std::iota(order.begin(), order.end(), 0);
    const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
      const int way = key(a).compare(key(b));
      return way != 0 ? way < 0 : a < b;
    };
    std::make_heap(order.begin(), order.end(), is_before);
    std::sort_heap(order.begin(), order.end(), is_before);  // 2 kB less than std::sort, after brotli
    for (std::size_t i = 0; i + 1 < order.size(); ++i) repeated[order[i]] = key(order[i]) == key(order[i + 1]);
  }

  // The last value of a repeated key wins, as in other JSON readers.
  void keep_last_of_each_key() {
    const std::size_t begin = open_.back(), size = (waiting_.size() - begin) / 2;
    std::vector<bool> repeated(size, false);
    if (!find_repeated_by_hash(repeated)) find_repeated_by_order(repeated);
    std::size_t kept = begin;
    for (std::size_t i = 0; i < size; ++i) {
      if (repeated[i]) continue;
      waiting_[kept++] = waiting_[begin + 2 * i];
      waiting_[kept++] = waiting_[begin + 2 * i + 1];
    }
    waiting_.resize(kept);
  }

  JsonDocument& document_;
  bool escapes_;
  std::vector<Node> waiting_;
  std::vector<std::size_t> open_;  // where the children of each open container begin in waiting_
};

// Whether all of text is JSON. Nesting costs heap memory, not stack.
bool read_into(JsonDocument& document, std::string_view text) {
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseNanAndInfFlag;
  if (text.size() > UINT32_MAX) return false;  // RapidJSON's limit
  if (!is_utf8(text)) return false;            // one pass, which is faster than checking each character
  Builder builder(document, text.find("\\u") != std::string_view::npos);
  document.text = text;
  rapidjson::InsituStringStream stream(document.text.data());
  rapidjson::GenericReader<Utf8, Utf8, Memory> reader;
  return !reader.Parse<kFlags>(stream, builder).IsError() && stream.Tell() == text.size();
}

// Finds paths by address when a message needs one, so that reading does not have to track them.
bool find_path(const JsonDocument& document, const Node& from, const void* target, int depth, std::string& path) {
  constexpr int kDeepest = 64;  // messages about deeper values name no path
  if (&from == target) return true;
  const bool is_object = from.is(Node::Kind::kObject);
  if (depth == kDeepest || (!is_object && !from.is(Node::Kind::kArray))) return false;
  const std::size_t length = path.size();
  const Node* child = document.children_of(from);
  for (std::size_t i = 0; i < from.size; ++i) {
    if (is_object) {
      path += (path.empty() ? "" : ".") + std::string(document.text_of(*child++));
    } else {
      path += "[" + std::to_string(i) + "]";
    }
    if (find_path(document, *child++, target, depth + 1, path)) return true;
    path.resize(length);
  }
  return false;
}

std::string scalar_text(const JsonDocument& document, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kBool:
      return node.boolean ? "true" : "false";
    case Node::Kind::kInteger:
      return std::to_string(node.integer);
    case Node::Kind::kUnsigned:
      return std::to_string(node.unsigned_integer);
    case Node::Kind::kNumber:
      return json_text(node.number);
    case Node::Kind::kString:
      return json_text(document.text_of(node));
    case Node::Kind::kNotFinite:
      return std::string(document.text_of(node));
    default:
      return "null";
  }
}

// Appends a node as JSON text. Values nested deeper than kDeepest become null.
void append_text(const JsonDocument& document, const Node& node, int depth, std::string& out) {
  constexpr int kDeepest = 500;
  const bool is_object = node.is(Node::Kind::kObject);
  if (!is_object && !node.is(Node::Kind::kArray)) {
    out += scalar_text(document, node);
    return;
  }
  if (depth == kDeepest) {
    out += "null";
    return;
  }
  out += is_object ? '{' : '[';
  const Node* child = document.children_of(node);
  for (std::size_t i = 0; i < node.size; ++i) {
    if (i > 0) out += ',';
    if (is_object) out += scalar_text(document, *child++) + ":";
    append_text(document, *child++, depth + 1, out);
  }
  out += is_object ? '}' : ']';
}

}  // namespace

std::string json_text(double number) {
  if (!std::isfinite(number)) return "null";
  using Buffer = rapidjson::GenericStringBuffer<Utf8, Memory>;
  Buffer buffer;
  rapidjson::Writer<Buffer, Utf8, Utf8, Memory>(buffer).Double(number);
  return {buffer.GetString(), buffer.GetSize()};
}

Json::Json(std::unique_ptr<JsonDocument> document) : document_(std::move(document)) {}
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Result<Json> Json::parse(std::string_view text, std::string_view file_name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte order mark
  auto document = std::make_unique<JsonDocument>();
  document->file_name = file_name;
  if (!read_into(*document, text)) {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    const bool html = start != std::string_view::npos && text[start] == '<';
    return model_format_error(document->file_name + ": expected JSON, found " +
                              (html ? "HTML or XML (a web page in place of the file?)"
                               : text.empty()
                                   ? "an empty file"
                                   : "text that does not parse (broken or cut off, " + std::to_string(text.size()) + " bytes)"));
  }
  return Json(std::move(document));
}

JsonRef Json::root() const { return JsonRef(document_.get(), &document_->root); }

bool JsonRef::is_null() const { return !node_ || node_of(node_)->is(Node::Kind::kNull); }
bool JsonRef::is_object() const { return node_ && node_of(node_)->is(Node::Kind::kObject); }
bool JsonRef::is_array() const { return node_ && node_of(node_)->is(Node::Kind::kArray); }
bool JsonRef::is_string() const { return node_ && node_of(node_)->is(Node::Kind::kString); }
bool JsonRef::is_bool() const { return node_ && node_of(node_)->is(Node::Kind::kBool); }
bool JsonRef::is_number() const { return node_ && node_of(node_)->is_number(); }

JsonRef JsonRef::operator[](std::string_view key) const {
  JsonRef member(document_, nullptr);
  member.parent_ = node_ ? node_ : parent_;
  member.missing_key_ = node_ ? key : missing_key_;  // messages name the first absent key of a chain
  if (!is_object()) return member;
  const Node& object = *node_of(node_);
  const Node* child = document_->children_of(object);
  for (std::size_t i = 0; i < object.size && !member.node_; ++i, child += 2) {
    if (document_->text_of(*child) == key) member.node_ = child + 1;
  }
  return member;
}

JsonRef JsonRef::operator[](std::size_t index) const {
  JsonRef element(document_, nullptr);
  element.parent_ = node_ ? node_ : parent_;
  element.missing_key_ = missing_key_;
  if (is_array() && index < size()) element.node_ = document_->children_of(*node_of(node_)) + index;
  return element;
}

std::size_t JsonRef::size() const { return is_array() || is_object() ? node_of(node_)->size : 0; }

Result<std::string_view> JsonRef::as_string() const {
  if (!is_string()) return mismatch("a string");
  return document_->text_of(*node_of(node_));
}

Result<std::int64_t> JsonRef::as_int() const {
  if (node_ && node_of(node_)->is(Node::Kind::kUnsigned)) return mismatch("an integer below 2^63");
  if (!node_ || !node_of(node_)->is(Node::Kind::kInteger)) return mismatch("an integer");
  return node_of(node_)->integer;
}

Result<double> JsonRef::as_number() const {
  if (!is_number()) return mismatch("a number");
  const Node& node = *node_of(node_);
  return node.is(Node::Kind::kNumber)    ? node.number
         : node.is(Node::Kind::kInteger) ? static_cast<double>(node.integer)
                                         : static_cast<double>(node.unsigned_integer);
}

std::string_view JsonRef::number_text() const {
  if (!is_number()) return {};
  const std::string_view rest = std::string_view(document_->text).substr(node_of(node_)->size);
  return rest.substr(0, rest.find_first_not_of("+-.0123456789Ee"));
}

Result<bool> JsonRef::as_bool() const {
  if (!is_bool()) return mismatch("true or false");
  return node_of(node_)->boolean;
}

Result<std::string_view> JsonRef::as_string_or(std::string_view fallback) const {
  return is_null() ? Result<std::string_view>(fallback) : as_string();
}
Result<std::int64_t> JsonRef::as_int_or(std::int64_t fallback) const {
  return is_null() ? Result<std::int64_t>(fallback) : as_int();
}
Result<double> JsonRef::as_number_or(double fallback) const { return is_null() ? Result<double>(fallback) : as_number(); }
Result<bool> JsonRef::as_bool_or(bool fallback) const { return is_null() ? Result<bool>(fallback) : as_bool(); }

std::vector<std::pair<std::string_view, JsonRef>> JsonRef::members() const {
  std::vector<std::pair<std::string_view, JsonRef>> out;
  if (!is_object()) return out;
  out.reserve(size());
  const Node* child = document_->children_of(*node_of(node_));
  for (std::size_t i = 0; i < size(); ++i, child += 2) out.emplace_back(document_->text_of(*child), JsonRef(document_, child + 1));
  return out;
}

std::string JsonRef::where() const {
  if (!document_) return "JSON";
  std::string path;
  find_path(*document_, document_->root, node_ ? node_ : parent_, 0, path);
  if (!node_ && !missing_key_.empty()) path += (path.empty() ? "" : ".") + std::string(missing_key_);
  return document_->file_name + (path.empty() ? "" : ": " + path);
}

std::string JsonRef::describe() const {
  if (!node_) return "nothing";
  if (is_object()) return "an object";
  if (is_array()) return "an array of " + std::to_string(size());
  if (is_string()) return shown_text(document_->text_of(*node_of(node_)));
  return scalar_text(*document_, *node_of(node_));
}

std::string JsonRef::to_text() const {
  if (!node_) return "null";
  std::string out;
  append_text(*document_, *node_of(node_), 0, out);
  return out;
}

Error JsonRef::mismatch(std::string_view expected) const {
  return model_format_error(where() + ": expected " + std::string(expected) + ", found " + describe());
}

}  // namespace wattn
