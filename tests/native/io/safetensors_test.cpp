// The safetensors reader against every way a file can be broken.
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "core/json.h"
#include "io/weight_loader.h"
#include "native/support/files.h"

namespace wattn {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  std::string file;
  const std::uint64_t length = header.size();
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(length >> (8 * i)));
  return file + header + data;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

const std::string kHeader =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"F16","shape":[2],"data_offsets":[24,28]}})";

std::string small_file() {
  return file_of(kHeader, bytes_of<float>({1, 2, 3, 4, 5, 6}) + bytes_of<std::uint16_t>({0x3C00, 0xC000}));
}

struct Loaded {
  std::map<std::string, std::vector<float>> tensors;

  Result<void> load(const std::string& file, std::size_t chunk, std::vector<std::string> ignored = {}) {
    const auto target = [&](const char* name, Shape shape, bool required = true) {
      return WeightTarget{name, std::move(shape), required, [this, name](std::int64_t, const float* row) {
                            auto& values = tensors[name];
                            values.insert(values.end(), row, row + (name[0] == 'a' ? 3 : 2));
                          }};
    };
    WeightLoader loader({target("a", {2, 3}), target("b", {2})}, std::move(ignored),
                        [](std::string_view name) { return std::string(name); });
    if (auto begun = loader.begin_file("model.safetensors", file.size()); !begun.ok()) return begun;
    for (std::size_t at = 0; at < file.size(); at += chunk) {
      if (auto pushed = loader.push(std::string_view(file).substr(at, chunk)); !pushed.ok()) return pushed;
    }
    return loader.finish();
  }
};

void expect_error(const std::string& file, const std::string& part) {
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{1} << 20}) {
    Loaded loaded;
    const auto result = loaded.load(file, chunk);
    ASSERT_FALSE(result.ok()) << part;
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
    EXPECT_NE(result.error().message.find("model.safetensors"), std::string::npos) << result.error().message;
  }
}

TEST(Safetensors, ArrivesInPiecesOfAnySize) {
  for (std::size_t chunk = 1; chunk <= small_file().size(); ++chunk) {
    Loaded loaded;
    const auto result = loaded.load(small_file(), chunk);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(loaded.tensors["a"], (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(loaded.tensors["b"], (std::vector<float>{1, -2}));
  }
}

TEST(Safetensors, WidensDoublesAndRefusesWholeNumbers) {
  const std::string doubles =
      R"({"a":{"dtype":"F64","shape":[2,3],"data_offsets":[0,48]},"b":{"dtype":"F32","shape":[2],"data_offsets":[48,56]}})";
  Loaded loaded;
  ASSERT_TRUE(loaded.load(file_of(doubles, bytes_of<double>({1, 2, 3, 4, 5, 0.1}) + bytes_of<float>({7, 8})), 5).ok());
  EXPECT_EQ(loaded.tensors["a"], (std::vector<float>{1, 2, 3, 4, 5, 0.1f}));
  const std::string whole =
      R"({"a":{"dtype":"I32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"F32","shape":[2],"data_offsets":[24,32]}})";
  expect_error(file_of(whole, std::string(32, '\0')), "'a'");
}

TEST(Safetensors, EveryTensorComesOnceAndWhole) {
  const auto loader = [] {
    std::vector<WeightTarget> targets{{"a", {2, 3}, true, [](std::int64_t, const float*) {}},
                                      {"b", {2}, true, [](std::int64_t, const float*) {}}};
    return WeightLoader(std::move(targets), {}, [](std::string_view name) { return std::string(name); });
  };
  WeightLoader twice = loader();
  ASSERT_TRUE(twice.begin_file("1.safetensors", small_file().size()).ok());
  ASSERT_TRUE(twice.push(small_file()).ok());
  ASSERT_TRUE(twice.begin_file("2.safetensors", small_file().size()).ok());
  EXPECT_EQ(twice.push(small_file()).error().message, "2.safetensors: tensor 'a' is repeated");
  WeightLoader early = loader();
  ASSERT_TRUE(early.begin_file("1.safetensors", small_file().size()).ok());
  ASSERT_TRUE(early.push(small_file().substr(0, 30)).ok());
  EXPECT_EQ(early.begin_file("2.safetensors", 8).error().message,
            "1.safetensors: expected " + std::to_string(small_file().size()) + " bytes, found only 30 (cut off)");
}

