#include "models/q8_cache.h"

namespace wattn {

bool has_q8_cache() { return true; }

}  // namespace wattn
