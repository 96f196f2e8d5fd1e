// Strings of goldens that hold lone surrogates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wattn::test {

// The strings of a JSON file in order, as JavaScript reads them: lone surrogates stay, which a UTF-8 parser cannot do.
inline std::vector<std::u16string> read_js_strings(const std::string& json) {
  std::vector<std::u16string> out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] != '"') continue;
    std::u16string& text = out.emplace_back();
    for (++i; json[i] != '"'; ++i) {
      if (json[i] != '\\') {
        text.push_back(static_cast<char16_t>(json[i]));
      } else if (json[++i] == 'u') {
        text.push_back(static_cast<char16_t>(std::stoul(json.substr(i + 1, 4), nullptr, 16)));
        i += 4;
      } else {
        constexpr std::string_view kNames = "bfnrt", kValues = "\b\f\n\r\t";
        const std::size_t at = kNames.find(json[i]);
        text.push_back(static_cast<char16_t>(at == std::string_view::npos ? json[i] : kValues[at]));
      }
    }
  }
  return out;
}

}  // namespace wattn::test