// a and its twin b, both [2, 2], in either order; the error's words, or "ok".
std::string load_twins(const std::vector<float>& a, const std::vector<float>& b, bool twin_first) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":)" +
                             std::string(twin_first ? "[16,32]" : "[0,16]") +
                             R"(},"b":{"dtype":"F32","shape":[2,2],"data_offsets":)" + (twin_first ? "[0,16]" : "[16,32]") + "}}";
  const std::string file = file_of(header, twin_first ? bytes_of(b) + bytes_of(a) : bytes_of(a) + bytes_of(b));
  WeightLoader loader({{"a", {2, 2}, true, [](std::int64_t, const float*) {}}, {"b", {2, 2}, false, nullptr, "a"}}, {},
                      [](std::string_view name) { return std::string(name); });
  Result<void> result = loader.begin_file("model.safetensors", file.size());
  if (result.ok()) result = loader.push(file);
  if (result.ok()) result = loader.finish();
  return result.ok() ? "ok" : result.error().message;
}

TEST(Safetensors, TwinsMustHaveTheSameValues) {
  const std::string differs =
      "model.safetensors: tensor 'b': expected the values of 'a', to which config.json ties it, found different values";
  for (const bool twin_first : {false, true}) {
    EXPECT_EQ(load_twins({1, 2, 0, 4}, {1, 2, -0.0f, 4}, twin_first), "ok");
    EXPECT_EQ(load_twins({1, 2, 3, 4}, {1, 2, 4, 3}, twin_first), differs);
    EXPECT_EQ(load_twins({0, 0, 0, 1}, {0, 0, 1, 0}, twin_first), differs);
    EXPECT_EQ(load_twins({1, 2, 3, 4}, {0, 0, 0, 0}, twin_first), differs);
  }
}

// Blocks of 64 weights in 8 bits with a scale each, as copies in the cache have them.
std::string w8_of(const std::vector<float>& scales) {
  std::string out;
  for (const float scale : scales) {
    out += bytes_of<float>({scale});
    for (int i = 0; i < 64; ++i) out.push_back(static_cast<char>(i - 32));
  }
  return out;
}

struct HeldFile {
  std::vector<std::string> blocks;  // the rows that were taken as they are
  std::vector<float> values;        // the rows that were widened
  std::vector<std::uint8_t> held;

  Result<void> load(const std::string& file, bool takes_blocks) {
    WeightTarget matrix{"a", {2, 64}, true, [&](std::int64_t, const float* row) { values.insert(values.end(), row, row + 64); }};
    matrix.blocks = HeldBlocks::kGroups;
    matrix.write_blocks = [&](std::int64_t, const char* row) {
      if (takes_blocks) blocks.emplace_back(row, 68);
      return takes_blocks;
    };
    WeightLoader loader({matrix, {"b", {2, 64}, false, nullptr, "a"}}, {"c"},
                        [](std::string_view name) { return std::string(name); });
    if (auto begun = loader.begin_file("model.safetensors", file.size()); !begun.ok()) return begun;
    if (auto pushed = loader.push(file); !pushed.ok()) return pushed;
    auto finished = loader.finish();
    held = loader.held();
    return finished;
  }
};

constexpr char kW8Header[] = R"({"a":{"dtype":"W8","shape":[2,64],"data_offsets":[0,136]}})";

