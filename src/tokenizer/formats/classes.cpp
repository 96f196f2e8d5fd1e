// build: -Oz
#include "tokenizer/formats/classes.h"

#include "tokenizer/formats/class_names.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

constexpr auto kWordPiece = ClassKind::kWordPiece, kBpe = ClassKind::kBpe, kUnigram = ClassKind::kUnigram, kSlow = ClassKind::kSlow;

constexpr std::string_view kFairseqFile = "sentencepiece.bpe.model", kPieceFile = "spiece.model", kModelFile = "tokenizer.model",
                           kMergesFile = "merges.txt";
constexpr std::string_view kBertSingle = kBertClass.single, kBertPair = kBertClass.pair;
constexpr std::string_view kBertTokens = kBertClass.tokens;
constexpr std::string_view kMaskedTokens = "<s> </s> <unk> </s> <pad> <s> ^<mask>";

constexpr ClassRules of(const ClassNames& names, ClassKind kind, std::string_view file, std::string_view normalizer,
                        std::string_view pre_tokenizer, std::string_view decoder) {
  return {names.name,    names.aliases, names.model_types, kind,       file,         normalizer,
          pre_tokenizer, decoder,       names.single,      names.pair, names.tokens, names.is_left};
}

// Sources as in class_names.h.
constexpr ClassRules kClasses[] = {
    of(kBertClass, kWordPiece, "vocab.txt", "b", "b", "w"),
    {"DPRQuestionEncoderTokenizer", "DPRContextEncoderTokenizer DPRReaderTokenizer", "dpr", kWordPiece, "vocab.txt", "D", "b", "w",
     kBertSingle, kBertPair, kBertTokens},
    of(kMpnetClass, kWordPiece, "vocab.txt", "b", "b", "w"),
    of(kRobertaClass, kBpe, kMergesFile, "", "y", "y"),
    of(kGpt2Class, kBpe, kMergesFile, "", "y", "y"),
    {"GPTNeoXTokenizer", "", "gpt_neox falcon_mamba mamba mamba2 mpt olmo olmoe rwkv xlstm", kBpe, kMergesFile, "n", "y", "y", "N",
     "", "<|endoftext|> <|endoftext|> <|endoftext|> - <|padding|> - -"},
    {"CodeGenTokenizer", "", "", kBpe, kMergesFile, "", "y", "y", "?Y", "", kEndOfText},
    of(kQwenClass, kBpe, kMergesFile, "n", "xz", "y"),
    {"CLIPTokenizer", "", "clip", kBpe, kMergesFile, "nxL", "ky", "k", "R", "",
     "<|startoftext|> <|endoftext|> <|endoftext|> - <|endoftext|> - -"},
    {"OpenAIGPTTokenizer", "", "openai-gpt", kBpe, kMergesFile, "B", "b", "e", "", "", "- - <unk> - - - -"},
    {"HerbertTokenizer", "", "", kBpe, kMergesFile, "C", "b", "e", "H", "", "- - <unk> </s> <pad> <s> <mask>"},
    {"DebertaTokenizer", "", "deberta", kBpe, kMergesFile, "", "y", "y", "cls $A sep", "cls $A sep sep $B sep",
     "[CLS] [SEP] [UNK] [SEP] [PAD] [CLS] [MASK]"},
    {"BlenderbotTokenizer", "", "blenderbot", kBpe, kMergesFile, "", "y", "y", "", "", "<s> </s> <unk> </s> <pad> <s> ^<mask>"},
    {"CohereTokenizer", "", "cohere cohere2", kBpe, kMergesFile, "n", "dy", "y", "", "",
     "<BOS_TOKEN> <|END_OF_TURN_TOKEN|> <UNK> <SEP> <PAD> <CLS> <MASK_TOKEN>", true},
    {"LlamaTokenizer", "", "", kBpe, kModelFile, "", "L", "l", "", "", "<s> </s> <unk> - - - -", true},
    of(kGemmaClass, kBpe, kModelFile, "g", "g", "g"),
    {"NllbTokenizer", "", "nllb-moe", kBpe, kFairseqFile, "S", "m", "m", "P", "", "<s> </s> <unk> </s> <pad> <s> *<mask>"},
    of(kXlmrClass, kUnigram, kFairseqFile, "c", "wM", "M"),
    {"CamembertTokenizer", "", "camembert", kUnigram, kFairseqFile, "c", "wM", "M", "bos $A eos", "bos $A eos eos $B eos",
     "<s> </s> <unk> </s> <pad> <s> ^<mask>"},
    {"MBartTokenizer", "", "mbart", kUnigram, kFairseqFile, "", "wm", "m", "$A eos lang", "$A $B eos lang", kMaskedTokens},
    {"MBart50Tokenizer", "", "", kUnigram, kFairseqFile, "cs", "m", "m", "lang $A eos", "lang $A $B eos",
     "- </s> <unk> </s> <pad> <s> ^<mask>"},
    of(kT5Class, kUnigram, kPieceFile, "c", "wm", "m"),
    {"AlbertTokenizer", "", "albert yoso", kUnigram, kPieceFile, "qalc", "wM", "M", "?cls $A sep", "cls $A sep $B:1 sep:1",
     "[CLS] [SEP] <unk> [SEP] <pad> [CLS] [MASK]"},
    {"BigBirdTokenizer", "", "big_bird", kUnigram, kPieceFile, "u", "M", "M", kBertSingle, kBertPair,
     "<s> </s> <unk> [SEP] <pad> [CLS] ^[MASK]"},
    {"PegasusTokenizer", "", "pegasus", kUnigram, kPieceFile, "p", "m", "m", "$A eos", "$A $B eos",
     "- </s> <unk> - <pad> - <mask_2>"},
    {"XLNetTokenizer", "", "xlnet", kUnigram, kPieceFile, "qAlc", "wm", "m", "$A sep cls:2", "$A sep $B:1 sep:1 cls:2",
     "<s> </s> <unk> <sep> <pad> <cls> ^<mask>", true},
    {"DebertaV2Tokenizer", "", "deberta-v2", kUnigram, "spm.model", "lor", "pf", "f", kBertSingle, kBertPair,
     "[CLS] [SEP] [UNK] [SEP] [PAD] [CLS] [MASK]"},
    {"BarthezTokenizer", "", "", kUnigram, kFairseqFile, "or", "M", "M", "", "", kMaskedTokens},
    {"M2M100Tokenizer", "", "m2m_100", kSlow, kFairseqFile, "", "", "", "", "", "<s> </s> <unk> </s> <pad> - -"},
    {"MarianTokenizer", "", "marian", kSlow, "source.spm", "", "", "", "", "", "- </s> <unk> - <pad> - -"},
};

