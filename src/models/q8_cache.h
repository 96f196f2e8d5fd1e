// Whether there are keys and values in 8 bits (ops/kv_q8.h).
#pragma once

namespace wattn {

bool has_q8_cache();

}  // namespace wattn
