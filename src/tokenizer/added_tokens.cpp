// build: -Os
#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/heap_sort.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

Result<AddedToken> read_added_token(JsonRef json) {
  Fields fields(json, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.id = fields.id("id");
  token.content = fields.string("content");
  token.single_word = fields.boolean("single_word");
  token.lstrip = fields.boolean("lstrip");
  token.rstrip = fields.boolean("rstrip");
  token.normalized = fields.boolean("normalized");
  token.special = fields.boolean("special");
  if (!fields.ok()) return fields.error();
  return token;
}

bool is_word(char32_t c) { return has_flag(c, kCharWord); }
bool is_whitespace(char32_t c) { return has_flag(c, kCharWhitespace); }

}  // namespace

Result<void> AddedTokens::check(JsonRef json) {
  const Result<AddedToken> token = read_added_token(json);
  return token.ok() ? Result<void>() : Result<void>(token.error());
}

Result<AddedTokens> AddedTokens::from_json(JsonRef json, const TokenModel& model, const Normalizer* normalizer) {
  AddedTokens tokens;
  if (json.is_null()) return tokens;
  if (!json.is_array()) return json.mismatch("an array of added tokens");
  for (std::size_t i = 0; i < json.size(); ++i) {
    Result<AddedToken> token = read_added_token(json[i]);
    if (!token.ok()) return token.error();
    if (const Result<void> added = tokens.add(std::move(token).value(), model, normalizer); !added.ok()) {
      return Error{added.error().code, json[i].where() + ": " + added.error().message};
    }
  }
  tokens.build_indices();
  return tokens;
}

Result<void> AddedTokens::add_special(const std::vector<std::string>& contents, const TokenModel& model) {
  for (const std::string& content : contents) {
    AddedToken token;
    token.content = content;
    token.special = true;
    if (auto added = add(std::move(token), model, nullptr); !added.ok()) return added.error();
  }
  build_indices();
  return {};
}

// As in the reference, the id is the one that the content already has, in the model or as an added token. Otherwise it is the next
// after the model's tokens, in file order. The file's own "id" is ignored.
Result<void> AddedTokens::add(AddedToken token, const TokenModel& model, const Normalizer* normalizer) {
  if (token.content.empty()) return {};
  token.shown = token.content;
  if (token.normalized && normalizer) {
    NormalizedText text = read_utf8(token.content);
    normalizer->normalize(text);
    if (text.is_too_long) return too_long_error();
    token.shown = to_utf8(std::u32string_view(text.chars));
  }
  token.spaces = spaces_around(to_utf32(token.shown));
  const auto [same, is_new] = by_content_.emplace(token.content, tokens_.size());
  if (!is_new) {
    AddedToken& before = tokens_[same->second];
    token.id = before.id;
    token.special = token.special || before.special;  // once special, always special
    before = std::move(token);
    return {};
  }
  if (const std::optional<std::int32_t> id = model.token_to_id(token.content)) {
    token.id = *id;
  } else {
    token.id = model.num_tokens() + static_cast<std::int32_t>(num_beyond_model_++);
    if (const auto taken = model.id_to_token(token.id)) {
      return model_format_error("\"" + token.content + "\" would get the id " + std::to_string(token.id) + ", which \"" +
                                std::string(*taken) + "\" of the model has");
    }
  }
  tokens_.push_back(std::move(token));
  return {};
}

void AddedTokens::build_indices() {
  std::vector<std::pair<std::u32string, std::int32_t>> raw, normalized;
  by_id_.clear();
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    by_id_.emplace_back(tokens_[i].id, i);
    (tokens_[i].normalized ? normalized : raw).emplace_back(to_utf32(tokens_[i].shown), static_cast<std::int32_t>(i));
  }
  heap_sort(by_id_.begin(), by_id_.end(), std::less<>());
  raw_trie_ = TokenTrie(raw);
  normalized_trie_ = TokenTrie(normalized);
}

bool AddedTokens::has_inner_spaces() const {
  const auto has_some = [](const std::string& content) {
    const std::u32string chars = to_utf32(content);
    const auto is_space = [](char32_t c) { return c == 0x2581 || is_whitespace(c); };
    return std::any_of(std::find_if_not(chars.begin(), chars.end(), is_space), chars.end(), is_space);
  };
  return std::ranges::any_of(tokens_, [&](const AddedToken& token) { return has_some(token.content) || has_some(token.shown); });
}