// Classes without their own constructor, or whose rules are not here. Their tokenizer.json is also read unchanged, as in
// transformers 4.57; without one they are refused. kOtherTypes has more.
constexpr std::string_view kOtherClasses =
    "ConvBertTokenizer MLukeTokenizer LayoutXLMTokenizer MarkupLMTokenizer SeamlessM4TTokenizer LasrTokenizer ParakeetTokenizer "
    "Tipsv2Tokenizer VideoPrismTokenizer NougatTokenizer";
// Classes that are separate Python code, or rare: refused, whatever files are beside them. kCodeTypes has more.
constexpr std::string_view kCodeClasses =
    "ClvpTokenizer CpmTokenizer DiaTokenizer MgpstrTokenizer RagTokenizer Speech2TextTokenizer SpeechT5Tokenizer VitsTokenizer "
    "Wav2Vec2CTCTokenizer Wav2Vec2PhonemeCTCTokenizer";

// Model types whose tokenizer.json is read unchanged, whatever class their files name.
constexpr std::string_view kFileTypes =
    "beam bigbird_pegasus flex_olmo glm glm4 glm4_moe glm4_moe_lite gpt_bigcode granite granitemoe granitemoehybrid "
    "granitemoeshared "
    "kimi_linear mimo_v2_flash ministral ministral3 mistral mistral3 mixtral nystromformer olmo2 olmo3 olmo_hybrid pegasus_x "
    "persimmon "
    "stablelm umt5 xlm-roberta-xl";
// The same, and a class that is code in the repository does not count either.
constexpr std::string_view kWrongTypes =
    "arctic chatlm ernie4_5 ernie4_5_moe hyperclovax internlm2 internlm3 iquestcoder jamba minicpm3 "
    "minimax_m2 modernbert modernbert-decoder nemotron nvfp4 opencua phi3 phimoe";
constexpr std::string_view kOtherTypes =
    "fnet FNetTokenizer code_llama CodeLlamaTokenizer luke LukeTokenizer layoutlmv2 "
    "LayoutLMv2Tokenizer layoutlmv3 LayoutLMv3Tokenizer qwen3_5 Qwen3_5Tokenizer qwen3_5_text Qwen3_5Tokenizer splinter "
    "SplinterTokenizer udop UdopTokenizer whisper WhisperTokenizer esmc EsmcTokenizer siglip2 Siglip2Tokenizer";
constexpr std::string_view kCodeTypes =
    "funnel FunnelTokenizer reformer ReformerTokenizer rembert RemBertTokenizer xglm XGLMTokenizer "
    "bartpho BartphoTokenizer byt5 ByT5Tokenizer bert-japanese BertJapaneseTokenizer bert-generation BertGenerationTokenizer "
    "bertweet BertweetTokenizer biogpt BioGptTokenizer "
    "blenderbot-small BlenderbotSmallTokenizer canine CanineTokenizer cpmant CpmAntTokenizer ctrl CTRLTokenizer esm EsmTokenizer "
    "flaubert FlaubertTokenizer fsmt FSMTTokenizer gpt-sw3 GPTSw3Tokenizer gpt_neox_japanese GPTNeoXJapaneseTokenizer myt5 "
    "MyT5Tokenizer perceiver PerceiverTokenizer phobert PhobertTokenizer plbart PLBartTokenizer prophetnet ProphetNetTokenizer "
    "roc_bert RoCBertTokenizer roformer RoFormerTokenizer siglip SiglipTokenizer tapas TapasTokenizer xlm XLMTokenizer";

