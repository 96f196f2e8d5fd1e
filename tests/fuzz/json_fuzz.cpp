// Parses any bytes as JSON: the result is an error, or a document that serializes and parses to the same document.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattn;
  const auto read = Json::parse({reinterpret_cast<const char*>(data), size}, "file.json");
  if (!read.ok()) return 0;
  const std::string text = read.value().root().to_text();
  const auto again = Json::parse(text, "file.json");
  if (!again.ok() || again.value().root().to_text() != text) std::abort();
  return 0;
}
