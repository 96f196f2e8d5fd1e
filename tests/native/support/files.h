// Reading test data: goldens and fixtures under WATTN_TEST_DATA, real checkpoints under WATTN_MODELS_DIR.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace wattn::test {

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline bool has_file(const std::string& path) { return std::ifstream(path, std::ios::binary).good(); }

inline std::string golden(const std::string& name) { return std::string(WATTN_TEST_DATA) + "/goldens/" + name; }
inline std::string real_model(const std::string& name) { return std::string(WATTN_MODELS_DIR) + "/" + name; }

inline std::vector<float> read_floats(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace wattn::test
