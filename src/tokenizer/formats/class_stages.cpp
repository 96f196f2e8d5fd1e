// build: -Oz
#include "tokenizer/formats/class_stages.h"

#include "core/fields.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

std::string plain(std::string_view type) { return concat({"{\"type\": \"", type, "\"}"}); }

std::string replace(std::string_view kind, std::string_view pattern, std::string_view content) {
  return concat(
      {R"({"type": "Replace", "pattern": {")", kind, "\": ", json_text(pattern), "}, \"content\": ", json_text(content), "}"});
}

std::string spaces_replaced(std::string_view content) { return replace("Regex", " {2,}", content); }

std::string bert_normalizer(bool clean, bool chinese, std::string_view accents, bool lowercases) {
  return concat({R"({"type": "BertNormalizer", "clean_text": )", json_bool(clean), ", \"handle_chinese_chars\": ",
                 json_bool(chinese), ", \"strip_accents\": ", accents, ", \"lowercase\": ", json_bool(lowercases), "}"});
}

std::string metaspace(std::string_view scheme, bool splits = true) {
  return concat(
      {R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")", scheme, "\", \"split\": ", json_bool(splits), "}"});
}

std::string byte_level(bool add_prefix_space, bool use_regex = true) {
  return concat({R"({"type": "ByteLevel", "trim_offsets": true, "add_prefix_space": )", json_bool(add_prefix_space),
                 ", \"use_regex\": ", json_bool(use_regex), "}"});
}

constexpr std::string_view kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kClipPattern =
    R"(<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";

std::string split(std::string_view pattern, std::string_view behavior, bool inverts) {
  return concat({R"({"type": "Split", "pattern": {"Regex": )", json_text(pattern), "}, \"behavior\": \"", behavior,
                 "\", \"invert\": ", json_bool(inverts), "}"});
}

// Settings with the defaults of each class.
class Settings {
 public:
  Settings(const ClassFolder& folder, std::string_view charsmap)
      : folder_(folder), name_(folder.rules.name), fields_(folder.settings), charsmap_(charsmap) {}

  bool ok() const { return fields_.ok(); }
  const Error& error() const { return fields_.error(); }

  void normalizer(char letter, std::vector<std::string>& out) {
    const auto lowercases = [&](bool fallback) { return fields_.boolean_or("do_lower_case", fallback); };
    const bool is_albert = name_ == "AlbertTokenizer";
    switch (letter) {
      case 'b':
        out.push_back(bert(lowercases(folder_.lowercases)));
        break;
      case 'D':
        out.push_back(bert(true));
        break;
      case 'B':
        out.push_back(bert_normalizer(true, true, "null", true));
        break;
      case 'C':
        out.push_back(bert_normalizer(true, true, "false", false));
        break;
      case 'n':
        out.push_back(plain("NFC"));
        break;
      case 'x':
        out.push_back(replace("Regex", "\\s+", " "));
        break;
      case 'L':
        out.push_back(plain("Lowercase"));
        break;
      case 'l':
        if (lowercases(is_albert)) out.push_back(plain("Lowercase"));
        break;
      case 'g':
        out.push_back(replace("String", " ", "▁"));
        break;
      case 'c':
        precompiled(out);
        break;
      case 's':
        out.push_back(spaces_replaced(" "));
        break;
      case 'S':
        if (precompiled(out)) out.push_back(spaces_replaced(" "));
        break;
      case 'p':
        if (!precompiled(out)) out.push_back(replace("Regex", "\\n", " "));
        out.push_back(spaces_replaced(" "));
        break;
      case 'q':
        out.push_back(replace("String", "``", "\""));
        out.push_back(replace("String", "''", "\""));
        break;
      case 'a':
        if (fields_.boolean_or("keep_accents", !is_albert)) break;
        [[fallthrough]];
      case 'A':
        out.push_back(plain("NFKD"));
        out.push_back(plain("StripAccents"));
        break;
      case 'u':
        out.push_back(spaces_replaced("▁"));
        break;
      case 'o':
        out.push_back(replace("Regex", "\\s{2,}|[\\n\\r\\t]", " "));
        out.push_back(plain("NFC"));
        break;
      default:
        out.push_back(R"({"type": "Strip", "strip_left": false, "strip_right": true})");  // r
    }
  }

