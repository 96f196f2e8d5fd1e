// Vocabularies in other formats, built byte by byte. Truncated anywhere they are rejected, and nothing is read past the end.
#include "tokenizer/formats/formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/gguf.h"
#include "core/json.h"
#include "core/utf.h"
#include "native/support/files.h"
#include "native/tokenizer/tiny_tokenizer.h"
#include "tokenizer/formats/pieces.h"

namespace wattn {
namespace {

using test::encode;
using test::Tokens;
using test::tokens_of;

Tokens tokens(const std::vector<TokenizerFile>& files, std::u16string_view text) {
  const Result<Tokenizer> tokenizer = load_tokenizer(files);
  if (!tokenizer.ok()) return {tokenizer.error().message};
  return tokens_of(tokenizer.value(), encode(tokenizer.value(), text));
}

std::string decoded(const std::vector<TokenizerFile>& files, const std::vector<std::int32_t>& ids) {
  const Result<Tokenizer> tokenizer = load_tokenizer(files);
  return tokenizer.ok() ? tokenizer.value().decode(ids, false, false).value() : tokenizer.error().message;
}

TEST(VocabTxt, IsCasedWhenItHasCapitalsOrTheSettingsSaySo) {
  const std::string lower = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhi\n##s\r\n", upper = lower + "Hi\n";
  EXPECT_EQ(tokens({{"vocab.txt", lower}}, u"His"), (Tokens{"[CLS]", "hi", "##s", "[SEP]"}));
  EXPECT_EQ(tokens({{"vocab.txt", upper}}, u"His"), (Tokens{"[CLS]", "Hi", "##s", "[SEP]"}));
  EXPECT_EQ(tokens({{"vocab.txt", upper}, {"tokenizer_config.json", R"({"do_lower_case": true})"}}, u"His"),
            (Tokens{"[CLS]", "hi", "##s", "[SEP]"}));
  EXPECT_NE(tokens({{"vocab.txt", "a\nb\n"}}, u"a")[0].find("expected a token of model.vocab, found \"[UNK]\""), std::string::npos);
}

TEST(VocabTxt, TheLastOfEqualTokensWinsAndTheOthersAreGaps) {
  const std::string list = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhi\nyo\nhi\n";
  const Result<Tokenizer> tokenizer = load_tokenizer({{"vocab.txt", list}});
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(encode(tokenizer.value(), u"hi").ids, (std::vector<std::int32_t>{2, 7, 3}));
  EXPECT_EQ(tokenizer.value().id_to_token(5), "");
  EXPECT_EQ(tokenizer.value().id_to_token(7), "hi");
}

TEST(MergesTxt, IsByteLevelOrTheFirstGptsDependingOnTheVocabulary) {
  const std::string merges = "#version: 0.2\nh i\n";
  EXPECT_EQ(tokens({{"vocab.json", R"({"h": 0, "i": 1, "hi": 2, "Ġ": 3})"}, {"merges.txt", merges}}, u"hi h"),
            (Tokens{"hi", "Ġ", "h"}));
  EXPECT_EQ(tokens({{"vocab.json", R"({"h": 0, "i</w>": 1, "hi</w>": 2, "<unk>": 3})"}, {"merges.txt", "h i</w>\n"}}, u"Hi"),
            (Tokens{"hi</w>"}));
  EXPECT_EQ(tokens({{"vocab.json", R"({"h": 0, "<s>": 1, "</s>": 2, "<mask>": 3})"}, {"merges.txt", ""}}, u"h"),
            (Tokens{"<s>", "h", "</s>"}));
  EXPECT_NE(tokens({{"vocab.json", R"({"h": 0})"}, {"merges.txt", ""}, {"tokenizer_config.json", R"({"tokenizer_class": "Odd"})"}},
                   u"h")[0]
                .find("Odd"),
            std::string::npos);
}

TEST(MergesTxt, IsOfTheClassThatTheSettingsName) {
  const std::string byte_level = R"({"h": 0, "i": 1, "hi": 2, "Ġ": 3, "<s>": 4, "</s>": 5, "<mask>": 6, "H": 7})";
  const std::string words =
      R"({"h": 0, "i</w>": 1, "hi</w>": 2, "<unk>": 3, "<|startoftext|>": 4, "<|endoftext|>": 5, "h</w>": 6})";
  const auto of_class = [](const std::string& vocab, const std::string& name, const std::string& more = "") {
    const std::string merges = vocab.find("</w>") == std::string::npos ? "#version: 0.2\r\nh i\r\n\r\n" : "h i</w>";
    const std::string config = name.empty() ? "{" + more + "}" : "{\"tokenizer_class\": \"" + name + "\"" + more + "}";
    return tokens({{"vocab.json", vocab}, {"merges.txt", merges}, {"tokenizer_config.json", config}}, u"hi");
  };
  for (const char* name : {"GPT2Tokenizer", "GPT2TokenizerFast", "CodeGenTokenizer"}) {
    EXPECT_EQ(of_class(byte_level, name), Tokens{"hi"}) << name;
  }
  for (const char* name : {"RobertaTokenizer", "BartTokenizerFast", "LongformerTokenizer", "LEDTokenizer", ""}) {
    EXPECT_EQ(of_class(byte_level, name), (Tokens{"<s>", "hi", "</s>"})) << name;
  }
  EXPECT_EQ(of_class(byte_level, "GPT2Tokenizer", R"(, "add_prefix_space": true)"), (Tokens{"Ġ", "hi"}));
  EXPECT_EQ(of_class(words, "OpenAIGPTTokenizer"), Tokens{"hi</w>"});
  for (const char* name : {"CLIPTokenizer", ""}) {
    EXPECT_EQ(of_class(words, name), (Tokens{"<|startoftext|>", "hi</w>", "<|endoftext|>"})) << name;
  }
  EXPECT_EQ(decoded({{"vocab.json", words}, {"merges.txt", ""}}, {2, 0, 6}), "hi hh");
  EXPECT_EQ(of_class("\xEF\xBB\xBF" + byte_level, ""), (Tokens{"<s>", "hi", "</s>"}));
  // Without one of the three it is GPT-2's.
  for (const char* token : {"<s>", "</s>", "<mask>"}) {
    std::string less = byte_level;
    less.replace(less.find(token), 1, "(");
    EXPECT_EQ(of_class(less, ""), Tokens{"hi"}) << token;
  }
}

TEST(MergesTxt, SaysWhatIsWrong) {
  const std::string vocab = R"({"h": 0, "<s>": 1, "<mask>": 2})";
  const struct {
    std::string vocab, merges, config, error;
  } rows[] = {{"{", "", "{}", "vocab.json: "},
              {"[]", "", "{}", "vocab.json: expected an object of tokens and their ids"},
              {vocab, "\xFF", "{}", "merges.txt: expected UTF-8, found other bytes"},
              {vocab, "", R"({"tokenizer_class": 1})", "tokenizer_config.json: tokenizer_class: expected a string, found 1"},
              {vocab, "", R"({"add_prefix_space": 1})", "tokenizer_config.json: add_prefix_space: expected true or false, found 1"},
              {vocab, "h h", "{}", "tokenizer.json: model.merges[0]"},
              {vocab, "", "{", "tokenizer_config.json: "}};
  for (const auto& row : rows) {
    const Tokens found =
        tokens({{"vocab.json", row.vocab}, {"merges.txt", row.merges}, {"tokenizer_config.json", row.config}}, u"h");
    EXPECT_EQ(found.at(0).substr(0, row.error.size()), row.error);
  }
  // As in Python, a class adds the tokens that its vocabulary lacks.
  const TokenizerFile roberta{"tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})"};
  EXPECT_EQ(tokens({{"vocab.json", vocab}, {"merges.txt", ""}, roberta}, u"h"), (Tokens{"<s>", "h", "</s>"}));
  EXPECT_EQ(tokens({{"vocab.txt", "\xFF"}}, u"a")[0], "vocab.txt: expected UTF-8, found other bytes");
  EXPECT_NE(tokens({{"vocab.json", vocab}}, u"a")[0].find("vocab.json with merges.txt"), std::string::npos);
}

// Writes Protocol Buffers.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string field(int number, int value) {
  if (number < 16) return {static_cast<char>(number << 3), static_cast<char>(value)};
  return {static_cast<char>((number << 3 & 0x7F) | 0x80), static_cast<char>(number >> 4), static_cast<char>(value)};
}
std::string piece(const std::string& text, float score, int kind = 1) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(score);
  std::string out = field(1, text) + static_cast<char>(2 << 3 | 5);
  for (int i = 0; i < 4; ++i) out += static_cast<char>(bits >> (8 * i));
  return field(1, out + field(3, kind));
}
std::string sentencepiece(int type) {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("▁", -1) + piece("a", -2) + piece("b", -3) +
         piece("▁a", -0.5F) + piece("ab", -0.75F) + field(2, field(3, type)) + field(3, field(1, "identity"));
}

