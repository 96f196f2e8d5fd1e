#include "constraints/formats.h"

#include <utility>

namespace wattn {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

// Parts of patterns, which others name as @name@.
constexpr Row kParts[] = {
    // RFC 3339, 5.6, with the days that months have.
    {"date",
     R"((?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))|@leap@-02-29))"},
    {"leap", R"((?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00))"},
    {"time", R"((?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d@part@(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)|23:59:60@part@[Zz]))"},
    {"part", R"((?:\.\d{1,9})?)"},
    {"times", R"(T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))"},
    // RFC 1123: labels of 1 to 63.
    {"label", R"([A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)"},
    {"atom", R"([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)"},
    {"byte", R"((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))"},
    {"ipv4", R"(@byte@(?:\.@byte@){3})"},
    // RFC 4291, 2.2, as RFC 3986 writes it in appendix A.
    {"h", R"([0-9A-Fa-f]{1,4})"},
    {"ls", R"((?:@h@:@h@|@ipv4@))"},
    {"ipv6", R"((?:(?:@h@:){6}@ls@|::(?:@h@:){5}@ls@|(?:@h@)?::(?:@h@:){4}@ls@|(?:(?:@h@:){0,1}@h@)?::(?:@h@:){3}@ls@)"
             R"(|(?:(?:@h@:){0,2}@h@)?::(?:@h@:){2}@ls@|(?:(?:@h@:){0,3}@h@)?::@h@:@ls@|(?:(?:@h@:){0,4}@h@)?::@ls@)"
             R"(|(?:(?:@h@:){0,5}@h@)?::@h@|(?:(?:@h@:){0,6}@h@)?::))"},
    // RFC 3986.
    {"char", R"((?:[A-Za-z0-9._~!$&'()*+,;=:\u0040-]|%[0-9A-Fa-f]{2}))"},
    {"path", R"((?:/@char@*)*)"},
    {"authority",
     R"((?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*\u0040)?(?:\[@ipv6@\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d*)?)"},
    {"tail", R"((?:\?(?:@char@|[/?])*)?(?:#(?:@char@|[/?])*)?)"},
    {"uri", R"([A-Za-z][A-Za-z0-9+.-]*:(?://@authority@@path@|/(?:@char@+@path@)?|@char@+@path@|)@tail@)"},
    {"segment", R"((?:[A-Za-z0-9._~!$&'()*+,;=\u0040-]|%[0-9A-Fa-f]{2})+)"},
};

constexpr Row kFormats[] = {
    {"date", "@date@"},
    {"time", "@time@"},
    {"date-time", "@date@[Tt]@time@"},
    {"duration", R"(P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)(?:@times@)?|@times@))"},
    {"email", R"(@atom@(?:\.@atom@)*\u0040@label@(?:\.@label@)+)"},
    {"hostname", R"((?=.{1,253}$)@label@(?:\.@label@)*)"},
    {"ipv4", "@ipv4@"},
    {"ipv6", "@ipv6@"},
    {"uri", "@uri@"},
    {"uri-reference", R"((?:@uri@|(?://@authority@@path@|/(?:@char@+@path@)?|@segment@@path@|)@tail@))"},
    {"uuid", R"([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})"},
    {"json-pointer", R"((?:/(?:[^~/]|~[01])*)*)"},
    {"relative-json-pointer", R"((?:0|[1-9]\d*)(?:#|(?:/(?:[^~/]|~[01])*)*))"},
};

std::string expanded(std::string_view pattern) {
  std::string out;
  while (!pattern.empty()) {
    const std::size_t begin = pattern.find('@');
    out += pattern.substr(0, begin);
    if (begin == std::string_view::npos) break;
    const std::size_t end = pattern.find('@', begin + 1);
    for (const auto& [name, part] : kParts)
      if (name == pattern.substr(begin + 1, end - begin - 1)) out += expanded(part);
    pattern.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

std::string format_pattern(std::string_view name) {
  for (const auto& [own, pattern] : kFormats)
    if (own == name) return expanded(pattern);
  return {};
}

}  // namespace wattn
