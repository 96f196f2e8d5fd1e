// Extended grapheme clusters (Unicode 17.0, UAX 29): what a reader takes for one character.
#pragma once

#include <cstddef>
#include <string_view>

namespace wattn {

// Where the cluster ends that begins at text[begin]; begin < text.size(). Pairs of regional indicators (flags) are not joined.
std::size_t grapheme_end(std::u32string_view text, std::size_t begin);

}  // namespace wattn
