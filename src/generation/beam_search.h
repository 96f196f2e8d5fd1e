// Beam search as in transformers (generation/utils.py, _beam_search, v5.23.0).
#pragma once

#include <memory>

#include "generation/search.h"

namespace wattn {

std::unique_ptr<Search> make_beam_search(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab,
                                         const Kernels& kernels, Search::Stops stops);

}  // namespace wattn