TEST(Safetensors, BlocksAreTakenAsTheyAreOrWidened) {
  const std::string data = w8_of({0.5f, 2});
  HeldFile taken;
  ASSERT_TRUE(taken.load(file_of(kW8Header, data), true).ok());
  EXPECT_EQ(taken.blocks, (std::vector<std::string>{data.substr(0, 68), data.substr(68)}));
  EXPECT_TRUE(taken.values.empty());
  EXPECT_EQ(taken.held, (std::vector<std::uint8_t>{255, 1}));
  HeldFile widened;
  ASSERT_TRUE(widened.load(file_of(kW8Header, data), false).ok());
  ASSERT_EQ(widened.values.size(), 128u);
  EXPECT_EQ(widened.values[3], 0.5f * (3 - 32));
  EXPECT_EQ(widened.values[127], 2.0f * (63 - 32));
  EXPECT_TRUE(widened.held.empty());  // memory may have other numbers than the file had that the blocks were made from
}

TEST(Safetensors, BlocksAreWholeRows) {
  const std::string data = w8_of({0.5f, 2});
  for (const char* shape : {"[2,32]", "[128]", "[]", "[2,65]"}) {
    HeldFile file;
    const std::string header = std::string(R"({"a":{"dtype":"W8","shape":)") + shape + R"(,"data_offsets":[0,136]}})";
    EXPECT_FALSE(file.load(file_of(header, data), true).ok()) << shape;
  }
  HeldFile cut;
  const std::string header = R"({"a":{"dtype":"W8","shape":[2,64],"data_offsets":[0,135]}})";
  EXPECT_FALSE(cut.load(file_of(header, data.substr(1)), true).ok());
}

TEST(WeightLoader, SaysHowMemoryHasEachTensor) {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2,64],"data_offsets":[0,512]},"b":{"dtype":"F32","shape":[2,64],"data_offsets":[512,1024]},)"
      R"("c":{"dtype":"F32","shape":[1],"data_offsets":[1024,1028]}})";
  HeldFile same;
  ASSERT_TRUE(same.load(file_of(header, std::string(1028, '\0')), true).ok());
  EXPECT_EQ(same.held, (std::vector<std::uint8_t>{255, 1, 3, 0}));  // in groups, the same again, ignored
}

TEST(Safetensors, EveryTruncatedPrefixIsAnError) {
  const std::string file = small_file();
  for (std::size_t length = 0; length < file.size(); ++length) {
    Loaded whole;  // the host reports the true length: the file itself is short
    EXPECT_FALSE(whole.load(file.substr(0, length), 5).ok()) << length;
  }
}

TEST(Safetensors, EveryChangedByteOfTheHeaderIsAnErrorOrLoads) {
  // Nothing may crash or read outside (the sanitizers watch); a changed length of the header is always an error.
  const std::string file = small_file();
  for (std::size_t at = 0; at < 8 + kHeader.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      Loaded loaded;
      const auto result = loaded.load(changed, 64);
      if (at < 8) {
        EXPECT_FALSE(result.ok()) << at << ", bit " << bit;
      }
    }
  }
}

TEST(Safetensors, HostileLengthsAreRejected) {
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{100'000'001}}) {
    std::string file = small_file();
    for (int i = 0; i < 8; ++i) file[i] = static_cast<char>(length >> (8 * i));
    expect_error(file, "header length");
  }
  expect_error(file_of(std::string(100000, '['), ""), "expected JSON");
}