  void pre_tokenizer(char letter, std::vector<std::string>& out) {
    switch (letter) {
      case 'b':
        out.push_back(plain("BertPreTokenizer"));
        break;
      case 'y':
        out.push_back(byte_level(name_ != "CLIPTokenizer" && prefix_space(name_ == "BlenderbotTokenizer")));
        break;
      case 'x':
        out.push_back(split(kQwenPattern, "Isolated", false));
        break;
      case 'z':
        out.push_back(byte_level(prefix_space(false), false));
        break;
      case 'k':
        out.push_back(split(kClipPattern, "Removed", true));
        break;
      case 'd':
        out.push_back(R"({"type": "Digits", "individual_digits": true})");
        break;
      case 'w':
        out.push_back(plain("WhitespaceSplit"));
        break;
      case 'p':
        if (fields_.boolean_or("split_by_punct", false)) out.push_back(R"({"type": "Punctuation", "behavior": "Isolated"})");
        break;
      case 'g':
        out.push_back(R"({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false})");
        break;
      case 'L':
        out.push_back(metaspace(!prefix_space(true) ? "never" : fields_.boolean_or("legacy", false) ? "always" : "first", false));
        break;
      default:
        out.push_back(space_mark(letter));
    }
  }

  void decoder(char letter, std::vector<std::string>& out) {
    switch (letter) {
      case 'w':
        out.push_back(R"({"type": "WordPiece", "cleanup": true, "prefix": "##"})");
        break;
      case 'y':
        out.push_back(byte_level(true));
        break;
      case 'k':
        out.push_back(byte_level(true));
        out.push_back(R"({"type": "WordEnd", "suffix": "</w>"})");
        break;
      case 'e':
        out.push_back(R"({"type": "BPEDecoder", "suffix": "</w>"})");
        break;
      case 'l':
      case 'g':
        out.push_back(replace("String", "▁", " "));
        out.push_back(plain("ByteFallback"));
        out.push_back(plain("Fuse"));
        if (letter == 'l' && prefix_space(true)) out.push_back(R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})");
        break;
      default:
        out.push_back(space_mark(letter));
    }
  }

 private:
  bool prefix_space(bool fallback) { return fields_.boolean_or("add_prefix_space", fallback); }

  std::string bert(bool lowercases) {
    const JsonRef accents = fields_["strip_accents"];
    const bool strips = fields_.boolean_or("strip_accents", false);
    return bert_normalizer(true, fields_.boolean_or("tokenize_chinese_chars", true),
                           accents.is_null() ? std::string_view("null") : json_bool(strips), lowercases);
  }

  bool precompiled(std::vector<std::string>& out) {
    if (charsmap_.empty()) return false;
    out.push_back(concat({R"({"type": "Precompiled", "precompiled_charsmap": ")", charsmap_, "\"}"}));
    return true;
  }

  std::string space_mark(char letter) {  // m: always, M and f: by add_prefix_space
    const bool adds = letter == 'm' || prefix_space(true);
    return metaspace(adds ? "always" : letter == 'f' ? "first" : "never");
  }

  const ClassFolder& folder_;
  std::string_view name_;
  Fields fields_;
  std::string_view charsmap_;
};

using AddStage = void (Settings::*)(char, std::vector<std::string>&);

// One component, a sequence of several, or null. list: the key of a sequence's components.
std::string stage(Settings& settings, std::string_view letters, AddStage add, std::string_view list) {
  std::vector<std::string> parts;
  for (const char letter : letters) (settings.*add)(letter, parts);
  if (parts.size() < 2) return parts.empty() ? "null" : parts[0];
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return concat({"{\"type\": \"Sequence\", \"", list, "\": [", out, "]}"});
}

}  // namespace

std::string_view charsmap_of(JsonRef file) {
  const JsonRef normalizer = file["normalizer"], list = normalizer["normalizers"];
  for (std::size_t i = 0; i < (list.is_array() ? list.size() : 1); ++i) {
    const JsonRef each = list.is_array() ? list[i] : normalizer;
    const Result<std::string_view> table = each["precompiled_charsmap"].as_string_or("");
    if (table.ok() && !table.value().empty()) return table.value();
  }
  return {};
}

Result<std::string> class_stages(const ClassFolder& folder, std::string_view charsmap) {
  const ClassRules& rules = folder.rules;
  Settings settings(folder, charsmap);
  const std::string out =
      concat({"\"normalizer\": ", stage(settings, rules.normalizer, &Settings::normalizer, "normalizers"),
              ", \"pre_tokenizer\": ", stage(settings, rules.pre_tokenizer, &Settings::pre_tokenizer, "pretokenizers"),
              ", \"decoder\": ", stage(settings, rules.decoder, &Settings::decoder, "decoders"), ", "});
  if (!settings.ok()) return settings.error();
  return out;
}

}  // namespace wattn
