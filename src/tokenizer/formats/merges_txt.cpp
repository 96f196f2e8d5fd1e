// build: -Oz
// vocab.json and merges.txt: a BPE.
#include <algorithm>

#include "core/utf.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

std::string merges_json(std::string_view merges) {
  std::string out;
  while (!merges.empty()) {
    const std::size_t end = std::min(merges.find('\n'), merges.size());
    std::string_view line = merges.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) out += (out.empty() ? "" : ", ") + json_text(line);
    merges.remove_prefix(std::min(end + 1, merges.size()));
  }
  return "[" + out + "]";
}

}  // namespace

Result<Converted> from_vocab_and_merges(std::string_view vocab_file, std::string_view merges) {
  const Result<Json> document = Json::parse(vocab_file, "vocab.json");
  if (!document.ok()) return document.error();
  const JsonRef vocab = document.value().root();
  if (!vocab.is_object()) return vocab.mismatch("an object of tokens and their ids");
  if (!is_utf8(merges)) return model_format_error("merges.txt: expected UTF-8, found other bytes");
  if (vocab_file.starts_with("\xEF\xBB\xBF")) vocab_file.remove_prefix(3);
  return Converted{tokenizer_json({.model = bpe_json({.vocab = std::string(vocab_file), .merges = merges_json(merges)})})};
}

// By </w> at the end of words, or RoBERTa's <mask>.
Result<std::string_view> class_of_vocab(std::string_view vocab_file) {
  const Result<Json> document = Json::parse(vocab_file, "vocab.json");
  if (!document.ok()) return document.error();
  const JsonRef vocab = document.value().root();
  if (!vocab.is_object()) return vocab.mismatch("an object of tokens and their ids");
  const auto members = vocab.members();
  if (std::any_of(members.begin(), members.end(), [](const auto& member) { return member.first.ends_with("</w>"); })) {
    return std::string_view(vocab["<|startoftext|>"].exists() ? "CLIPTokenizer" : "OpenAIGPTTokenizer");
  }
  const bool is_roberta = vocab["<mask>"].exists() && vocab["<s>"].exists() && vocab["</s>"].exists();
  return std::string_view(is_roberta ? "RobertaTokenizer" : "GPT2Tokenizer");
}

}  // namespace wattn
