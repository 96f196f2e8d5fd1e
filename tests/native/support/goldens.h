// Goldens: JSON with a file of floats (tools/goldens), and bounds for rounding.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "native/support/files.h"

namespace wattn::test {

using Ids = std::vector<std::int32_t>;

inline Json read_json(const std::string& path) { return std::move(Json::parse(read_file(golden(path)), path)).value(); }

inline Ids to_ids(JsonRef array) {
  Ids out;
  for (std::size_t i = 0; i < array.size(); ++i) out.push_back(static_cast<std::int32_t>(array[i].as_int().value()));
  return out;
}

inline std::vector<float> to_floats(JsonRef array) {
  std::vector<float> out;
  out.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) out.push_back(static_cast<float>(array[i].as_number().value()));
  return out;
}

// The names in folder/cases.json.
inline std::vector<std::string> case_names(const std::string& folder) {
  const Json list = read_json(folder + "cases.json");
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.root().size(); ++i) out.emplace_back(list.root()[i].as_string().value());
  return out;
}

// From torch's difference of f32 and f64 in the worst tensor of the kind (its name up to the first dot).
inline double bound(JsonRef tensors, std::string_view name) {
  const std::string_view kind = name.substr(0, name.find('.'));
  double torch = 0, largest = 0;
  for (const auto& [other, tensor] : tensors.members()) {
    if (!other.starts_with(kind)) continue;
    torch = std::max(torch, tensor["f32_diff"].as_number().value());
    largest = std::max(largest, tensor["max_abs"].as_number().value());
  }
  return 4 * std::max(torch, largest * 0x1p-23);
}

// The same over all inputs of a case: f32_diff is a single measurement of rounding, and some inputs have few numbers.
inline double bound_of_case(JsonRef inputs, std::string_view name) {
  double most = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) most = std::max(most, bound(inputs[i]["tensors"], name));
  return most;
}

// Root mean square of the difference to f32, against that of f32's own values.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& exact) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += (got[i] - exact[i]) * (got[i] - exact[i]);
    size += exact[i] * exact[i];
  }
  return std::sqrt(difference / size);
}

// got, or only the rows in about["rows"]. shape: [..., rows, columns]
inline std::vector<float> golden_rows(std::span<const float> got, JsonRef about) {
  const JsonRef rows = about["rows"], shape = about["shape"];
  if (rows.is_null()) return {got.begin(), got.end()};
  const auto columns = static_cast<std::size_t>(shape[shape.size() - 1].as_int().value());
  const std::size_t matrices = shape.size() == 3 ? static_cast<std::size_t>(shape[0].as_int().value()) : 1;
  const std::size_t matrix = got.size() / matrices;
  std::vector<float> out;
  for (std::size_t i = 0; i < matrices; ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const std::size_t from = i * matrix + static_cast<std::size_t>(rows[j].as_int().value()) * columns;
      for (std::size_t k = 0; k < columns && from + k < got.size(); ++k) out.push_back(got[from + k]);
    }
  }
  return out;
}

// about: {offset, shape} of a tensor in all; {rows} if it has only some rows.
inline void expect_near(std::span<const float> whole, JsonRef about, const std::vector<float>& all, double bound,
                        const std::string& what) {
  const std::vector<float> got = golden_rows(whole, about);
  std::size_t count = 1;
  for (std::size_t i = 0; i < about["shape"].size(); ++i) count *= static_cast<std::size_t>(about["shape"][i].as_int().value());
  ASSERT_EQ(got.size(), count) << what;
  const auto offset = static_cast<std::size_t>(about["offset"].as_int().value());
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double difference = std::abs(got[i] - all[offset + i]);
    worst = difference > worst || std::isnan(difference) ? difference : worst;
  }
  EXPECT_LE(worst, bound) << what;
}

}  // namespace wattn::test
