// The settings that the Metaspace pre-tokenizer and decoder share.
#pragma once

#include "core/json.h"
#include "core/result.h"

namespace wattn {

enum class PrependScheme { kNever, kFirst, kAlways };

struct MetaspaceSettings {
  char32_t replacement = 0x2581;
  PrependScheme prepend = PrependScheme::kAlways;
  bool split = true;
};

Result<MetaspaceSettings> read_metaspace_settings(JsonRef json);  // pre_tokenizers/metaspace.cpp

}  // namespace wattn
