#include "ops/kv_q8.h"

#include <algorithm>
#include <cmath>

#include "kernels/pack.h"
#include "ops/kv_copy.h"

namespace wattn {
namespace {

// One token's row. place(column): the place of its number.
template <class Place>
void store_row(const float* row, std::int64_t width, const Q8Rows& to, std::int64_t token, const Place& place) {
  float* const scales = to.scales + token / kPanelWidth * to.groups * kPanelWidth + token % kPanelWidth;
  for (std::int64_t group = 0; group < to.groups; ++group) {
    const std::int64_t begin = group * Q8Rows::kGroup, end = std::min(width, begin + Q8Rows::kGroup);
    float most = 0;
    for (std::int64_t i = begin; i < end; ++i) most = std::max(most, std::abs(row[i]));
    const float scale = most / 127.0f, factor = most > 0 ? 127.0f / most : 0.0f;
    scales[group * kPanelWidth] = scale;
    for (std::int64_t i = begin; i < end; ++i) {
      const float x = row[i] * factor;
      const float near = x < 0 ? x - 0.5f : x + 0.5f;
      to.numbers[place(i)] =
          static_cast<std::int8_t>(near > -128.0f && near < 128.0f ? near : 0.0f);  // no number: its scale shows it
    }
  }
}

void store_q8(const AttentionShape& shape, std::int64_t kv_head, const KvRows& rows, std::int64_t position, const KvHead& to) {
  const std::int64_t key_dim = shape.head_dim, value_dim = shape.value_size();
  const std::int64_t value_stride = rows.value_stride > 0 ? rows.value_stride : rows.stride;
  const Q8Rows keys(to.keys, to.length, key_dim), values(to.values, to.length, value_dim);
  for (std::int64_t i = 0; i < rows.tokens; ++i) {
    const std::int64_t token = position + i;
    store_row(rows.keys + i * rows.stride + kv_head * key_dim, key_dim, keys, token,
              [&](std::int64_t column) { return (token / kPanelWidth * key_dim + column) * kPanelWidth + token % kPanelWidth; });
    const auto place = [&](std::int64_t column) {
      return (column / kPanelWidth * to.length + token) * kPanelWidth + column % kPanelWidth;
    };
    store_row(rows.values + i * value_stride + kv_head * value_dim, value_dim, values, token, place);
    for (std::int64_t column = value_dim; column % kPanelWidth != 0; ++column) values.numbers[place(column)] = 0;
  }
}

void unpack_q8(const AttentionShape& shape, const KvHead& from, std::int64_t tokens, const KvHead& to) {
  const std::int64_t key_dim = shape.head_dim, value_dim = shape.value_size();
  const Q8Rows keys(from.keys, from.length, key_dim), values(from.values, from.length, value_dim);
  for (std::int64_t panel = 0; panel * kPanelWidth < tokens; ++panel) {
    for (std::int64_t column = 0; column < key_dim; ++column) {
      const float* const scale = keys.scales + (panel * keys.groups + column / Q8Rows::kGroup) * kPanelWidth;
      const std::int64_t at = (panel * key_dim + column) * kPanelWidth;
      for (std::int64_t lane = 0; lane < kPanelWidth; ++lane) {
        to.keys[at + lane] = static_cast<float>(keys.numbers[at + lane]) * scale[lane];
      }
    }
  }
  for (std::int64_t column = 0; column < value_dim; column += kPanelWidth) {
    const float* const scales = values.scales + column / Q8Rows::kGroup * kPanelWidth;
    const std::int8_t* number = values.numbers + column * from.length;
    float* out = to.values + column * to.length;
    for (std::int64_t token = 0; token < tokens; ++token, number += kPanelWidth, out += kPanelWidth) {
      const float scale = scales[token / kPanelWidth * values.groups * kPanelWidth + token % kPanelWidth];
      for (std::int64_t lane = 0; lane < kPanelWidth; ++lane) out[lane] = static_cast<float>(number[lane]) * scale;
    }
  }
}

void copy_q8(const AttentionShape& shape, const HeadTokens& from, const HeadTokens& to, std::int64_t tokens) {
  const std::int64_t key_dim = shape.head_dim, value_dim = shape.value_size();
  const Q8Rows keys(from.head.keys, from.head.length, key_dim), to_keys(to.head.keys, to.head.length, key_dim);
  const Q8Rows values(from.head.values, from.head.length, value_dim), to_values(to.head.values, to.head.length, value_dim);
  copy_panels(keys.scales + from.begin * keys.groups, to_keys.scales + to.begin * keys.groups, keys.groups, tokens);
  copy_panels(keys.numbers + from.begin * key_dim, to_keys.numbers + to.begin * key_dim, key_dim, tokens);
  copy_panels(values.scales + from.begin * values.groups, to_values.scales + to.begin * values.groups, values.groups, tokens);
  copy_columns(values.numbers + from.begin * kPanelWidth, from.head.length, to_values.numbers + to.begin * kPanelWidth,
               to.head.length, value_dim, tokens);
}

}  // namespace

const Q8Cache kQ8Cache{store_q8, unpack_q8, copy_q8};

}  // namespace wattn
