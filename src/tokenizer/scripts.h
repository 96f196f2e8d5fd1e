// Scripts of code points, from a table of runs that the constructor decodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace wattn {

class Scripts {
 public:
  static constexpr std::uint8_t kNone = 0;

  Scripts();

  // A script's number by its name ("Han", "Old_Italic"), ignoring case, '_', '-' and spaces. kNone if there is no such script.
  static std::uint8_t by_name(std::string_view name);

  std::uint8_t of(char32_t code_point) const { return run_of(code_point).script; }
  std::uint8_t of_in_unicode_9(char32_t code_point) const { return run_of(code_point).script_in_9; }

 private:
  struct Run {
    char32_t first;
    std::uint8_t script;
    std::uint8_t script_in_9;
  };
  const Run& run_of(char32_t code_point) const;

  std::vector<Run> runs_;  // sorted by first, which is 0 in the first run
};

// Whether two names of a Unicode property are equal, ignoring case, '_', '-' and spaces.
bool same_property_name(std::string_view a, std::string_view b);

}  // namespace wattn
