// The rates of dropout in config.json.
#pragma once

#include "core/json.h"
#include "ops/dropout.h"

namespace wattn {

// Under the names of the model's architecture; 0 where it has none.
DropoutRates read_dropout_rates(JsonRef config);

}  // namespace wattn
