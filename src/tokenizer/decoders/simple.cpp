// build: -Oz
// WordPiece, Metaspace, BPEDecoder, Fuse, Strip, Replace, CTC: decoders of a few lines each.
#include <algorithm>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/decoders/clean_up.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/metaspace.h"
#include "tokenizer/pattern.h"

namespace wattn {
namespace {

// A token that begins with the prefix continues the word; any other except the first gets a space before it.
class WordPieceDecoder : public TokenDecoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}

  char* write(std::string_view token, bool is_first, char* out) const override {
    char* const begin = out;
    if (!is_first && token.starts_with(prefix_)) {
      token.remove_prefix(prefix_.size());
    } else if (!is_first) {
      *out++ = ' ';
    }
    for (const char c : token) *out++ = c;
    if (!cleanup_ || !may_need_clean_up({begin, out})) return out;
    std::string own(begin, out);
    clean_up_wordpiece(own);
    return std::copy(own.begin(), own.end(), begin);
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

// Replaces the visible character with a space; in the first token it is removed, unless the pre-tokenizer never inserts it.
class MetaspaceDecoder : public TokenDecoder {
 public:
  explicit MetaspaceDecoder(MetaspaceSettings settings)
      : mark_(to_utf8(std::u32string(1, settings.replacement))), drops_first_(settings.prepend != PrependScheme::kNever) {}
  char* write(std::string_view token, bool is_first, char* out) const override {
    for (std::size_t i = 0; i < token.size();) {
      if (token[i] != mark_[0] || !token.substr(i).starts_with(mark_)) {
        *out++ = token[i++];
        continue;
      }
      if (!is_first || !drops_first_) *out++ = ' ';
      i += mark_.size();
    }
    return out;
  }

 private:
  std::string mark_;
  bool drops_first_;
};

// Replaces the suffix that ends a word with a space; in the last token it is removed.
class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  bool decode(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    return true;
  }

 private:
  std::string suffix_;
};

class Fuse : public Decoder {
 public:
  bool decode(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {std::move(all)};
    return true;
  }
  Sees sees() const override { return Sees::kText; }
};

// Removes a character up to `start` times from the beginning of every token, and up to `stop` times from its end.
class StripDecoder : public Decoder {
 public:
  StripDecoder(char32_t content, std::int32_t start, std::int32_t stop)
      : content_(to_utf8(std::u32string(1, content))), start_(start), stop_(stop) {}
  bool decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (std::int32_t i = 0; i < start_ && rest.starts_with(content_); ++i) rest.remove_prefix(content_.size());
      for (std::int32_t i = 0; i < stop_ && rest.ends_with(content_); ++i) rest.remove_suffix(content_.size());
      token = std::string(rest);
    }
    return true;
  }
  Sees sees() const override { return Sees::kToken; }

 private:
  std::string content_;
  std::int32_t start_, stop_;
};

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::u32string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  bool decode(std::vector<std::string>& tokens) const override {
    std::vector<TextMatch> matches;
    std::size_t grown = 0;  // characters, of all tokens together
    for (std::string& token : tokens) {
      const std::u32string text = to_utf32(token);
      matches.clear();
      if (!text.empty()) pattern_.find_all(text, matches);
      if (matches.empty()) continue;
      grown += text.size() + matches.size() * content_.size();
      if (grown > kMostDecodedBytes / 4) return false;
      std::u32string out;
      std::size_t position = 0;
      for (const TextMatch& match : matches) {
        out.append(text, position, match.begin - position).append(content_);
        position = match.end;
      }
      token = to_utf8(out.append(text, position));
    }
    return true;
  }
  Sees sees() const override { return Sees::kToken; }

 private:
  Pattern pattern_;
  std::u32string content_;
};

// For speech models (connectionist temporal classification): joins equal neighbours and removes the padding token.
class Ctc : public Decoder {
 public:
  Ctc(std::string pad_token, std::string word_delimiter, bool cleanup)
      : pad_token_(std::move(pad_token)), word_delimiter_(std::move(word_delimiter)), cleanup_(cleanup) {}
  bool decode(std::vector<std::string>& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      replace_all(token, pad_token_, "");
      if (!cleanup_) continue;
      clean_up_wordpiece(token);
      replace_all(token, word_delimiter_, " ");
    }
    tokens.erase(std::remove(tokens.begin(), tokens.end(), std::string()), tokens.end());
    return true;
  }

 private:
  std::string pad_token_, word_delimiter_;
  bool cleanup_;
};

// A string to search for, which must not be empty.
std::string read_wanted(Fields& fields, std::string_view key) {
  const std::string_view text = fields.string(key);
  if (fields.ok() && text.empty()) fields.fail(fields[key].mismatch("a non-empty string"));
  return std::string(text);
}

}  // namespace

DecoderResult read_wordpiece_decoder(JsonRef json, int) {
  Fields fields(json, {"prefix", "cleanup"});
  const std::string_view prefix = fields.string("prefix");
  const bool cleanup = fields.boolean("cleanup");
  return make_component<Decoder, WordPieceDecoder>(fields, std::string(prefix), cleanup);
}

DecoderResult read_metaspace_decoder(JsonRef json, int) {
  const Result<MetaspaceSettings> settings = read_metaspace_settings(json);
  if (!settings.ok()) return settings.error();
  return DecoderResult(std::make_unique<MetaspaceDecoder>(settings.value()));
}

DecoderResult read_bpe_decoder(JsonRef json, int) {
  Fields fields(json, {"suffix"});
  std::string suffix = read_wanted(fields, "suffix");
  return make_component<Decoder, BpeDecoder>(fields, std::move(suffix));
}

DecoderResult read_fuse(JsonRef json, int depth) { return read_plain<Decoder, Fuse>(json, depth); }

DecoderResult read_strip_decoder(JsonRef json, int) {
  Fields fields(json, {"content", "start", "stop"});
  const char32_t content = fields.character("content");
  const std::int32_t start = fields.id("start"), stop = fields.id("stop");
  return make_component<Decoder, StripDecoder>(fields, content, start, stop);
}

DecoderResult read_replace_decoder(JsonRef json, int) {
  Fields fields(json, {"pattern", "content"});
  const std::string_view content = fields.string("content");
  Pattern pattern = fields.take(Pattern::from_json(fields["pattern"]));
  return make_component<Decoder, ReplaceDecoder>(fields, std::move(pattern), to_utf32(content));
}

DecoderResult read_ctc(JsonRef json, int) {
  Fields fields(json, {"pad_token", "word_delimiter_token", "cleanup"});
  std::string pad_token = read_wanted(fields, "pad_token");
  std::string word_delimiter = read_wanted(fields, "word_delimiter_token");
  const bool cleanup = fields.boolean("cleanup");
  return make_component<Decoder, Ctc>(fields, std::move(pad_token), std::move(word_delimiter), cleanup);
}

}  // namespace wattn
