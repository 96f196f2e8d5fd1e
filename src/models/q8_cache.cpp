#include "models/q8_cache.h"

#include "core/part.h"
#include "ops/kv_q8.h"

namespace wattn {

bool has_q8_cache() { return Part<Q8Cache>::get() != nullptr; }

}  // namespace wattn
