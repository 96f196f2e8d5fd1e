// build: -Oz
#include "core/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "core/json.h"
#include "core/utf.h"

namespace wattn {
namespace {

constexpr std::uint32_t kString = 8, kArray = 9;
constexpr std::size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // [type] bytes; 0: the file has the length

double to_number(std::uint32_t type, std::uint64_t bits) {
  switch (type) {
    case 1:
      return static_cast<std::int8_t>(bits);
    case 3:
      return static_cast<std::int16_t>(bits);
    case 5:
      return static_cast<std::int32_t>(bits);
    case 6:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case 11:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case 12:
      return std::bit_cast<double>(bits);
    default:
      return static_cast<double>(bits);
  }
}

}  // namespace

// Not byte by byte: a packed model's header has a hundred thousand numbers, most of them lengths, and is read before the engine
// optimises.
std::uint64_t GgufReader::number(std::size_t bytes) {
  std::uint64_t value = 0;
  const std::string_view taken = take(bytes);
  if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
  return value;
}

Result<GgufMetadata> GgufMetadata::read(std::string_view bytes) {
  GgufReader in{bytes};
  if (in.take(4) != "GGUF") return model_format_error("GGUF: expected a file that begins with \"GGUF\"");
  const std::uint64_t version = in.number(4);
  if (version != 2 && version != 3) return unsupported_error("GGUF: expected version 2 or 3, found " + std::to_string(version));
  GgufMetadata out;
  out.tensor_count_ = in.number(8);
  const std::uint64_t count = in.number(8);
  for (std::uint64_t i = 0; i < count && !in.cut_off; ++i) {
    Entry entry{in.string(), static_cast<std::uint32_t>(in.number(4)), 1, false, {}};
    if (entry.type == kArray) {
      entry.is_array = true;
      entry.type = static_cast<std::uint32_t>(in.number(4));
      entry.count = in.number(8);
    }
    if (entry.type > 12 || entry.type == kArray) {
      return model_format_error("GGUF: " + std::string(entry.key) + ": expected a value of a known type, found type " +
                                std::to_string(entry.type));
    }
    const std::string_view begin = in.rest;
    if (entry.type == kString) {
      for (std::uint64_t k = 0; k < entry.count && !in.cut_off; ++k) in.string();
    } else {
      const std::uint64_t size = kSizes[entry.type];
      in.take(entry.count > bytes.size() ? UINT64_MAX : entry.count * size);
    }
    entry.data = begin.substr(0, begin.size() - in.rest.size());
    if (!in.cut_off) out.entries_.push_back(entry);
  }
  out.is_cut_off_ = in.cut_off;
  out.rest_ = in.rest;
  return out;
}

const GgufMetadata::Entry* GgufMetadata::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::optional<std::string_view> GgufMetadata::string(std::string_view key) const {
  const Entry* entry = find(key);
  if (!entry || entry->is_array || entry->type != kString) return std::nullopt;
  return GgufReader{entry->data}.string();
}

std::optional<double> GgufMetadata::number(std::string_view key) const {
  const Entry* entry = find(key);
  if (!entry || entry->is_array || entry->type == kString) return std::nullopt;
  return to_number(entry->type, GgufReader{entry->data}.number(kSizes[entry->type]));
}

std::vector<std::string_view> GgufMetadata::strings(std::string_view key) const {
  std::vector<std::string_view> out;
  const Entry* entry = find(key);
  if (!entry || !entry->is_array || entry->type != kString) return out;
  GgufReader in{entry->data};
  for (std::uint64_t i = 0; i < entry->count; ++i) out.push_back(in.string());
  return out;
}

std::vector<double> GgufMetadata::numbers(std::string_view key) const {
  std::vector<double> out;
  const Entry* entry = find(key);
  if (!entry || !entry->is_array || entry->type == kString) return out;
  GgufReader in{entry->data};
  for (std::uint64_t i = 0; i < entry->count; ++i) out.push_back(to_number(entry->type, in.number(kSizes[entry->type])));
  return out;
}

std::string_view GgufMetadata::bytes(std::string_view key) const {
  const Entry* entry = find(key);
  return entry && entry->is_array && entry->type < 2 ? entry->data : std::string_view();
}

bool GgufMetadata::has_word_pieces() const { return string("tokenizer.ggml.model").value_or("") == "bert"; }

std::vector<std::string_view> GgufMetadata::pieces(std::size_t count, std::string& buffer) const {
  constexpr double kControl = 3;
  constexpr std::string_view kContinues = "##";
  // llama.cpp marks the pieces that begin a word, WordPiece those that continue one.
  const bool marked = has_word_pieces();
  std::vector<std::string_view> tokens = strings("tokenizer.ggml.tokens");
  tokens.resize(std::min(count, tokens.size()));
  const std::vector<double> kinds = numbers("tokenizer.ggml.token_type");
  std::size_t bytes = 0;
  for (const std::string_view token : tokens) bytes += token.size() + kContinues.size();
  buffer.clear();
  buffer.reserve(bytes);  // views stay valid
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    std::string_view& token = tokens[id];
    if (!is_utf8(token)) {
      token = {};
    } else if (marked && !(id < kinds.size() && kinds[id] == kControl)) {
      if (token.starts_with("\xE2\x96\x81")) {
        token.remove_prefix(3);
      } else {
        const std::size_t begin = buffer.size();
        buffer += kContinues;
        buffer += token;
        token = std::string_view(buffer).substr(begin);
      }
    }
  }
  return tokens;
}

void GgufMetadata::fill_tokenizer(std::string& json) const {
  constexpr std::string_view kVocab = R"({"tokenizer.ggml.tokens":)", kMerges = R"("tokenizer.ggml.merges")";
  if (const std::size_t at = json.find(kVocab); at != std::string::npos) {
    std::size_t end = at + kVocab.size(), count = 0;
    for (; end < json.size() && json[end] >= '0' && json[end] <= '9' && count < 1 << 24; ++end) {
      count = 10 * count + static_cast<std::size_t>(json[end] - '0');
    }
    std::string buffer, vocab = "{";
    const std::vector<std::string_view> tokens = pieces(count, buffer);
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].data()) vocab += (vocab.size() > 1 ? "," : "") + json_text(tokens[id]) + ":" + std::to_string(id);
    }
    json.replace(at, end + 1 - at, vocab + "}");
  }
  if (const std::size_t at = json.find(kMerges); at != std::string::npos) {
    std::string merges = "[";
    for (const std::string_view merge : strings("tokenizer.ggml.merges")) {
      if (is_utf8(merge)) merges += (merges.size() > 1 ? "," : "") + json_text(merge);
    }
    json.replace(at, kMerges.size(), merges + "]");
  }
}

std::vector<std::pair<std::string, std::string>> GgufMetadata::packed_files(bool fills) const {
  const std::vector<std::string_view> names = strings("wattn.files"), contents = strings("wattn.contents");
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t i = 0; i < names.size() && i < contents.size(); ++i) {
    auto& [name, content] = out.emplace_back(names[i], contents[i]);
    if (name == "tokenizer.json" && (fills || !has_word_pieces())) fill_tokenizer(content);
  }
  return out;
}

}  // namespace wattn
