// Extended grapheme clusters (Unicode 17.0, UAX 29): user-perceived characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace wattn {

// The end of the cluster that begins at text[begin]; begin < text.size(). Pairs of regional indicators (flags) are not joined.
std::size_t grapheme_end(std::u32string_view text, std::size_t begin);

}  // namespace wattn
