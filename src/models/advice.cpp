// Advice in errors about unsupported architectures: similar names, and what to use instead. Only the full WebAssembly has it.
#include "models/advice.h"

#include <algorithm>
#include <numeric>

#include "models/arch.h"

namespace wattn {
namespace {

// Beginnings of the names that people ask for, in lower case. The first that fits counts.
struct Advice {
  const char* text;
  const char* names;  // with a space after each
};
constexpr Advice kAdvice[] = {
    {"; this model reads images and text: use google/gemma-3-270m-it or google/gemma-3-1b-it", "gemma3n gemma4 "},
    {"; use Qwen/Qwen3-0.6B", "qwen3_5_moe qwen35moe qwen3_next qwen3next qwen3_vl_moe qwen2vl qwen3vl qwen4 "},
    {"; models of GLiClass run with zero-shot-classification", "gliclass "},
    {"; models of GLiNER2 find entities with zero-shot-ner, classify with zero-shot-classification, and extract structures with "
     "information-extraction",
     "extractor gliner2 "},
    {"; use google/flan-t5-small, facebook/bart-base or facebook/nllb-200-distilled-600M",
     "bigbird_pegasus pegasus_x prophetnet mvp plbart switch_transformers nllb-moe nllb_moe fsmt seamless_m4t t5gemma "},
    {"; for long texts use answerdotai/ModernBERT-base, which reads 8192 tokens",
     "big_bird bigbird nystromformer yoso mra mega reformer "},
    {"; use FacebookAI/xlm-roberta-base, or intfloat/multilingual-e5-small for embeddings",
     "rembert ernie_m xmod canine xlm-roberta-xl "},
    {"; layers with a recurrent state are not supported: use LiquidAI/LFM2-350M or ibm-granite/granite-4.0-350m",
     "mamba falcon_mamba falcon_h1 falcon-h1 nemotron_h jamba bamba zamba rwkv xlstm recurrent_gemma recurrentgemma kimi_linear "
     "olmo_hybrid plamo "},
    {"; mixture-of-experts decoders are not supported",
     "mixtral qwen2_moe qwen2moe qwen3_moe qwen3moe deepseek gpt_oss gpt-oss granitemoe lfm2_moe lfm2moe olmoe flex_olmo phimoe "
     "dbrx "
     "arctic jetmoe ernie4_5_moe hunyuan_v1_moe glm4_moe glm_moe exaone_moe cohere2_moe dots1 minimax afmoe bailing longcat "
     "llama4 "},
    {"; this model reads pages with their layout, or tables", "layoutlm layoutxlm lilt markuplm tapas udop "},
    {"; this is not a text model",
     "whisper wav2vec clip siglip vit llava blip idefics paligemma florence2 moonshine musicgen detr sam dino beit deit segformer "
     "swin "
     "resnet convnext yolo owl hubert wavlm sew unispeech speech encodec parakeet timm_ dpt_ donut trocr "},
};

// For names that are like no other.
constexpr const char* kOtherwise =
    "; use HuggingFaceTB/SmolLM2-135M-Instruct to generate text, or sentence-transformers/all-MiniLM-L6-v2 for embeddings";

std::string in_lower_case(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return out;
}

std::size_t common_letters(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// The Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, corner + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> alike(std::string_view given, std::vector<std::string_view> known) {
  constexpr std::size_t kMostSlips = 2, kMost = 3;
  const std::string name = in_lower_case(given);
  const auto keep = [&](const auto& is_alike, const auto& rank) {
    std::vector<std::string_view> out;
    std::copy_if(known.begin(), known.end(), std::back_inserter(out), is_alike);
    std::stable_sort(out.begin(), out.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    out.resize(std::min(out.size(), kMost));
    return out;
  };
  // More than two thirds of the shorter name: "gemma4" is like "gemma3_text", but "mobilegpt" is not like "mobilellm".
  const auto begins_alike = [&](std::string_view other) {
    return 3 * common_letters(name, in_lower_case(other)) > 2 * std::min(name.size(), other.size());
  };
  std::vector<std::string_view> out =
      keep(begins_alike, [&](std::string_view other) { return name.size() - common_letters(name, in_lower_case(other)); });
  if (out.empty() && name.size() > kMostSlips) {
    const auto distance = [&](std::string_view other) { return edit_distance(name, in_lower_case(other)); };
    out = keep([&](std::string_view other) { return distance(other) <= std::min(kMostSlips, name.size() / 3); }, distance);
  }
  return out;
}

std::string advice_on(std::string_view name, ArchName name_of, std::span<const Arch* const> common) {
  std::vector<std::string_view> known;
  for (const std::span<const Arch* const> archs : {kMoreArchs.archs, common}) {
    for (const Arch* arch : archs) {
      const char* own = name_of(*arch);
      if (own && own != name && std::find(known.begin(), known.end(), own) == known.end()) known.emplace_back(own);
    }
  }
  std::string out;
  const std::string lower = in_lower_case(name);
  for (const std::string_view other : alike(name, std::move(known))) {
    out += (out.empty() ? "; similar: \"" : ", \"") + std::string(other) + "\"";
  }
  for (const auto& [text, names] : kAdvice) {
    for (std::string_view rest = names; !rest.empty(); rest.remove_prefix(rest.find(' ') + 1)) {
      if (lower.starts_with(rest.substr(0, rest.find(' ')))) return out + text;
    }
  }
  return out.empty() ? kOtherwise : out;
}

}  // namespace wattn