// The word that follows the wanted one in a list of pairs of words; empty if there is none.
std::string_view second_of(std::string_view pairs, std::string_view wanted) {
  while (!pairs.empty()) {
    const std::string_view first = next_word(pairs), second = next_word(pairs);
    if (first == wanted) return second;
  }
  return {};
}

const ClassRules* rules_of_type(std::string_view type) {
  for (const ClassRules& rules : kClasses) {
    if (has_word(rules.model_types, type)) return &rules;
  }
  return nullptr;
}

// The class that transformers registers for a model type; empty for a type that it does not know, "-" for tokenizer.json alone.
std::string_view class_of_type(std::string_view type) {
  if (type.empty()) return {};
  if (const ClassRules* rules = rules_of_type(type)) return rules->name;
  if (has_word(kFileTypes, type) || has_word(kWrongTypes, type)) return "-";
  const std::string_view other = second_of(kOtherTypes, type);
  return other.empty() ? second_of(kCodeTypes, type) : other;
}

bool is_code(std::string_view name) { return has_word(kCodeClasses, name) || has_word(kCodeTypes, name); }

bool is_known(std::string_view name) {
  return rules_named(name) || has_word(kFileClasses, name) || has_word(kOtherClasses, name) || has_word(kOtherTypes, name) ||
         is_code(name);
}

constexpr const char* kNeedsFile = "without a tokenizer.json, wattn reads only classes that it knows";

Error refusal(const TokenizerClass& found, const std::string& why) {
  return unsupported_error(found.from + ": " + json_text(found.name) + " is not supported: " + why);
}

Result<TokenizerClass> with_rules(TokenizerClass found, const ClassQuestion& folder) {
  if (has_word(kFileClasses, found.name) || found.name == "-") {
    if (found.name == "-") found.name = "TokenizersBackend";
    return found;
  }
  found.rules = rules_named(found.name);
  if (is_code(found.name)) return refusal(found, "wattn does not have its rules");
  // A subclass that changes nothing.
  if (found.name == "ConvBertTokenizer" && !folder.has_file) found.rules = rules_named("BertTokenizer");
  if (!found.rules && !folder.has_file) return refusal(found, kNeedsFile);
  // Repositories of these two have a tokenizer.json that others made, as transformers writes none.
  if (found.rules && folder.has_file && (found.name == "MarianTokenizer" || found.name == "M2M100Tokenizer")) found.rules = nullptr;
  return found;
}

}  // namespace

const ClassRules* rules_named(std::string_view name) {
  for (const ClassRules& rules : kClasses) {
    if (rules.name == name || has_word(rules.aliases, name)) return &rules;
  }
  return nullptr;
}

Result<TokenizerClass> find_class(const ClassQuestion& folder) {
  const JsonRef settings = folder.settings, config = folder.config;
  const Result<std::string_view> of_settings = settings["tokenizer_class"].as_string_or("");
  const Result<std::string_view> of_config = config["tokenizer_class"].as_string_or("");
  const Result<std::string_view> type = config["model_type"].as_string_or("");
  for (const Result<std::string_view>* read : {&of_settings, &of_config, &type}) {
    if (!read->ok()) return read->error();
  }
  const bool in_settings = !of_settings.value().empty();
  const std::string_view named = without_fast(in_settings ? of_settings.value() : of_config.value());
  const std::string_view of_type = class_of_type(type.value());
  TokenizerClass found;
  found.name = named;
  found.from = in_settings ? "tokenizer_config.json: tokenizer_class" : "config.json: tokenizer_class";
  const TokenizerClass by_type{nullptr, std::string(of_type), "config.json: model_type"};
  const JsonRef map = settings["auto_map"]["AutoTokenizer"];
  // transformers forgets the code of kWrongTypes only after it has chosen the class.
  const bool has_map = (map.exists() || settings["auto_map"].is_array()) && !has_word(kOwnTypes, type.value());
  const bool has_code = has_map && !has_word(kWrongTypes, type.value());
  if (has_code && of_type.empty() && !is_known(named)) {
    found.from = "tokenizer_config.json: auto_map";
    return refusal(found, "it is Python code in the repository");
  }
  if (named == "LlamaTokenizer" && folder.is_byte_level && !has_map) found.name = "TokenizersBackend";
  if (found.name.empty()) return of_type.empty() ? TokenizerClass{} : with_rules(by_type, folder);
  if (!has_map && (of_type == "-" || has_word(kOwnTypes, type.value()))) return with_rules(by_type, folder);
  if (!is_known(found.name)) {
    if (!in_settings && of_type.empty()) return refusal(found, "wattn does not know this class");
    if (!folder.has_file) return refusal(found, kNeedsFile);
    found.name = "TokenizersBackend";
  }
  return with_rules(found, folder);
}

}  // namespace wattn
