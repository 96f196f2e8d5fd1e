// The classes whose tokenizer.json a small WebAssembly reads. tests/native/tokenizer/plain_test.cpp compares them with
// class_stages.cpp.
#pragma once

#include <array>
#include <string_view>

#include "tokenizer/formats/class_names.h"

namespace wattn {

struct PlainClass {
  const ClassNames& names;
  // Members of a tokenizer.json, in parts. A key that ends in '?' may be absent. @unk: the token of a role, &sep: its id,
  // @do_lower_case=true: a setting and its default.
  std::array<std::string_view, 6> stages;
  std::string_view post{};       // the post-processor; empty: the template in names
  std::string_view only_true{};  // a setting that may only be true, as the stages are others if it is false
  bool takes_flags = true;       // the flags of special tokens in tokenizer.json count
};

inline constexpr std::string_view kPlainBert =
    R"("normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":@tokenize_chinese_chars=true,)"
    R"("strip_accents":@strip_accents=null,"lowercase":@do_lower_case=true},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
    R"("decoder":{"type":"WordPiece","prefix":"##","cleanup":true},"model":{"type":"WordPiece","unk_token":@unk,)"
    R"("continuing_subword_prefix":"##","max_input_chars_per_word":100})";
inline constexpr std::string_view kPlainBytes =
    R"("normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":@add_prefix_space=false,"use_regex?":true},)";
inline constexpr std::string_view kPlainBpe =
    R"("model":{"type":"BPE","dropout?":null,"continuing_subword_prefix?":"","end_of_word_suffix?":"","ignore_merges?":false,)";
inline constexpr std::string_view kPlainBytesEnd =
    R"("unk_token?":null,"fuse_unk?":false,"byte_fallback?":false},"decoder":{"type":"ByteLevel"})";
inline constexpr std::string_view kPlainSpaces =
    R"({"type":"Metaspace","replacement":"▁","prepend_scheme?":"always","add_prefix_space?":true,"split?":true})";
inline constexpr std::string_view kPlainPieces =
    R"("normalizer":{"type":"Precompiled"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)";
inline constexpr std::string_view kPlainUnigram = R"(,"model":{"type":"Unigram","byte_fallback?":false,"unk_id":)";
inline constexpr std::string_view kPlainRoberta =
    R"({"type":"RobertaProcessing","sep":[@sep,&sep],"cls":[@cls,&cls],"trim_offsets":@trim_offsets=true,"add_prefix_space":@add_prefix_space=false})";
inline constexpr std::string_view kPlainQwen =
    R"("normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)"
    R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},)"
    R"("behavior":"Isolated","invert?":false},{"type":"ByteLevel","add_prefix_space":@add_prefix_space=false,"use_regex":false}]},)";
inline constexpr PlainClass kPlainClasses[] = {
    {kBertClass, {kPlainBert}},
    {kMpnetClass,
     {kPlainBert},
     R"({"type":"RobertaProcessing","sep":[@sep,&sep],"cls":[@cls,&cls],"trim_offsets?":true,"add_prefix_space":false})"},
    {kRobertaClass, {kPlainBytes, kPlainBpe, kPlainBytesEnd}, kPlainRoberta},
    {kGpt2Class, {kPlainBytes, kPlainBpe, kPlainBytesEnd}},
    {kQwenClass, {kPlainQwen, kPlainBpe, kPlainBytesEnd}, "", "", false},
    {kXlmrClass, {kPlainPieces, kPlainSpaces, R"(]},"decoder":)", kPlainSpaces, kPlainUnigram, "3}"}, "", "add_prefix_space"},
    {kT5Class, {kPlainPieces, kPlainSpaces, R"(]},"decoder":)", kPlainSpaces, kPlainUnigram, "2}"}},
};

}  // namespace wattn