// The tokens of a SentencePiece file by the library's own rules, as GGUF and Marian have them.
Result<Tokenizer> of_pieces(const std::string& model) {
  const Result<PieceModel> read = read_piece_model(model);
  if (!read.ok()) return read.error();
  const Result<std::string> text = pieces_tokenizer_json(read.value());
  if (!text.ok()) return text.error();
  const Result<Json> json = Json::parse(text.value(), "tokenizer.json");
  if (!json.ok()) return json.error();
  return Tokenizer::from_json(json.value().root());
}

Tokens pieces(const std::string& model, std::u16string_view text) {
  const Result<Tokenizer> tokenizer = of_pieces(model);
  if (!tokenizer.ok()) return {tokenizer.error().message};
  return tokens_of(tokenizer.value(), encode(tokenizer.value(), text));
}

TEST(SentencePiece, ReadsUnigramAndBpeAndHandlesWhitespace) {
  for (const int type : {1, 2})
    EXPECT_EQ(pieces(sentencepiece(type), u"  a   bxa "), (Tokens{"▁a", "▁", "b", "<unk>", "a"})) << type;
}

TEST(SentencePiece, NeedsAClass) {
  const std::string model = sentencepiece(1);
  EXPECT_NE(tokens({{"spiece.model", model}}, u"a")[0].find("spiece.model: expected a tokenizer_class"), std::string::npos);
  const auto of = [&](const char* file, const char* config) { return tokens({{file, model}, {"config.json", config}}, u"a")[0]; };
  EXPECT_EQ(of("sentencepiece.bpe.model", R"({"model_type": "xlm-roberta"})"), "<s>");
  EXPECT_NE(of("spiece.model", R"({"model_type": "xlm-roberta"})").find("sentencepiece.bpe.model: expected this file"),
            std::string::npos);
  EXPECT_NE(of("spiece.model", R"({"tokenizer_class": "GPTSw3Tokenizer"})").find("\"GPTSw3Tokenizer\" is not supported"),
            std::string::npos);
  EXPECT_NE(of("spiece.model", R"({"tokenizer_class": "OwnTokenizer"})").find("config.json: tokenizer_class: \"OwnTokenizer\""),
            std::string::npos);
}

