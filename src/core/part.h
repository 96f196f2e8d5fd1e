// Parts that a program may lack: rare architectures, ops and formats. A part is a constant with functions; the file that defines it
// is linked only into programs that add it. bindings/all_parts.cpp adds everything, bindings/model.cpp what pages need.
#pragma once

namespace wattn {

template <class Functions>
class Part {
 public:
  // Null: this program lacks it.
  static const Functions* get() { return added; }
  static bool add(const Functions& functions) {
    added = &functions;
    return true;
  }

 private:
  static inline const Functions* added = nullptr;
};

}  // namespace wattn
