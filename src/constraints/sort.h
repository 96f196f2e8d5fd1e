// Sorting and removing duplicates. Heap sort takes a tenth of std::sort's code, which the module would have once per element type.
#pragma once

#include <algorithm>
#include <functional>

namespace wattn {

template <class List, class Less = std::less<>>
void sort_small(List& list, Less less = {}) {
  std::make_heap(list.begin(), list.end(), less);
  std::sort_heap(list.begin(), list.end(), less);
}

template <class List>
void sort_unique(List& list) {
  sort_small(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace wattn
