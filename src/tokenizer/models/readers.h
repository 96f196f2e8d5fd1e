// One reader per model; model.cpp lists them by "type".
#pragma once

#include "tokenizer/models/model.h"

namespace wattn {

using ModelResult = Result<std::unique_ptr<Model>>;

ModelResult read_wordpiece(JsonRef json, int depth);  // wordpiece.cpp

}  // namespace wattn