// Against transformers' DebertaV2Tokenizer, which takes an spm.model for its own.
TEST(SentencePiece, OfDebertaIsWhatItsTokenizerMakesOfIt) {
  const std::string model = test::read_file(test::golden("variants/deberta-tokenizer/spm.model"));
  const std::string path = test::golden("variants/deberta-tokenizer/cases.json");
  const Json cases = std::move(Json::parse(test::read_file(path), "cases.json")).value();
  const JsonRef texts = cases.root()["texts"], rows = cases.root()["rows"];
  const auto ids_of = [](JsonRef list) {
    std::vector<std::int32_t> out;
    for (std::size_t i = 0; i < list.size(); ++i) out.push_back(static_cast<std::int32_t>(list[i].as_int().value()));
    return out;
  };
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::string settings = rows[r]["settings"].to_text();
    const Result<Tokenizer> tokenizer = load_tokenizer(
        {{"spm.model", model}, {"config.json", R"({"model_type": "deberta-v2"})"}, {"tokenizer_config.json", settings}});
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    const auto text_of = [&](std::size_t i) { return to_utf16(texts[i].as_string().value()); };
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(tokenizer.value().encode(text_of(i), {}).value().ids, ids_of(rows[r]["ids"][i])) << settings << ", text " << i;
    }
    const std::u16string second = text_of(1);
    const Encoding pair = tokenizer.value().encode_pair(text_of(0), second, {}).value();
    EXPECT_EQ(pair.ids, ids_of(rows[r]["pair"]));
    EXPECT_EQ(pair.type_ids, ids_of(rows[r]["types"]));
  }
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"tokenizer_class": "XLMRobertaTokenizer"})", "sentencepiece.bpe.model: expected this file"},
      {"{}", "spm.model: expected a tokenizer_class"},
      {R"({"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": 1})", "do_lower_case: expected true or false, found 1"}};
  for (const auto& [settings, error] : wrong) {
    const Result<Tokenizer> refused = load_tokenizer({{"spm.model", model}, {"tokenizer_config.json", settings}});
    ASSERT_FALSE(refused.ok()) << settings;
    EXPECT_NE(refused.error().message.find(error), std::string::npos) << refused.error().message;
  }
  EXPECT_FALSE(load_tokenizer({{"spm.model", model.substr(0, 20)}}).ok());
}

