#include "tokenizer/scripts.h"

#include <algorithm>

#include "tokenizer/unicode_tables.h"

namespace wattn {

using namespace unicode_tables;

Scripts::Scripts() {
  char32_t first = 0;
  for (std::size_t i = 0; i < kNumScriptRuns; i += 2) {
    char32_t length = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t byte = kScriptRuns[i++];
      length |= static_cast<char32_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    runs_.push_back({first, kScriptRuns[i], kScriptRuns[i + 1]});
    first += length;
  }
}

const Scripts::Run& Scripts::run_of(char32_t code_point) const {
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), code_point, [](char32_t c, const Run& run) { return c < run.first; });
  return *(after - 1);
}

bool same_property_name(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  const auto next = [](std::string_view text, std::size_t& at) {
    while (at < text.size() && (text[at] == '_' || text[at] == '-' || text[at] == ' ')) ++at;
    if (at == text.size()) return '\0';
    const char c = text[at++];
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
  };
  for (;;) {
    const char c = next(a, i);
    if (c != next(b, j)) return false;
    if (c == '\0') return true;
  }
}

std::uint8_t Scripts::by_name(std::string_view name) {
  std::string_view names = kScriptNames;
  for (std::uint8_t script = 1; !names.empty(); ++script) {
    const std::size_t end = names.find(' ');
    if (same_property_name(names.substr(0, end), name)) return script;
    names.remove_prefix(end + 1);
  }
  return kNone;
}

}  // namespace wattn
