// Similar names, for errors about unknown ones.
#pragma once

#include <string_view>
#include <vector>

namespace wattn {

// Up to three of the names that share more than two thirds of the shorter name's beginning with an unknown one, the one with most
// letters in common first. If there are none, the names that are only a typo away. Case does not count.
std::vector<std::string_view> alike(std::string_view name, std::vector<std::string_view> known);

}  // namespace wattn
