// GGUF: every block type matches gguf-py, every truncated prefix is an error, and nothing is read past the end.
#include "io/gguf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <span>

#include "core/gguf.h"
#include "io/weight_loader.h"
#include "native/support/files.h"

namespace wattn {
namespace {

using test::golden;
using test::read_file;

constexpr const char* kTypes[] = {"f32",  "f16",  "bf16", "q4_0", "q4_1",   "q5_0",   "q5_1",  "q8_0",  "q2_k",
                                  "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0", "mxfp4"};
constexpr std::int64_t kRows = 2, kColumns = 512;

struct Loaded {
  std::vector<float> values = std::vector<float>(std::size(kTypes) * kRows * kColumns);
  Result<void> result;
};

Loaded load_types(const std::string& bytes, std::size_t chunk, std::uint64_t file_bytes) {
  Loaded out;
  std::vector<WeightTarget> targets;
  for (std::size_t type = 0; type < std::size(kTypes); ++type) {
    float* to = out.values.data() + static_cast<std::int64_t>(type) * kRows * kColumns;
    targets.push_back({.name = std::string(kTypes[type]) + ".weight",
                       .shape = {kRows, kColumns},
                       .write_row = [to](std::int64_t row, const float* values) {
                         std::memcpy(to + row * kColumns, values, kColumns * sizeof(float));
                       }});
  }
  WeightLoader loader(std::move(targets), {}, [](std::string_view name) { return std::string(name); });
  out.result = loader.begin_file("types.gguf", file_bytes);
  for (std::size_t at = 0; at < bytes.size() && out.result.ok(); at += chunk) {
    out.result = loader.push(std::string_view(bytes).substr(at, chunk));
  }
  if (out.result.ok()) out.result = loader.finish();
  return out;
}

TEST(Gguf, WidensEveryTypeAsInGgufPy) {
  const std::string bytes = read_file(golden("gguf/types.gguf"));
  const std::string expected = read_file(golden("gguf/types.f32"));
  for (const std::size_t chunk : {bytes.size(), std::size_t{1}, std::size_t{100}}) {
    const Loaded loaded = load_types(bytes, chunk, bytes.size());
    ASSERT_TRUE(loaded.result.ok()) << loaded.result.error().message;
    ASSERT_EQ(expected.size(), loaded.values.size() * sizeof(float));
    for (std::size_t i = 0; i < loaded.values.size(); ++i) {
      float value;
      std::memcpy(&value, expected.data() + i * sizeof(float), sizeof(float));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(loaded.values[i]), std::bit_cast<std::uint32_t>(value))
          << kTypes[i / (kRows * kColumns)] << " element " << i % (kRows * kColumns);
    }
  }
}

TEST(Gguf, EveryTruncatedPrefixIsAnError) {
  const std::string bytes = read_file(golden("gguf/types.gguf"));
  for (std::size_t size = 0; size < bytes.size(); size += size < 600 ? 1 : 97) {
    EXPECT_FALSE(load_types(bytes.substr(0, size), 4096, size).result.ok()) << size;          // a short file
    EXPECT_FALSE(load_types(bytes.substr(0, size), 4096, bytes.size()).result.ok()) << size;  // a truncated one
  }
}

TEST(Gguf, FlippedHeaderBytesNeverReadOutside) {
  const std::string bytes = read_file(golden("gguf/types.gguf"));
  for (std::size_t at = 4; at < 700; ++at) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string broken = bytes;
      broken[at] = static_cast<char>(broken[at] ^ flip);
      static_cast<void>(load_types(broken, broken.size(), broken.size()));  // the sanitizers watch
    }
  }
}

// key, type and value, little-endian.
std::string entry(const std::string& key, std::uint32_t type, const std::string& value) {
  std::string out;
  const auto add = [&](std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
  };
  add(key.size(), 8);
  out += key;
  add(type, 4);
  return out + value;
}

