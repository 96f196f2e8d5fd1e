// Sorting what is sorted only once or is short: heap sort is an order of magnitude less code than std::sort.
#pragma once

#include <algorithm>

namespace wattn {

// Not stable. O(n log n) in the worst case; one pass if the range is already sorted.
template <class Iterator, class Before>
void heap_sort(Iterator begin, Iterator end, Before before) {
  if (std::is_sorted(begin, end, before)) return;
  std::make_heap(begin, end, before);
  std::sort_heap(begin, end, before);
}

}  // namespace wattn
