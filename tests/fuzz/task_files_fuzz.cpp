// Replaces a file that only models for rarer tasks have with any text: the result is an error or a loader, never a
// crash. The tasks are entities, late interaction, sparse vectors, static embeddings and tasks of a checkpoint.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"

namespace {

using wattn::HeadKind;
using wattn::NamedFile;
using wattn::Retrieval;

constexpr const char* kBert =
    R"({"model_type":"bert","architectures":["BertForMaskedLM"],"vocab_size":6,"hidden_size":8,"num_hidden_layers":1,)"
    R"("num_attention_heads":2,"intermediate_size":8,"max_position_embeddings":8,"type_vocab_size":2,"hidden_act":"gelu"})";
constexpr const char* kJina =
    R"({"model_type":"xlm-roberta","position_embedding_type":"rotary","vocab_size":6,"hidden_size":8,"num_hidden_layers":1,)"
    R"("num_attention_heads":2,"intermediate_size":8,"max_position_embeddings":8,"type_vocab_size":1,"hidden_act":"gelu",)";
constexpr const char* kTokenizer =
    R"({"version":"1.0","added_tokens":[],"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
    R"("max_input_chars_per_word":100,"vocab":{"[UNK]":0,"a":1,"<<ENT>>":2,"<<SEP>>":3}}})";
constexpr const char* kSparse = R"([{"path":"","type":"st.Transformer"},{"path":"1_SpladePooling","type":"st.SpladePooling"}])";
constexpr const char* kColbert = R"([{"path":"","type":"st.Transformer"},{"path":"1_Dense","type":"pylate.Dense"}])";

struct Case {
  const char* file;  // gets the text
  HeadKind head;
  Retrieval retrieval;
  const char* modules;  // null: none
};
constexpr Case kCases[] = {
    {"gliner_config.json", HeadKind::kSpans, Retrieval::kNone, nullptr},
    {"modules.json", HeadKind::kMaskedLm, Retrieval::kSparse, nullptr},
    {"1_SpladePooling/config.json", HeadKind::kMaskedLm, Retrieval::kSparse, kSparse},
    {"sentence_bert_config.json", HeadKind::kMaskedLm, Retrieval::kSparse, kSparse},
    {"router_config.json", HeadKind::kMaskedLm, Retrieval::kSparse, R"([{"path":"","type":"st.Router"}])"},
    {"modules.json", HeadKind::kNone, Retrieval::kTokenVectors, nullptr},
    {"1_Dense/config.json", HeadKind::kNone, Retrieval::kTokenVectors, kColbert},
    {"config_sentence_transformers.json", HeadKind::kNone, Retrieval::kTokenVectors, kColbert},
    {"artifact.metadata", HeadKind::kNone, Retrieval::kTokenVectors, nullptr},
    {"config.json", HeadKind::kNone, Retrieval::kNone, nullptr},  // what follows model_type: static embeddings
    {"config.json", HeadKind::kNone, Retrieval::kNone, nullptr},  // what follows kJina
};

// Sizes in a file are the allocator's business.
bool asks_for_memory(std::string_view text) {
  int digits = 0;
  for (const char c : text) {
    if (digits > 0 && (c == 'e' || c == 'E')) return true;
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 3) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattn;
  if (size == 0) return 0;
  const std::size_t number = data[0] % std::size(kCases);
  const Case& one = kCases[number];
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool is_whole = number + 2 == std::size(kCases);  // loading ends at the tokenizer
  const bool is_tasks = number + 1 == std::size(kCases);
  if (asks_for_memory(text) || (is_tasks && (text.find("_size") != std::string::npos || text.find("num_") != std::string::npos)))
    return 0;
  if (number + 2 == std::size(kCases)) text = R"({"model_type":"model2vec","architectures":["StaticModel"],)" + text;
  if (number + 1 == std::size(kCases)) text = kJina + text;
  std::vector<NamedFile> files = {{"config.json", kBert},
                                  {"tokenizer.json", kTokenizer},
                                  {"labels_tokenizer/tokenizer.json", kTokenizer},
                                  {"1_SpladePooling/config.json", "{}"},
                                  {"1_Dense/config.json", R"({"in_features":8,"out_features":4,"bias":false})"},
                                  {"config_sentence_transformers.json", "{}"}};
  if (one.modules) files.push_back({"modules.json", one.modules});
  if (one.head == HeadKind::kSpans) {
    std::erase_if(files, [](const NamedFile& file) { return file.name == "config_sentence_transformers.json"; });
    files.push_back({"model.safetensors.index.json", "{}"});  // loading ends there: the text has the encoder's sizes, too
  }
  std::erase_if(files, [&](const NamedFile& file) { return file.name == one.file || (is_whole && file.name == "tokenizer.json"); });
  files.push_back({one.file, std::move(text)});
  (void)ModelLoader::begin(files, {.head = one.head, .retrieval = one.retrieval}).ok();
  return 0;
}