const AddedToken* AddedTokens::by_id(std::int32_t id) const {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, &std::pair<std::int32_t, std::size_t>::first);
  return found == by_id_.end() || found->first != id ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::by_content(std::string_view content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

namespace {

// The whitespace at both ends of a token's range [begin, end), whose content was found at [content_begin, content_end).
SpacesAround spaces_of(const AddedToken& token, std::size_t begin, std::size_t end, std::size_t content_begin,
                       std::size_t content_end) {
  const std::size_t before = static_cast<std::size_t>(token.spaces.before), after = static_cast<std::size_t>(token.spaces.after);
  const bool only_spaces = before == content_end - content_begin;
  return {static_cast<std::int32_t>(only_spaces ? end - begin : content_begin + before - begin),
          static_cast<std::int32_t>(only_spaces ? end - begin : end - (content_end - after))};
}

}  // namespace

// As in the reference, the search continues where the match ended, even if the match was rejected or took more whitespace. Ranges
// can therefore overlap when a token begins with whitespace.
std::vector<AddedTokens::Part> AddedTokens::find(std::u32string_view text, const TokenTrie& trie, bool leave_special) const {
  std::vector<Part> found;
  std::size_t done = 0;          // the text before this is in found
  std::size_t spaces_until = 0;  // where the whitespace that rstrip last scanned ends, so that none is scanned twice
  for (std::size_t position = 0; !trie.empty() && position < text.size();) {
    const TokenTrie::Match match = trie.may_begin(text[position]) ? trie.longest_at(text, position) : TokenTrie::Match{};
    if (match.value == TokenTrie::kNone) {
      ++position;
      continue;
    }
    std::size_t begin = position;
    std::size_t end = position += match.length;
    const std::size_t content_begin = begin, content_end = end;
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.value)];
    if (leave_special && token.special) continue;
    if (token.single_word && ((begin > 0 && is_word(text[begin - 1])) || (end < text.size() && is_word(text[end])))) continue;
    if (token.lstrip) {
      while (begin > done && is_whitespace(text[begin - 1])) --begin;
      begin = std::max(begin, done);
      if (begin >= end) continue;  // inside whitespace that the token before it took
    }
    if (token.rstrip) {
      end = std::max(end, std::min(spaces_until, text.size()));
      while (end < text.size() && is_whitespace(text[end])) ++end;
      spaces_until = end;
    }
    if (done < begin) found.push_back({done, begin, nullptr});
    found.push_back({begin, end, &token, spaces_of(token, begin, end, content_begin, content_end)});
    done = end;
  }
  if (done != text.size()) found.push_back({done, text.size(), nullptr});
  return found;
}

std::vector<AddedTokens::Part> AddedTokens::divide(std::u32string_view text, bool leave_special) const {
  std::vector<Part> out;
  for (const Part& raw : find(text, raw_trie_, leave_special)) {
    if (raw.token) {
      out.push_back(raw);
      continue;
    }
    for (Part part : find(text.substr(raw.begin, raw.end - raw.begin), normalized_trie_, leave_special)) {
      part.begin += raw.begin;
      part.end += raw.begin;
      out.push_back(part);
    }
  }
  return out;
}

PreTokenizedText AddedTokens::extract(NormalizedText raw, const Normalizer* normalizer, bool leave_special) const {
  PreTokenizedText out;
  // In the most common case, no token in the raw text, the whole text is normalized in place.
  const std::vector<Part> pieces = find(raw.chars, raw_trie_, leave_special);
  const auto add_normalized = [&](std::size_t begin) {
    for (const Part& part : find(std::u32string_view(out.text.chars).substr(begin), normalized_trie_, leave_special)) {
      out.splits.push_back({static_cast<std::uint32_t>(begin + part.begin), static_cast<std::uint32_t>(begin + part.end),
                            part.token ? part.token->id : Split::kNoToken});
      if (part.token) out.token_spaces.push_back(part.spaces);
    }
  };
  if (pieces.size() == 1 && !pieces[0].token) {
    out.text = std::move(raw);
    if (normalizer) normalizer->normalize(out.text);
    add_normalized(0);
    return out;
  }
  out.text = raw.next();
  NormalizedText piece = raw.next();
  for (const Part& part : pieces) {
    const std::size_t begin = out.text.size();
    if (part.token) {  // stored as one character, because ranges can overlap and only its span is still needed
      out.text.push(raw.chars[part.begin], raw.span_of(part.begin, part.end));
      out.splits.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + 1), part.token->id});
      out.token_spaces.push_back(part.spaces);
      continue;
    }
    piece.resize(0);
    piece.append(raw, part.begin, part.end);
    piece.origin = raw.spans[part.begin].begin;
    if (normalizer) normalizer->normalize(piece);
    out.text.append(piece, 0, piece.size());
    if (piece.is_too_long || out.text.is_too_long) {
      out.text.is_too_long = true;
      break;
    }
    add_normalized(begin);
  }
  return out;
}

}  // namespace wattn
