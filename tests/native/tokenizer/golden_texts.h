// The texts of tests/goldens/minilm/texts.json, and helpers for the goldens of tokenizers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf.h"
#include "native/support/files.h"
#include "native/tokenizer/sha256.h"

namespace wattn::test {

// The strings of a JSON file in order, as JavaScript reads them: keeps lone surrogates, which a UTF-8 parser cannot do.
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

inline const std::vector<std::u16string>& golden_texts() {
  static const std::vector<std::u16string> all = [] {
    const std::vector<std::u16string> strings = read_js_strings(read_file(golden("minilm/texts.json")));
    std::vector<std::u16string> out;
    for (std::size_t i = 1; i < strings.size(); i += 2) out.push_back(strings[i]);  // [[kind, text], ...]
    return out;
  }();
  return all;
}

// The number of code points before each UTF-16 unit.
inline std::vector<std::int32_t> code_points_before(std::u16string_view text) {
  std::vector<std::int32_t> out(text.size() + 1);
  std::int32_t count = 0;
  for (std::size_t position = 0; position < text.size(); ++count) {
    const std::size_t begin = position;
    next_code_point(text, position);
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin), out.begin() + static_cast<std::ptrdiff_t>(position), count);
  }
  out[text.size()] = count;
  return out;
}

template <class Values>
std::string json_list(const Values& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + std::to_string(values[i]);
  return out + "]";
}

inline std::string short_hash(const std::string& text) { return sha256_hex(text).substr(0, 16); }

}  // namespace wattn::test
