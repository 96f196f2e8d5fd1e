#include "core/utf.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

// \w of Python: str.isalnum() and the underscore.
bool is_word(char32_t c) {
  const auto category = static_cast<std::size_t>(category_of(c));
  const char group = kCategoryNames[2 * category];
  return c == U'_' || group == 'L' || group == 'N';
}
// \s of Python: str.isspace().
bool is_space(char32_t c) { return has_flag(c, kCharWhitespace) || (c >= 0x1C && c <= 0x1F); }

// \w, marks, and the joiners that have no width.
bool is_wide_word(char32_t c) {
  return is_word(c) || kCategoryNames[2 * static_cast<std::size_t>(category_of(c))] == 'M' || c == 0x200C || c == 0x200D;
}

// [a-z] of Python without regard to case, which has four letters beyond ASCII.
bool is_latin(char16_t c) {
  return static_cast<unsigned>((c | 32) - u'a') < 26 || c == 0x130 || c == 0x131 || c == 0x17F || c == 0x212A;
}
bool is_latin_or(char16_t c, std::u16string_view others) {
  return is_latin(c) || (c >= u'0' && c <= u'9') || others.find(c) != std::u16string_view::npos;
}

// Where the characters from `at` on end that are_in() accepts.
template <class AreIn>
std::size_t run_end(std::u16string_view text, std::size_t at, const AreIn& are_in) {
  while (at < text.size() && are_in(text[at])) ++at;
  return at;
}

// Addresses as words; each returns the end of one that begins at `at`, or `at`.
class Addresses {
 public:
  explicit Addresses(std::u16string_view text) : text_(text) {}

  // https?://\S+|www\.\S+
  std::size_t url(std::size_t at) const {
    for (const std::u16string_view start : {u"https://", u"http://", u"www."}) {
      if (!begins(at, start)) continue;
      std::size_t end = at + start.size();
      for (std::size_t next = end; next < text_.size() && !is_space(next_code_point(text_, next)); end = next) {
      }
      if (end > at + start.size()) return end;
    }
    return at;
  }

  // [a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}. What follows the first part is looked at once for all places in it.
  std::size_t mail(std::size_t at) {
    const auto is_local = [](char16_t c) { return is_latin_or(c, u"._%+-"); };
    if (at >= local_end_) {
      local_end_ = run_end(text_, at, is_local);
      if (local_end_ == at) {
        ++local_end_;
        mail_end_ = 0;
        return at;
      }
      mail_end_ = local_end_ < text_.size() && text_[local_end_] == u'@' ? domain(local_end_ + 1) : 0;
    }
    return mail_end_ > 0 && is_local(text_[at]) ? mail_end_ : at;
  }

  // @[a-z0-9_]+
  std::size_t mention(std::size_t at) const {
    if (text_[at] != u'@') return at;
    const std::size_t end = run_end(text_, at + 1, [](char16_t c) { return is_latin_or(c, u"_"); });
    return end > at + 1 ? end : at;
  }

 private:
  bool begins(std::size_t at, std::u16string_view start) const {
    if (text_.size() - at < start.size()) return false;
    for (std::size_t i = 0; i < start.size(); ++i) {
      const char16_t c = text_[at + i];
      const bool is_same = c == start[i] || (start[i] >= u'a' && (c | 32) == start[i]) || (start[i] == u's' && c == 0x17F);
      if (!is_same) return false;
    }
    return true;
  }
  // The end of the longest domain that begins at `at`; 0: there is none.
  std::size_t domain(std::size_t at) const {
    const std::size_t end = run_end(text_, at, [](char16_t c) { return is_latin_or(c, u".-"); });
    for (std::size_t dot = end; dot-- > at + 1;) {
      if (text_[dot] != u'.') continue;
      const std::size_t letters = run_end(text_, dot + 1, is_latin);
      if (letters >= dot + 3) return letters;
    }
    return 0;
  }

  std::u16string_view text_;
  std::size_t local_end_ = 0, mail_end_ = 0;
};

// The end of a word whose first character ends at `end`. A - or _ joins words; the underscore is one of their characters too.
template <class IsWord>
std::size_t word_end(std::u16string_view text, std::size_t end, const IsWord& is_word_character) {
  for (std::size_t next = end;; next = end) {
    if (next < text.size() && text[next] == u'-') ++next;
    if (next >= text.size() || !is_word_character(next_code_point(text, next))) return end;
    end = next;
  }
}

// Unicode's Cased and Case_Ignorable, which a final sigma goes by.
bool is_cased(char32_t c) {
  const std::string_view name = kCategoryNames.substr(2 * static_cast<std::size_t>(category_of(c)), 2);
  const auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  // Ordinals, Roman numerals and circled letters have a case, too.
  return name == "Lu" || name == "Ll" || name == "Lt" || c == 0xAA || c == 0xBA || within(0x2160, 0x217F) ||
         within(0x24B6, 0x24E9) || within(0x1F130, 0x1F149) || within(0x1F150, 0x1F169) || within(0x1F170, 0x1F189);
}
bool is_case_ignorable(char32_t c) {
  const std::string_view name = kCategoryNames.substr(2 * static_cast<std::size_t>(category_of(c)), 2);
  constexpr std::u32string_view kWithin =
      U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  return name == "Mn" || name == "Me" || name == "Cf" || name == "Lm" || name == "Sk" ||
         kWithin.find(c) != std::u32string_view::npos;
}
bool begins_cased(std::u16string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (!is_case_ignorable(c)) return is_cased(c);
  }
  return false;
}

}  // namespace

std::vector<TextSpan> split_words(std::u16string_view text) {
  std::vector<TextSpan> words;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const char32_t first = next_code_point(text, end);
    if (is_space(first)) continue;
    if (is_word(first)) end = word_end(text, end, is_word);
    words.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
  }
  return words;
}

std::vector<TextSpan> split_words_and_addresses(std::u16string_view text) {
  std::vector<TextSpan> words;
  Addresses addresses(text);
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const char32_t first = next_code_point(text, end);
    if (is_space(first)) continue;
    std::size_t address = addresses.url(begin);
    if (address == begin) address = addresses.mail(begin);
    if (address == begin) address = addresses.mention(begin);
    if (address != begin) {
      end = address;
    } else if (is_wide_word(first)) {
      end = word_end(text, end, is_wide_word);
    }
    words.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
  }
  return words;
}

std::u16string lower_case(std::u16string_view text) {
  constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2;
  std::u16string out;
  bool is_in_word = false;  // a letter with a case is before, with what is_case_ignorable() beside it alone
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    char32_t lower[2];
    const int count = to_lowercase(c, lower);
    if (c == kSigma && is_in_word && !begins_cased(text.substr(at))) lower[0] = kFinalSigma;
    for (int i = 0; i < count; ++i) {
      char16_t units[2];
      out.append(units, write_utf16(lower[i], units));
    }
    if (!is_case_ignorable(c)) is_in_word = is_cased(c);
  }
  return out;
}

}  // namespace wattn
