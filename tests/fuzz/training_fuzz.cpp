// libFuzzer: training with any options and texts gives a tokenizer.json that loads, or is rejected. Input: a byte
// for the kind of trainer, the other options as JSON members, a NUL, then texts as UTF-16 units with NULs between
// them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/training.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattn;
  if (size == 0) return 0;
  constexpr const char* kKinds[] = {"BPE", "WordPiece", "Unigram", "WordLevel", "Char"};
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t nul = std::min(input.find('\0'), input.size());
  const std::string description = std::string(R"({"trainer": {"special_tokens": ["<unk>"], "unk_token": "<unk>", "type": ")") +
                                  kKinds[data[0] % 5] + "\"" + std::string(input.substr(0, nul)) + "}" +
                                  (data[0] < 128 ? R"(, "pre_tokenizer": {"type": "Whitespace"}})" : "}");
  const Result<Json> json = Json::parse(description, "train");
  if (!json.ok()) return 0;
  Result<Training> training = Training::from_json(json.value().root());
  if (!training.ok()) return 0;

  const std::string_view rest = input.substr(nul);
  std::u16string text;
  for (std::size_t i = 1; i + 1 < rest.size(); i += 2) {
    const auto unit = static_cast<char16_t>(static_cast<std::uint8_t>(rest[i]) << 8 | static_cast<std::uint8_t>(rest[i + 1]));
    if (unit != 0) {
      text += unit;
    } else {
      (void)training.value().feed(text).ok();
      text.clear();
    }
  }
  (void)training.value().feed(text).ok();
  while (training.value().step()) {
  }
  const Result<std::string> file = training.value().result();
  if (!file.ok()) return 0;
  const Result<Json> trained = Json::parse(file.value(), "tokenizer.json");
  if (!trained.ok()) __builtin_trap();
  const Result<Tokenizer> tokenizer = Tokenizer::from_json(trained.value().root(), JsonRef());
  if (tokenizer.ok()) (void)tokenizer.value().encode(text, {}).ok();
  return 0;
}