// XLNet's scores and SentencePiece's answers: with any other score of the user-defined dot, floats round these sums otherwise.
TEST(SentencePiece, ADotThatIsUserDefinedDoesNotTurnTies) {
  const std::string model = piece("<unk>", 0, 2) + piece("▁", -2.1267834F) + piece("1", -7.6837068F) + piece("11", -9.596034F) +
                            piece(".", 0, 4) + field(2, field(3, 1)) + field(3, field(1, "identity"));
  EXPECT_EQ(pieces(model, u".11111"), (Tokens{"▁", ".", "11", "11", "1"}));
  EXPECT_EQ(pieces(model, u".......11111"), (Tokens{"▁", ".", ".", ".", ".", ".", ".", ".", "11", "11", "1"}));
  EXPECT_EQ(pieces(model + piece("..", -0.5F), u".."), (Tokens{"▁", ".", "."}));
}

// The texts are those of SentencePiece's own library.
TEST(SentencePiece, DecodesTheBeginningAsTheNormalizerWroteIt) {
  const auto decode = [](int dummy_prefix, int extra, const std::vector<std::int32_t>& ids) {
    const std::string bytes = piece("▁▁", -4) + piece("<0x20>", -9, 6) + field(2, field(35, 1));
    const std::string spec = field(3, field(3, dummy_prefix) + field(4, extra));
    return of_pieces(sentencepiece(1) + bytes + spec).value().decode(ids, false, false).value();
  };
  constexpr std::int32_t kMark = 3, kA = 6, kMarks = 8, kSpaceByte = 9;
  const struct {
    std::vector<std::int32_t> ids;
    std::string neither, extra_removed, prefix_put, both;
  } rows[] = {{{kA}, " a", "a", "a", "a"},
              {{kMark}, " ", "", "", ""},
              {{kMark, kA}, "  a", "a", " a", "a"},
              {{kMark, kMark, kA}, "   a", "a", "  a", "a"},
              {{kMarks, kA}, "   a", "  a", "  a", "  a"},
              {{kSpaceByte, kA}, "  a", "  a", "  a", "  a"},
              {{kA, kMark, kA}, " a  a", "a  a", "a  a", "a  a"}};
  for (const auto& row : rows) {
    EXPECT_EQ(decode(0, 0, row.ids), row.neither);
    EXPECT_EQ(decode(0, 1, row.ids), row.extra_removed);
    EXPECT_EQ(decode(1, 0, row.ids), row.prefix_put);
    EXPECT_EQ(decode(1, 1, row.ids), row.both);
  }
}

TEST(SentencePiece, FollowsTheSpecsOfItsModel) {
  const std::string plain = sentencepiece(1);
  const auto trainer = [](const std::string& fields) { return field(2, fields); };
  const auto normalizer = [](const std::string& fields) { return field(3, fields); };
  EXPECT_EQ(pieces(plain + normalizer(field(3, 0)), u"a"), Tokens{"a"});  // no dummy prefix
  EXPECT_EQ(pieces(plain + normalizer(field(4, 0)), u"a  b"), (Tokens{"▁a", "▁", "▁", "b"}));
  EXPECT_NE(pieces(plain + normalizer(field(5, 0)), u"a")[0].find("escape_whitespaces: false"), std::string::npos);
  EXPECT_EQ(pieces(plain + normalizer(field(5, 1)), u"a"), Tokens{"▁a"});
  EXPECT_NE(pieces(plain + trainer(field(24, 1)), u"a")[0].find("treat_whitespace_as_suffix"), std::string::npos);
  EXPECT_EQ(pieces(plain + trainer(field(24, 0)), u"a"), Tokens{"▁a"});
  EXPECT_NE(pieces(plain + trainer(field(3, 3)), u"a")[0].find("expected the type Unigram (1), BPE (2) or character (4), found 3"),
            std::string::npos);
  for (const int type : {1, 2, 4}) {
    const std::string bytes =
        sentencepiece(type) + trainer(field(3, type) + field(35, 1)) + piece("<0x78>", -9, 6) + piece("yy", -9, 4);
    EXPECT_EQ(pieces(bytes, u"axyy"), (Tokens{"▁a", "<0x78>", "yy"})) << type;
  }
  EXPECT_NE(pieces(plain + piece("z", std::nanf("")), u"a")[0].find("expected a piece"), std::string::npos);
  EXPECT_NE(pieces(plain + piece("z", std::numeric_limits<float>::infinity()), u"a")[0].find("expected a piece"),
            std::string::npos);
  EXPECT_NE(pieces(plain + piece("\xFF", 0), u"a")[0].find("piece 8: expected UTF-8"), std::string::npos);
  // A model without the unknown token, and one without words.
  EXPECT_EQ(pieces(piece("▁", -1) + piece("a", -1), u"a"), (Tokens{"▁", "a"}));
  EXPECT_EQ(pieces(piece("▁", -1) + piece("a", -1) + trainer(field(3, 2)), u"a"), (Tokens{"▁", "a"}));
  // "a" becomes "b": a trie of one character, and the string of its value.
  const auto unit = [](std::uint32_t value) {
    std::string out;
    for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
  };
  EXPECT_EQ(pieces(plain + normalizer(field(2, unit(0xFFFF) + "x")), u"a")[0].substr(0, 15), "tokenizer.json:");
}

