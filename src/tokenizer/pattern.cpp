// build: -Os
#include "tokenizer/pattern.h"

#include "core/utf.h"
#include "tokenizer/component.h"

namespace wattn {
namespace {

constexpr std::size_t kLongestString = 1000;  // a search takes up to its length times the text's

}  // namespace

Result<Regex> read_regex(JsonRef json) {
  const Result<std::string_view> pattern = json.as_string();
  if (!pattern.ok()) return pattern.error();
  Result<Regex> regex = Regex::compile(to_utf32(pattern.value()));
  if (!regex.ok()) return unsupported_error(json.where() + ": " + regex.error().message);
  return regex;
}

Result<Pattern> Pattern::from_json(JsonRef json) {
  const bool is_regex = json["Regex"].exists();
  Fields fields(json, {is_regex ? "Regex" : "String"});
  Pattern pattern;
  if (!is_regex) pattern.text_ = to_utf32(fields.string("String"));
  if (pattern.text_.size() > kLongestString) fields.fail(fields["String"].mismatch("a string of at most 1000 characters"));
  if (!fields.ok()) return fields.error();
  if (is_regex || pattern.text_.empty()) {  // the empty string matches everywhere, as the empty regex does
    Result<Regex> regex = is_regex ? read_regex(json["Regex"]) : Regex::compile(U"");
    if (!regex.ok()) return regex.error();
    pattern.regex_.emplace(std::move(regex).value());
    const std::string_view text = is_regex ? json["Regex"].as_string().value() : "";
    pattern.matches_space_ = text == " {2,}" || text == "\\n";
  }
  return pattern;
}

void Pattern::find_all(std::u32string_view text, std::vector<TextMatch>& out) const {
  if (regex_) return regex_->find_all(text, out);
  for (std::size_t at = text.find(text_); at != std::u32string_view::npos; at = text.find(text_, at + text_.size())) {
    out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + text_.size())});
  }
}

bool Pattern::is_local(std::bitset<128>& tied) const {
  if (regex_ || text_.size() == 1) return !regex_ || matches_space_;
  for (const char32_t c : text_) {
    if (c <= U' ' || c >= tied.size()) return false;
    tied.set(c);
  }
  return true;
}

}  // namespace wattn
