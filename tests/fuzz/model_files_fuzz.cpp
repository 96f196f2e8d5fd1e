// Replaces one of a model's JSON files with any text: the result is an error or a loader, never a crash.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/model.h"

namespace {

constexpr const char* kConfig =
    R"({"model_type":"bert","vocab_size":6,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,)"
    R"("max_position_embeddings":8,"type_vocab_size":2,"hidden_act":"gelu"})";
constexpr const char* kTokenizer =
    R"({"version":"1.0","added_tokens":[],"normalizer":{"type":"BertNormalizer","clean_text":true,)"
    R"("handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
    R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0,"a":1}}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattn;
  if (size == 0) return 0;
  constexpr std::array<const char*, 8> kNames = {"config.json",
                                                 "tokenizer.json",
                                                 "tokenizer_config.json",
                                                 "modules.json",
                                                 "1_Pooling/config.json",
                                                 "sentence_bert_config.json",
                                                 "config_sentence_transformers.json",
                                                 "model.safetensors.index.json"};
  std::vector<NamedFile> files = {
      {"config.json", kConfig},
      {"tokenizer.json", kTokenizer},
      {"modules.json", R"([{"path":"","type":"st.Transformer"},{"path":"1_Pooling","type":"st.Pooling"}])"},
      {"1_Pooling/config.json", R"({"pooling_mode":"mean"})"}};
  const char* name = kNames[data[0] % kNames.size()];
  std::erase_if(files, [&](const NamedFile& file) { return file.name == name; });
  // A config may ask for gigabytes of weights, which is the allocator's business: there, loading ends at the tokenizer.
  if (std::string_view(name) == "config.json")
    std::erase_if(files, [](const NamedFile& file) { return file.name == "tokenizer.json"; });
  files.push_back({name, std::string(reinterpret_cast<const char*>(data) + 1, size - 1)});
  (void)ModelLoader::begin(files, {}).ok();
  return 0;
}