TEST(SentencePiece, EveryTruncationAndChangedByteIsRejectedOrRead) {
  const std::string model = sentencepiece(1);
  for (std::size_t size = 0; size < model.size(); ++size) {
    const Result<Tokenizer> cut = of_pieces(model.substr(0, size));
    if (!cut.ok()) continue;
    EXPECT_LE(cut.value().vocab_size(), 8);
  }
  for (std::size_t i = 0; i < model.size(); ++i) {
    for (const char value : {'\x00', '\x7F', '\xFF'}) {
      std::string changed = model;
      changed[i] = value;
      const Result<Tokenizer> tokenizer = of_pieces(changed);
      if (tokenizer.ok()) (void)tokenizer.value().encode(u"a b<s>", {});
    }
  }
}

// Writes GGUF.
std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
std::string text(const std::string& value) { return little(value.size(), 8) + value; }
std::string strings(const std::string& key, const std::vector<std::string>& values) {
  std::string out = text(key) + little(9, 4) + little(8, 4) + little(values.size(), 8);
  for (const std::string& value : values) out += text(value);
  return out;
}
// types: of each token (token_type 1: ordinary, 3: control, 4: user-defined).
std::string byte_level_gguf(const std::string& pre, const std::vector<std::string>& list, const std::vector<std::string>& merges,
                            const std::vector<std::uint32_t>& types = {1}) {
  std::string type_list = text("tokenizer.ggml.token_type") + little(9, 4) + little(5, 4) + little(types.size(), 8);
  for (const std::uint32_t type : types) type_list += little(type, 4);
  return "GGUF" + little(3, 4) + little(0, 8) + little(6, 8) + text("tokenizer.ggml.model") + little(8, 4) + text("gpt2") +
         text("tokenizer.ggml.pre") + little(8, 4) + text(pre) + text("general.alignment") + little(4, 4) + little(32, 4) +
         strings("tokenizer.ggml.tokens", list) + strings("tokenizer.ggml.merges", merges) + type_list;
}
std::string gpt2_gguf() { return byte_level_gguf("gpt-2", {"h", "i", "hi"}, {"h i"}); }

TEST(Gguf, ReadsTheTokenizerInside) { EXPECT_EQ(tokens({{"m.gguf", gpt2_gguf()}}, u"hih"), (Tokens{"hi", "h"})); }

TEST(Gguf, ReadsAWordPieceWithAnyCharactersInItsTokens) {
  const std::string mark = "\xE2\x96\x81";
  const std::string file = "GGUF" + little(3, 4) + little(0, 8) + little(2, 8) + text("tokenizer.ggml.model") + little(8, 4) +
                           text("bert") +
                           strings("tokenizer.ggml.tokens", {"[PAD]", "[UNK]", "[CLS]", "[SEP]", mark + "a\nb", mark + "hi", "s"});
  EXPECT_EQ(tokens({{"m.gguf", file}}, u"His"), (Tokens{"[CLS]", "hi", "##s", "[SEP]"}));
}

