// Sorting what is sorted once, or is short: a heap's sort is an order of magnitude less code than std::sort.
#pragma once

#include <algorithm>

namespace wattn {

// Not stable; n log n in the worst case too, and one pass over what is sorted already.
template <class Iterator, class Before>
void heap_sort(Iterator begin, Iterator end, Before before) {
  if (std::is_sorted(begin, end, before)) return;
  std::make_heap(begin, end, before);
  std::sort_heap(begin, end, before);
}

}  // namespace wattn