// The reader of web/source has the same rules and is tested with the same headers.
TEST(Safetensors, HeadersAreCheckedAsInTheListOfCases) {
  const std::string text = test::read_file(std::string(WATTN_TEST_DATA) + "/fixtures/safetensors_headers.json");
  const Json json = Json::parse(text, "safetensors_headers.json").value();
  for (std::size_t i = 0; i < json.root().size(); ++i) {
    const JsonRef one = json.root()[i];
    const std::string header(one["header"].as_string().value());
    const std::uint64_t bytes = 8 + header.size() + static_cast<std::uint64_t>(one["data_bytes"].as_int().value());
    SCOPED_TRACE(one["name"].as_string().value());
    const auto length = safetensors_header_bytes(file_of(header, "").substr(0, 8), bytes, "model.safetensors");
    ASSERT_TRUE(length.ok()) << length.error().message;
    EXPECT_EQ(length.value(), header.size());
    const auto tensors = parse_safetensors_header(header, bytes, "model.safetensors");
    const std::string error(one["error"].as_string_or("").value());
    ASSERT_EQ(tensors.ok(), error.empty()) << (tensors.ok() ? error : tensors.error().message);
    if (tensors.ok()) continue;
    EXPECT_NE(tensors.error().message.find(error), std::string::npos) << tensors.error().message;
    EXPECT_NE(tensors.error().message.find("model.safetensors"), std::string::npos) << tensors.error().message;
  }
}

TEST(Safetensors, LeftoversAndCutFilesAreRejected) {
  expect_error(small_file() + "x", "bytes left over");
  expect_error(small_file().substr(0, small_file().size() - 1), "cut off");
}

TEST(Safetensors, NamesOtherKindsOfFiles) {
  expect_error("<!DOCTYPE html><html><body>Not found</body></html>", "HTML");
  expect_error("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "Git LFS");
  expect_error("", "0 bytes");
  expect_error("PK\x03\x04zipzipzipzip", "header length");
}

TEST(WeightLoader, NamesATensorThatIsMissingUnknownOrOfAnotherShapeOrType) {
  const auto named = [](const std::string& header, const std::string& data, const std::string& part) {
    expect_error(file_of(header, data), part);
  };
  named(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", std::string(24, '\0'),
        "expected tensor 'b' [2], found no such tensor");
  named(R"({"a":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}})", std::string(24, '\0'),
        "tensor 'a': expected shape [2, 3], found [3, 2]");
  named(R"({"c":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", std::string(24, '\0'),
        "tensor 'c' [2, 3]: this architecture has no such tensor");
  named(R"({"a":{"dtype":"I32","shape":[2,3],"data_offsets":[0,24]}})", std::string(24, '\0'),
        "tensor 'a': expected F32, F16, BF16 or F64, found I32");
}

TEST(WeightLoader, SkipsIgnoredTensors) {
  const std::string header =
      R"({"cls.x":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},"b":{"dtype":"F16","shape":[2],"data_offsets":[32,36]},"z":{"dtype":"F32","shape":[0],"data_offsets":[36,36]}})";
  const std::string file =
      file_of(header, std::string(8, '\x7F') + bytes_of<float>({1, 2, 3, 4, 5, 6}) + bytes_of<std::uint16_t>({0x3C00, 0xC000}));
  Loaded loaded;
  const auto result = loaded.load(file, 3, {"cls.*", "z"});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(loaded.tensors["b"], (std::vector<float>{1, -2}));
}

TEST(WeightLoader, NanAndInfinityAreNamedByPosition) {
  for (const auto& [value, word] :
       {std::pair{std::numeric_limits<float>::quiet_NaN(), "NaN"}, {-std::numeric_limits<float>::infinity(), "infinity"}}) {
    const std::string file = file_of(kHeader, bytes_of<float>({1, 2, 3, 4, value, 6}) + bytes_of<std::uint16_t>({0, 0}));
    expect_error(file, std::string("tensor 'a': expected finite numbers, found ") + word + " at row 1, column 1");
  }
}

TEST(HalfToFloat, WidensEveryHalfExactly) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    const float got = half_to_float(static_cast<std::uint16_t>(bits));
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(got), mantissa != 0);
    } else {
      const double exact =
          sign * (exponent ? std::ldexp(1 + mantissa / 1024.0, exponent - 15) : std::ldexp(mantissa / 1024.0, -14));
      ASSERT_EQ(got, exact) << bits;
      ASSERT_EQ(std::signbit(got), (bits & 0x8000) != 0);
    }
  }
}

}  // namespace
}  // namespace wattn