TEST(Gguf, FindsUserDefinedTokensInTheTextItself) {
  const std::string file = byte_level_gguf("gpt-2", {"h", "i", "hi", "  ", "i h", "<s>"}, {"h i"}, {1, 1, 1, 4, 4, 3});
  EXPECT_EQ(tokens({{"m.gguf", file}}, u"hi  hi h<s>"), (Tokens{"hi", "  ", "h", "i h", "<s>"}));
  const Tokenizer tokenizer = load_tokenizer({{"m.gguf", file}}).value();
  EXPECT_EQ(tokenizer.decode({2, 3, 4, 5}, true, false).value(), "hi  i h");  // only the control token is special
}

// The merges show where the text was split: pairs of digits, a letter and a sign, the space and the next character.
TEST(Gguf, SplitsTextByTheNameOfItsPreTokenizer) {
  const std::vector<std::string> list = {"a", "B", "1", "2", "!", "Ġ", "12", "121", "Ġa", "Ġ1", "!a", "aB", "Ġ!", "Ċ", "!Ċ"};
  const std::vector<std::string> merges = {"1 2", "12 1", "Ġ a", "Ġ 1", "! a", "a B", "Ġ !", "! Ċ"};
  const auto cut = [&](const std::string& pre) {
    return tokens({{"m.gguf", byte_level_gguf(pre, list, merges)}}, u"a 1212!aB!\n");
  };
  const Tokens gpt2 = {"a", "Ġ", "12", "12", "!", "aB", "!", "Ċ"};  // in " 1212" the merge of "1 2" comes first
  EXPECT_EQ(cut("gpt-2"), gpt2);
  EXPECT_EQ(cut("smollm"), (Tokens{"a", "Ġ", "1", "2", "1", "2", "!", "aB", "!", "Ċ"}));
  EXPECT_EQ(cut("llama-bpe"), (Tokens{"a", "Ġ", "121", "2", "!a", "B", "!Ċ"}));
  EXPECT_EQ(cut("qwen2"), (Tokens{"a", "Ġ", "1", "2", "1", "2", "!a", "B", "!Ċ"}));
  EXPECT_EQ(cut("tekken"), (Tokens{"a", "Ġ", "1", "2", "1", "2", "!a", "B", "!Ċ"}));
  EXPECT_EQ(cut("gpt-4o"), (Tokens{"a", "Ġ", "121", "2", "!a", "B", "!Ċ"}));
  EXPECT_EQ(cut("deepseek-llm"), (Tokens{"a", "Ġ", "12", "12", "!", "aB", "!", "Ċ"}));
  EXPECT_EQ(cut("deepseek-coder"), (Tokens{"a", "Ġ", "1", "2", "1", "2", "!", "aB", "!", "Ċ"}));
  EXPECT_EQ(cut("deepseek-v3"), (Tokens{"a", "Ġ", "121", "2", "!a", "B", "!Ċ"}));
  EXPECT_EQ(cut("falcon"), (Tokens{"a", "Ġ", "121", "2", "!", "aB", "!", "Ċ"}));
  const Tokens refused = cut("chatglm-bpe");
  EXPECT_NE(refused[0].find("tokenizer.ggml.pre: expected one of gpt-2 "), std::string::npos) << refused[0];
  EXPECT_NE(refused[0].find("found \"chatglm-bpe\""), std::string::npos) << refused[0];
}

TEST(Gguf, ReportsTruncatedMetadata) {
  const std::string file = gpt2_gguf();
  for (std::size_t size = 4; size < file.size(); ++size) {
    const Result<GgufMetadata> cut = GgufMetadata::read(std::string_view(file).substr(0, size));
    EXPECT_TRUE(!cut.ok() || cut.value().is_cut_off()) << size;
    EXPECT_FALSE(load_tokenizer({{"m.gguf", file.substr(0, size)}}).ok()) << size;
  }
  const Result<GgufMetadata> whole = GgufMetadata::read(file);
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE(whole.value().is_cut_off());
  EXPECT_EQ(whole.value().number("general.alignment"), 32);
  EXPECT_EQ(whole.value().strings("tokenizer.ggml.tokens").size(), 3u);
}

TEST(Gguf, ChangedBytesAreRejectedOrRead) {
  const std::string file = gpt2_gguf();
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const char value : {'\x00', '\x09', '\xFF'}) {
      std::string changed = file;
      changed[i] = value;
      (void)load_tokenizer({{"m.gguf", changed}});
    }
  }
}

TEST(Formats, NamesTheFilesThatItExpected) { EXPECT_NE(tokens({}, u"a")[0].find("vocab.json with merges.txt"), std::string::npos); }

}  // namespace
}  // namespace wattn
