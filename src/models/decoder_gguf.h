// A GGUF file of a decoder, as the documents of the repository it was made from.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn {

// header: the beginning of the file, with its whole header. Gives config.json, generation_config.json and tokenizer_config.json,
// or the files that the model was packed with.
Result<std::vector<std::pair<std::string, std::string>>> gguf_decoder_documents(std::string_view header, std::string_view file);

}  // namespace wattn