TEST(GgufMetadata, ReadsNumbersOfEveryType) {
  const std::string ff(8, '\xFF'), one = std::string("\x01") + std::string(7, '\0');
  const struct {
    std::uint32_t type;
    std::size_t bytes;
    double all_ones;
  } rows[] = {{0, 1, 255}, {1, 1, -1},  {2, 2, 65535},   {3, 2, -1}, {4, 4, 4294967295},
              {5, 4, -1},  {7, 1, 255}, {10, 8, 0x1p64}, {11, 8, -1}};
  std::string entries;
  for (const auto& row : rows) {
    entries += entry("f" + std::to_string(row.type), row.type, ff.substr(0, row.bytes));
    entries += entry("o" + std::to_string(row.type), row.type, one.substr(0, row.bytes));
  }
  const std::string count = std::string(1, '\x02') + std::string(7, '\0');
  entries += entry("real", 6, std::string("\0\0\x80\x3F", 4)) + entry("text", 8, one + "x");
  entries += entry("bytes", 9, std::string("\0\0\0\0", 4) + count + "ab") +
             entry("words", 9, std::string("\x08\0\0\0", 4) + one + one + "y");
  entries += entry("shorts", 9, std::string("\x03\0\0\0", 4) + count + std::string("\xFE\xFF\x02\0", 4));
  const auto file = [](std::uint32_t version, std::uint64_t number, const std::string& rest) {
    std::string out = "GGUF" + std::string(1, static_cast<char>(version)) + std::string(11, '\0') + static_cast<char>(number);
    return out + std::string(7, '\0') + rest;
  };
  const std::string bytes = file(3, 2 * std::size(rows) + 5, entries);
  const auto metadata = GgufMetadata::read(bytes);
  ASSERT_TRUE(metadata.ok()) << metadata.error().message;
  const GgufMetadata& m = metadata.value();
  for (const auto& row : rows) {
    EXPECT_EQ(m.number("f" + std::to_string(row.type)), row.all_ones) << row.type;
    EXPECT_EQ(m.number("o" + std::to_string(row.type)), 1) << row.type;
  }
  EXPECT_EQ(m.number("real"), 1);
  EXPECT_EQ(m.string("text"), "x");
  EXPECT_EQ(m.bytes("bytes"), "ab");
  EXPECT_EQ(m.numbers("shorts"), (std::vector<double>{-2, 2}));
  EXPECT_EQ(m.strings("words"), std::vector<std::string_view>{"y"});
  // None of another type, none without the key.
  for (const char* key : {"none", "real", "words", "bytes"}) EXPECT_FALSE(m.string(key)) << key;
  for (const char* key : {"none", "text", "words", "bytes"}) EXPECT_FALSE(m.number(key)) << key;
  for (const char* key : {"none", "text", "real", "bytes"}) EXPECT_TRUE(m.strings(key).empty()) << key;
  for (const char* key : {"none", "text", "real", "words"}) EXPECT_TRUE(m.numbers(key).empty()) << key;
  for (const char* key : {"none", "text", "real", "words", "shorts"}) EXPECT_TRUE(m.bytes(key).empty()) << key;
  EXPECT_FALSE(GgufMetadata::read(file(4, 0, "")).ok());
  EXPECT_TRUE(GgufMetadata::read(file(2, 0, "")).ok());
  EXPECT_FALSE(GgufMetadata::read(file(3, 1, entry("x", 13, ""))).ok());
}

// Every type whose blocks the library knows is in the golden file.
TEST(Gguf, NoTypeIsUntested) {
  for (const std::span<const BlockType> types : {block_types(), more_block_types()}) {
    for (const BlockType& type : types) {
      std::string lower(type.name);
      std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
      const bool is_tested = std::find(std::begin(kTypes), std::end(kTypes), lower) != std::end(kTypes);
      EXPECT_EQ(is_tested, type.widen != nullptr && type.number != kW8) << type.name;
    }
  }
}

TEST(Gguf, RowsThatAreNoWholeBlocksAreRefusedByTheNameOfTheType) {
  const std::string bytes = read_file(golden("gguf/types.gguf"));
  for (const char* type : kTypes) {
    std::string name(type), upper(type);
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
    name += ".weight";
    const std::size_t at = bytes.find(name) + name.size();
    std::string odd = bytes;
    odd[at + 4] = 100;  // the row: 100 columns
    odd[at + 5] = 0;
    const std::string message = load_types(odd, 4096, odd.size()).result.error().message;
    const bool is_plain = upper == "F32" || upper == "F16" || upper == "BF16";
    const std::string expected = is_plain ? "a byte range" : "rows of whole " + upper + " blocks of ";
    if (!is_plain) EXPECT_NE(message.find("types.gguf: tensor '" + name + "': expected " + expected), std::string::npos) << message;
    if (is_plain) EXPECT_NE(message, "") << name;
  }
}

TEST(Gguf, TypesThatAreNotReadAreNamedWithAFileToTake) {
  const std::string bytes = read_file(golden("gguf/types.gguf"));
  const std::size_t at = bytes.find("q8_0.weight") + std::strlen("q8_0.weight");
  for (const auto& [number, name] :
       {std::pair(21, "IQ3_S"), {16, "IQ2_XXS"}, {40, "NVFP4"}, {15, "Q8_K"}, {99, "ggml's type 99"}}) {
    std::string unknown = bytes;
    unknown[at + 4 + 16] = static_cast<char>(number);
    const auto result = load_types(unknown, 4096, unknown.size()).result;
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(
        result.error().message,
        "types.gguf: tensor 'q8_0.weight': expected a supported type (use a Q4_K_M or Q8_0 file), found " + std::string(name));
  }
}

}  // namespace
}  // namespace wattn
