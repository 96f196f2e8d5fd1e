#include "core/json.h"

#include <nlohmann/json.hpp>

namespace wattn {

using Node = nlohmann::json;

struct JsonDocument {
  std::string file_name;
  Node root;
};

namespace {

const Node* node_of(const void* pointer) { return static_cast<const Node*>(pointer); }

// Paths are found by address when a message needs one, so that reading carries no cost for them.
bool find_path(const Node& from, const void* target, int depth, std::string& path) {
  constexpr int kDeepest = 64;  // deeper values are still read, only named less exactly
  if (&from == target) return true;
  if (depth == kDeepest || !from.is_structured()) return false;
  const std::size_t length = path.size();
  std::size_t index = 0;
  for (auto it = from.begin(); it != from.end(); ++it, ++index) {
    if (from.is_object()) {
      path += (path.empty() ? "" : ".") + it.key();
    } else {
      path += "[" + std::to_string(index) + "]";
    }
    if (find_path(*it, target, depth + 1, path)) return true;
    path.resize(length);
  }
  return false;
}

}  // namespace

std::string json_text(std::string_view text) { return Node(text).dump(-1, ' ', false, Node::error_handler_t::replace); }
std::string json_text(double number) { return Node(number).dump(); }

Json::Json(std::unique_ptr<JsonDocument> document) : document_(std::move(document)) {}
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Result<Json> Json::parse(std::string_view text, std::string_view file_name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark, as editors leave it
  auto document = std::make_unique<JsonDocument>();
  document->file_name = file_name;
  document->root = Node::parse(text.begin(), text.end(), nullptr, false);
  if (document->root.is_discarded()) {
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

bool JsonRef::is_null() const { return !node_ || node_of(node_)->is_null(); }
bool JsonRef::is_object() const { return node_ && node_of(node_)->is_object(); }
bool JsonRef::is_array() const { return node_ && node_of(node_)->is_array(); }
bool JsonRef::is_string() const { return node_ && node_of(node_)->is_string(); }
bool JsonRef::is_bool() const { return node_ && node_of(node_)->is_boolean(); }
bool JsonRef::is_number() const { return node_ && node_of(node_)->is_number(); }

JsonRef JsonRef::operator[](std::string_view key) const {
  JsonRef member(document_, nullptr);
  member.parent_ = node_ ? node_ : parent_;
  member.missing_key_ = node_ ? key : missing_key_;  // of a chain of absent keys, the first is the one to name
  if (!is_object()) return member;
  const Node& object = *node_of(node_);
  const auto it = object.find(key);
  if (it != object.end()) member.node_ = &*it;
  return member;
}

JsonRef JsonRef::operator[](std::size_t index) const {
  JsonRef element(document_, nullptr);
  element.parent_ = node_ ? node_ : parent_;
  element.missing_key_ = missing_key_;
  if (is_array() && index < node_of(node_)->size()) element.node_ = &(*node_of(node_))[index];
  return element;
}

std::size_t JsonRef::size() const { return is_array() || is_object() ? node_of(node_)->size() : 0; }

Result<std::string_view> JsonRef::as_string() const {
  if (!is_string()) return mismatch("a string");
  return std::string_view(*node_of(node_)->get_ptr<const std::string*>());
}

Result<std::int64_t> JsonRef::as_int() const {
  if (node_ && node_of(node_)->is_number_unsigned() &&
      *node_of(node_)->get_ptr<const std::uint64_t*>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return mismatch("an integer below 2^63");
  }
  if (!node_ || !node_of(node_)->is_number_integer()) return mismatch("an integer");
  return node_of(node_)->get<std::int64_t>();
}

Result<double> JsonRef::as_number() const {
  if (!is_number()) return mismatch("a number");
  return node_of(node_)->get<double>();
}

Result<bool> JsonRef::as_bool() const {
  if (!is_bool()) return mismatch("true or false");
  return node_of(node_)->get<bool>();
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
  for (auto it = node_of(node_)->begin(); it != node_of(node_)->end(); ++it) {
    out.emplace_back(std::string_view(it.key()), JsonRef(document_, &*it));
  }
  return out;
}

std::string JsonRef::where() const {
  if (!document_) return "JSON";
  std::string path;
  find_path(document_->root, node_ ? node_ : parent_, 0, path);
  if (!node_ && !missing_key_.empty()) path += (path.empty() ? "" : ".") + std::string(missing_key_);
  return document_->file_name + (path.empty() ? "" : ": " + path);
}

std::string JsonRef::describe() const {
  constexpr std::size_t kLongest = 60;
  if (!node_) return "nothing";
  if (is_object()) return "an object";
  if (is_array()) return "an array of " + std::to_string(size());
  std::string text = node_of(node_)->dump(-1, ' ', true, Node::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string JsonRef::to_text() const {
  return node_ ? node_of(node_)->dump(-1, ' ', false, Node::error_handler_t::replace) : "null";
}

Error JsonRef::mismatch(std::string_view expected) const {
  return model_format_error(where() + ": expected " + std::string(expected) + ", found " + describe());
}

}  // namespace wattn
