// build: -Oz
#include "tokenizer/formats/converters.h"

#include <algorithm>
#include <iterator>

#include "core/json.h"

namespace wattn {
namespace {

// The patterns split the text one after the other (from llama.cpp's src/llama-vocab.cpp, which has them from tokenizer.json files).
constexpr const char* kFalcon[] = {R"([\p{P}\$\+<=>\^~\|`]+)",
                                   R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))", "[0-9][0-9][0-9]"};
constexpr const char* kLlama3[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr const char* kQwen2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr const char* kQwen35[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr const char* kTekken[] = {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                                   R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                                   R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr const char* kGpt4o[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr const char* kDigit[] = {R"(\p{N})"};
constexpr const char* kDeepseekLlm[] = {
    R"([\r\n])",
    ("\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1F7Dᾀ-ᾴᾶ-ᾼ\u1FBEῂ-"
     "ῄῆ-"
     "ῌῐ-\u1FD3ῖ-\u1FDBῠ-Ῥῲ-ῴῶ-ῼ"
     "ℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212A-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"),
    "\\s?[!-/:-~！-／：-～‘-‟　-。]+",
    R"(\s+$)",
    "[一-龥ࠀ-一가-퟿]+",
    R"(\p{N}+)"};
constexpr const char* kDeepseekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[一-龥ࠀ-一가-퟿]+", R"(\p{N})"};
constexpr const char* kDeepseek3[] = {
    R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+",
    (R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)")};

struct Kind {
  std::string_view names;  // with a space before and after each
  const char* const* patterns;
  std::size_t count;
  bool gpt2_last;  // then split with ByteLevel's own pattern
  bool ignore_merges, add_bos;
};
constexpr Kind kKinds[] = {
    {" gpt-2 phi-2 mpt olmo jina-es jina-de jina-v2-es jina-v2-de modern-bert roberta-bpe jina-v1-en jina-v2-code ", nullptr, 0,
     true, false, false},
    {" smollm starcoder refact command-r codeshell exaone ", kDigit, 1, true, false, false},
    {" falcon ", kFalcon, std::size(kFalcon), false, false, false},
    {" llama-bpe llama3 llama-v3 dbrx smaug-bpe ", kLlama3, 1, false, true, true},
    {" qwen2 deepseek-r1-qwen stablelm2 ", kQwen2, 1, false, false, false},
    {" tekken ", kTekken, 1, false, true, true},
    {" gpt-4o llama4 ", kGpt4o, 1, false, true, false},
    {" deepseek-llm ", kDeepseekLlm, std::size(kDeepseekLlm), false, false, true},
    {" deepseek-coder ", kDeepseekCoder, std::size(kDeepseekCoder), false, false, true},
    {" qwen35 ", kQwen35, 1, false, false, false},
    {" deepseek-v3 ", kDeepseek3, std::size(kDeepseek3), false, false, true},
};

}  // namespace

Result<GgufPre> gguf_pre(std::string_view name) {
  std::string known;
  for (const Kind& kind : kKinds) {
    known += kind.names.substr(0, kind.names.size() - 1);
    if (name.empty() || name.find(' ') != std::string_view::npos) continue;
    if (kind.names.find(" " + std::string(name) + " ") == std::string_view::npos) continue;
    std::string steps;
    for (std::size_t i = 0; i < kind.count; ++i) {
      steps += R"({"type": "Split", "pattern": {"Regex": )" + json_text(kind.patterns[i]) +
               R"(}, "behavior": "Isolated", "invert": false}, )";
    }
    const std::string bytes = R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": )";
    steps.append(bytes).append(kind.gpt2_last ? "true" : "false");
    return GgufPre{R"({"type": "Sequence", "pretokenizers": [)" + steps + "}]}", kind.ignore_merges, kind.add_bos};
  }
  return unsupported_error("GGUF: tokenizer.ggml.pre: expected one of" + known + ", found " + shown_text(name));
}

}  // namespace wattn
