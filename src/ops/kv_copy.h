// Copies inside the layouts of KvHead.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/pack.h"

namespace wattn {

// Rows of panels [panel][width][8]: some rows, from the first row of a panel on.
template <class T>
void copy_panels(const T* from, T* to, std::int64_t width, std::int64_t rows) {
  const std::int64_t whole = rows / kPanelWidth * width * kPanelWidth, rest = rows % kPanelWidth;
  std::copy_n(from, whole, to);
  for (std::int64_t at = whole; at < whole + width * kPanelWidth && rest > 0; at += kPanelWidth)
    std::copy_n(from + at, rest, to + at);
}

// Columns of panels [panel][length][8], from a place on.
template <class T>
void copy_columns(const T* from, std::int64_t length, T* to, std::int64_t to_length, std::int64_t width, std::int64_t rows) {
  for (std::int64_t column = 0; column < width; column += kPanelWidth) {
    std::copy_n(from + column * length, rows * kPanelWidth, to + column * to_length);
  }
}

}  // namespace wattn
