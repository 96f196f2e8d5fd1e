// Names that are alike, for messages about one that is not known.
#pragma once

#include <string_view>
#include <vector>

namespace wattn {

// Up to three of the names that begin as an unknown one does, the one with most letters in common first. If there are none, those
// that are a slip away.
std::vector<std::string_view> alike(std::string_view name, std::vector<std::string_view> known);

}  // namespace wattn
