// The names of the tokenizer classes that most repositories use, and their tokens. From transformers 5.24.0:
// models/*/tokenization_*.py, and models/auto/tokenization_auto.py for the model types.
#pragma once

#include <string_view>

namespace wattn {

struct ClassNames {
  std::string_view name;
  std::string_view aliases;      // other names of the class
  std::string_view model_types;  // those of config.json that mean this class
  // bos eos unk sep pad cls mask; "-": none. '^' before a token: with lstrip, where it is a string; '*': normalized, too.
  std::string_view tokens;
  // Templates of one text and of two, of roles and texts ("cls $A sep"); empty: that of tokenizer.json stays. A '?' before it: that
  // of tokenizer.json stays if there is one. "R": RoBERTa's.
  std::string_view single, pair;
  bool is_left = false;  // pads on the left
};

inline constexpr std::string_view kFairseqTokens = "<s> </s> <unk> </s> <pad> <s> <mask>";
inline constexpr std::string_view kEndOfText = "<|endoftext|> <|endoftext|> <|endoftext|> - - - -";

inline constexpr ClassNames kBertClass{
    "BertTokenizer",
    "DistilBertTokenizer ElectraTokenizer LayoutLMTokenizer LxmertTokenizer MobileBertTokenizer SqueezeBertTokenizer",
    "bert align bark convbert distilbert electra ernie layoutlm megatron-bert nomic_bert squeezebert visual_bert mobilebert lxmert",
    "- - [UNK] [SEP] [PAD] [CLS] [MASK]",
    "cls $A sep",
    "cls $A sep $B:1 sep:1"};
inline constexpr ClassNames kMpnetClass{"MPNetTokenizer", "", "mpnet", "<s> </s> [UNK] </s> <pad> <s> ^<mask>", "R", ""};
inline constexpr ClassNames kRobertaClass{
    "RobertaTokenizer",
    "BartTokenizer LEDTokenizer LongformerTokenizer MvpTokenizer",
    "bart bridgetower data2vec-text ibert led lilt longformer mra mvp roberta roberta-prelayernorm",
    kFairseqTokens,
    "R",
    ""};
inline constexpr ClassNames kGpt2Class{"GPT2Tokenizer", "", "gpt2 codegen dbrx gpt_neo gptj jais2 opt phi starcoder2",
                                       kEndOfText,      "", ""};
inline constexpr ClassNames kQwenClass{"Qwen2Tokenizer",
                                       "",
                                       "qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next",
                                       "- <|endoftext|> <|endoftext|> - <|endoftext|> - -",
                                       "",
                                       ""};
inline constexpr ClassNames kXlmrClass{"XLMRobertaTokenizer", "",           "xlm-roberta gte jina_embeddings_v3 xmod",
                                       kFairseqTokens,        "bos $A eos", "bos $A eos eos $B eos"};
inline constexpr ClassNames kT5Class{"T5Tokenizer",  "", "t5 mt5 switch_transformers", "- </s> <unk> - <pad> - -", "$A eos",
                                     "$A eos $B eos"};
inline constexpr ClassNames kGemmaClass{"GemmaTokenizer",
                                        "",
                                        "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma t5gemma",
                                        "<bos> <eos> <unk> - <pad> - <mask>",
                                        "",
                                        "",
                                        true};

// The library `tokenizers` alone: a tokenizer.json is read as it is.
inline constexpr std::string_view kFileClasses =
    "TokenizersBackend PreTrainedTokenizer PreTrainedTokenizerFast PythonBackend BloomTokenizer";
// Their class is that of the type, whatever class their files name.
inline constexpr std::string_view kOwnTypes = "qwen2 qwen3_5";

inline std::string_view without_fast(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  return name;
}

}  // namespace wattn
