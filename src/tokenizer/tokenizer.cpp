// build: -Os
#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "core/part.h"
#include "core/utf.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/ascii_words.h"
#include "tokenizer/byte_words.h"
#include "tokenizer/component.h"
#include "tokenizer/decode_table.h"
#include "tokenizer/decoders/clean_up.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/stage_words.h"
#include "tokenizer/text_tokens.h"
#include "tokenizer/truncation.h"

namespace wattn {
namespace {

constexpr std::size_t kLongestText = INT32_MAX;  // offsets are 32 bits wide
constexpr double kNoLimit = 1e9;                 // Python writes 10^30 for "no limit"

bool has_spans(const EncodeOptions& options) { return !options.ids_only && !options.without_spans; }

void add_special_tokens(const TemplatePiece& piece, const EncodeOptions& options, Encoding& out) {
  for (const std::int32_t id : piece.ids) {
    out.ids.push_back(id);
    if (options.ids_only) continue;
    out.type_ids.push_back(piece.type_id);
    out.special_tokens_mask.push_back(1);
    out.sequence_ids.push_back(-1);
    if (options.without_spans) continue;
    out.offsets.push_back({});
    out.word_ids.push_back(-1);
  }
}

template <class T>
void append(std::vector<T>& out, const std::vector<T>& from, TokenWindow window) {
  out.insert(out.end(), from.begin() + static_cast<std::ptrdiff_t>(window.begin),
             from.begin() + static_cast<std::ptrdiff_t>(window.end));
}

struct TextOfTokens {
  std::u16string_view chars;
  const TextTokens& tokens;
};

void add_text(const TemplatePiece& piece, const TextOfTokens& of, TokenWindow window, const std::vector<OffsetTrim>& trims,
              const EncodeOptions& options, Encoding& out) {
  const TextTokens& text = of.tokens;
  const std::size_t begin = out.offsets.size();
  append(out.ids, text.ids, window);
  if (!text.texts.empty()) append(out.tokens, text.texts, window);
  if (options.ids_only) return;
  out.type_ids.resize(out.ids.size(), piece.type_id);
  out.special_tokens_mask.resize(out.ids.size(), 0);
  out.sequence_ids.resize(out.ids.size(), piece.kind == TemplatePiece::kFirst ? 0 : 1);
  if (options.without_spans) return;
  append(out.offsets, text.offsets, window);
  for (const OffsetTrim& trim : trims) {
    for (std::size_t i = window.begin; i < window.end; ++i) {
      trim.apply(of.chars, text.spaces[i], i == window.begin, out.offsets[begin + i - window.begin]);
    }
  }
  append(out.word_ids, text.word_ids, window);
}

Error decoded_too_long() { return out_of_memory_error("decode: expected a text of at most 2^28 bytes, found a longer one"); }

// model_max_length of tokenizer_config.json: any number; Python writes "no limit" as a huge one.
Result<std::optional<std::int32_t>> read_max_length(JsonRef json) {
  if (json.is_null()) return std::optional<std::int32_t>();
  const Result<double> length = json.as_number();
  if (!length.ok()) return length.error();
  if (!(length.value() >= 1)) return json.mismatch("a number of tokens");
  if (length.value() > kNoLimit) return std::optional<std::int32_t>();
  return std::optional<std::int32_t>(static_cast<std::int32_t>(length.value()));
}

}  // namespace

struct Tokenizer::Parts {
  std::unique_ptr<Normalizer> normalizer;       // may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // may be null
  std::unique_ptr<TokenModel> model;
  std::unique_ptr<Decoder> decoder;  // null: tokens are joined with spaces
  PostProcessor post_processor;
  AddedTokens added_tokens;
  std::optional<std::int32_t> model_max_length;
  std::optional<std::int32_t> truncation_max_length;
  TokenizerOrigin origin;
  bool is_bpe = false;

  // Fast paths; null: these stages have none.
  std::unique_ptr<AsciiWords> ascii_words;
  std::unique_ptr<ByteWords> byte_words;
  std::unique_ptr<ByteWords> stage_words;  // for ids alone
  std::unique_ptr<DecodeTable> decode_table;

  ShownTokens shown() const { return {added_tokens, *model}; }

  void find_fast_path() {
    const auto* tables = Part<DecodeTableMaker>::get();
    decode_table = tables && decoder ? tables->make(*decoder, shown()) : nullptr;
    const auto* maker = Part<ByteWordsMaker>::get();
    byte_words = maker ? maker->make(normalizer.get(), pre_tokenizer.get(), added_tokens, *model) : nullptr;
    const auto* stages = Part<StageWordsMaker>::get();
    stage_words = stages && !byte_words ? stages->make(normalizer.get(), pre_tokenizer.get(), added_tokens, *model) : nullptr;
    ascii_words.reset();
    if (!post_processor.trims.empty()) return;
    ascii_words = AsciiWords::make(normalizer.get(), pre_tokenizer.get(), added_tokens, *model);
  }
  // false: the text needs the stages.
  bool tokenize_bytes(std::string_view utf8, const EncodeOptions& options, TextTokens& out) const {
    if (options.return_tokens) return false;
    using Wanted = ByteWords::Wanted;
    if (stage_words && !has_spans(options)) return stage_words->tokenize(utf8, options.split_special_tokens, Wanted::kIds, out);
    if (!byte_words) return false;
    const Wanted wanted = !has_spans(options) ? Wanted::kIds : post_processor.trims.empty() ? Wanted::kSpans : Wanted::kSpaces;
    return byte_words->tokenize(utf8, options.split_special_tokens, wanted, out);
  }
  Result<TextTokens> tokenize(std::u16string_view text, const EncodeOptions& options) const;
  // Appends the tokens of text, which begins at offset origin of the whole text.
  Result<void> tokenize_by_stages(std::u16string_view text, std::int32_t origin, const EncodeOptions& options,
                                  TextTokens& out) const;
  Result<Encoding> encode(std::u16string_view first, const std::u16string_view* second, const EncodeOptions& options) const;
  // Truncates, and adds special tokens. No text is read for ids alone; second.tokens may be null.
  Result<Encoding> finish(TextOfTokens first, const TextOfTokens* second, const EncodeOptions& options) const;
  Result<std::string> decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const;
  Result<std::string> to_text(std::vector<std::string> tokens) const;
};

Result<Tokenizer> Tokenizer::from_json(JsonRef tokenizer_json, JsonRef changed, const std::vector<std::string_view>& vocab) {
  if (!tokenizer_json.is_object()) return tokenizer_json.mismatch("a tokenizer (an object)");
  Fields file(tokenizer_json, {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                               "decoder", "model"});
  if (const JsonRef version = file["version"]; !version.is_null() && file.string("version") != "1.0") {
    file.fail(unsupported_error(version.where() + ": expected version \"1.0\", found " + version.describe()));
  }
  const auto part = [&](std::string_view key) { return option_of(tokenizer_json, changed, key); };
  auto parts = std::make_unique<Parts>();
  if (!part("normalizer").is_null()) parts->normalizer = file.take(read_normalizer(part("normalizer")));
  if (!part("pre_tokenizer").is_null()) parts->pre_tokenizer = file.take(read_pre_tokenizer(part("pre_tokenizer")));
  if (!part("decoder").is_null()) parts->decoder = file.take(read_decoder(part("decoder")));
  parts->post_processor = file.take(read_post_processor(part("post_processor")));
  parts->model_max_length = file.take(read_max_length(changed["model_max_length"]));
  parts->truncation_max_length = file.take(read_max_length(file["truncation"]["max_length"]));
  const JsonRef model = file["model"], options = changed["model"];
  parts->model = file.take(vocab.empty() ? read_model(model, options) : wordpiece_with_tokens(model, options, vocab));
  if (!file.ok()) return file.error();
  parts->is_bpe = type_of_model(model).value() == "BPE";
  Result<AddedTokens> added = AddedTokens::from_json(part("added_tokens"), *parts->model, parts->normalizer.get());
  if (!added.ok()) return added.error();
  parts->added_tokens = std::move(added).value();
  parts->find_fast_path();
  return Tokenizer(std::move(parts));
}

Result<void> Tokenizer::set_post_processor(JsonRef json) {
  Result<PostProcessor> read = read_post_processor(json);
  if (!read.ok()) return read.error();
  parts_->post_processor = std::move(read).value();
  parts_->find_fast_path();
  return {};
}

Result<void> Tokenizer::add_tokens(const std::vector<std::string>& contents) {
  if (auto added = parts_->added_tokens.add_special(contents, *parts_->model); !added.ok()) return added.error();
  parts_->find_fast_path();
  return {};
}

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<void> Tokenizer::Parts::tokenize_by_stages(std::u16string_view text, std::int32_t origin, const EncodeOptions& options,
                                                  TextTokens& out) const {
  PreTokenizedText cut = added_tokens.extract(read_utf16(text), normalizer.get(), options.split_special_tokens);
  if (pre_tokenizer && !cut.text.is_too_long) pre_tokenizer->pre_tokenize(cut);
  if (cut.text.is_too_long) return too_long_error();
  const auto span_of = [&](std::size_t begin, std::size_t end) {
    const TextSpan span = cut.text.span_of(begin, end);
    return TextSpan{origin + span.begin, origin + span.end};
  };
  std::vector<Token> tokens;
  const bool trims = !post_processor.trims.empty();
  std::size_t num_added = 0;  // added tokens so far
  for (const Split& split : cut.splits) {
    if (split.token != Split::kNoToken) {
      out.push(split.token, span_of(split.begin, split.end));
      ++out.num_words;
      if (trims) out.spaces.push_back(cut.token_spaces[num_added]);
      ++num_added;
      if (options.return_tokens) {
        const TextSpan span = cut.text.span_of(split.begin, split.end);
        // In the raw text a token is one character here, see AddedTokens::extract.
        const bool is_raw = !added_tokens.by_id(split.token)->normalized;
        out.texts.push_back(
            is_raw ? to_utf8(text.substr(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.end - span.begin)))
                   : to_utf8(cut.chars_of(split)));
      }
      continue;
    }
    tokens.clear();
    if (!model->tokenize(cut.chars_of(split), tokens)) {
      return input_error("text: expected only characters in the tokenizer's vocabulary (it has no unknown token), found \"" +
                         to_utf8(cut.chars_of(split).substr(0, 40)) + "\"");
    }
    for (const Token& token : tokens) {
      out.push(token.id, span_of(split.begin + token.begin, split.begin + token.end));
      if (options.return_tokens) {
        out.texts.push_back(token.shows_text ? to_utf8(cut.chars_of(split).substr(token.begin, token.end - token.begin))
                                             : std::string(model->id_to_token(token.id).value_or("")));
      }
      if (!trims) continue;
      out.spaces.push_back(token.shows_text ? spaces_around(cut.chars_of(split).substr(token.begin, token.end - token.begin))
                                            : spaces_around(model->id_to_token(token.id).value_or("")));
    }
    ++out.num_words;
  }
  return {};
}

Result<TextTokens> Tokenizer::Parts::tokenize(std::u16string_view text, const EncodeOptions& options) const {
  TextTokens out;
  if ((byte_words || (stage_words && !has_spans(options))) && tokenize_bytes(to_utf8(text), options, out)) return out;
  out.reserve(text.size() / 4 + 1);  // a token is about four letters
  std::size_t done = 0;
  const bool fast = ascii_words && !options.return_tokens;
  while (fast && (done = ascii_words->tokenize(text, done, out)) < text.size()) {
    const std::optional<std::size_t> end = ascii_words->slow_path_end(text, done);
    if (!end) {
      out.clear();
      done = 0;
      break;
    }
    const Result<void> more = tokenize_by_stages(text.substr(done, *end - done), static_cast<std::int32_t>(done), options, out);
    if (!more.ok()) return more.error();
    done = *end;
  }
  if (done == text.size() && fast) return out;
  const Result<void> all = tokenize_by_stages(text, 0, options, out);
  if (!all.ok()) return all.error();
  return out;
}

Result<Encoding> Tokenizer::Parts::encode(std::u16string_view first, const std::u16string_view* second,
                                          const EncodeOptions& options) const {
  if (first.size() > kLongestText || (second && second->size() > kLongestText)) {
    return input_error("text: expected at most 2^31 - 1 UTF-16 units, found more");
  }
  const Result<TextTokens> first_result = tokenize(first, options);
  if (!first_result.ok()) return first_result.error();
  const Result<TextTokens> second_result = second ? tokenize(*second, options) : TextTokens{};
  if (!second_result.ok()) return second_result.error();
  const TextOfTokens of_first{first, first_result.value()};
  if (!second) return finish(of_first, nullptr, options);
  const TextOfTokens of_second{*second, second_result.value()};
  return finish(of_first, &of_second, options);
}

Result<Encoding> Tokenizer::Parts::finish(TextOfTokens first, const TextOfTokens* second, const EncodeOptions& options) const {
  const TextTokens none;
  const TextTokens& first_tokens = first.tokens;
  const TextTokens& second_tokens = second ? second->tokens : none;
  const std::vector<TemplatePiece>& pieces = second ? post_processor.pair : post_processor.single;
  const std::int32_t num_special = options.add_special_tokens ? post_processor.num_special_tokens(second != nullptr) : 0;
  const Result<TruncationPlan> plan =
      plan_truncation(first_tokens.ids.size(), second ? std::optional<std::size_t>(second_tokens.ids.size()) : std::nullopt,
                      static_cast<std::size_t>(num_special), options);
  if (!plan.ok()) return plan.error();

  const std::size_t num_tokens = first_tokens.ids.size() + second_tokens.ids.size();
  const auto count_unknown = [&](const TextTokens& tokens) { return std::ranges::count(tokens.ids, model->unknown_id()); };
  const auto num_unknown = static_cast<float>(count_unknown(first_tokens) + count_unknown(second_tokens));
  const std::vector<OffsetTrim>& trims = post_processor.trims;
  const auto assemble = [&](TokenWindow of_first, TokenWindow of_second) {
    Encoding out;
    out.num_tokens_untruncated = static_cast<std::int32_t>(num_tokens) + num_special;
    out.unknown = num_tokens == 0 ? 0 : num_unknown / static_cast<float>(num_tokens);
    const std::size_t size =
        (of_first.end - of_first.begin) + (of_second.end - of_second.begin) + static_cast<std::size_t>(num_special);
    options.ids_only ? out.ids.reserve(size) : out.reserve(size);
    for (const TemplatePiece& piece : pieces) {
      if (piece.kind == TemplatePiece::kFirst) add_text(piece, first, of_first, trims, options, out);
      if (piece.kind == TemplatePiece::kSecond) add_text(piece, *second, of_second, trims, options, out);
      if (piece.kind != TemplatePiece::kSpecial || !options.add_special_tokens) continue;
      add_special_tokens(piece, options, out);
      for (std::size_t i = 0; options.return_tokens && i < piece.ids.size(); ++i) {
        const AddedToken* added = added_tokens.by_id(piece.ids[i]);  // its content, whatever the normalizer makes of it
        out.tokens.emplace_back(added ? added->content : model->id_to_token(piece.ids[i]).value_or(std::string_view()));
      }
    }
    return out;
  };

  const std::vector<TokenWindow>& first_windows = plan.value().first;
  const std::vector<TokenWindow>& second_windows = plan.value().second;
  Encoding out = assemble(first_windows[0], second_windows[0]);
  if (pieces.empty()) return out;  // some files have an empty template for pairs
  // Python's order: each further window of the first text with all windows of the second, then the first window with the others.
  for (std::size_t i = 1; i <= first_windows.size(); ++i) {
    const bool last_round = i == first_windows.size();
    for (std::size_t j = last_round ? 1 : 0; j < second_windows.size(); ++j) {
      out.overflowing.push_back(assemble(first_windows[last_round ? 0 : i], second_windows[j]));
    }
  }
  return out;
}

Result<Encoding> Tokenizer::encode(std::u16string_view text, const EncodeOptions& options) const {
  return parts_->encode(text, nullptr, options);
}

Result<Encoding> Tokenizer::encode_pair(std::u16string_view first, std::u16string_view second, const EncodeOptions& options) const {
  return parts_->encode(first, &second, options);
}

Result<Encoding> Tokenizer::encode_utf8(std::string_view text, const EncodeOptions& options) const {
  TextTokens tokens;
  if (!has_spans(options) && text.size() <= kLongestText && parts_->tokenize_bytes(text, options, tokens)) {
    return parts_->finish({{}, tokens}, nullptr, options);
  }
  return parts_->encode(to_utf16(text), nullptr, options);
}

Result<std::string> Tokenizer::Parts::decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const {
  const TokenDecoder* by_token = decoder ? decoder->by_token() : nullptr;
  std::vector<std::string> tokens;
  std::string text;
  std::size_t num_tokens = 0, size = 0, written = 0;
  for (const std::int32_t id : ids) {
    const std::optional<std::string_view> token = shown().token(id);
    if (!token || (skip_special_tokens && shown().is_special(id, *token))) continue;
    size += token->size() + 1;
    if (size > kMostDecodedBytes) return decoded_too_long();
    if (by_token) {
      if (size > text.size()) text.resize(2 * size + 64);
      written = static_cast<std::size_t>(by_token->write(*token, num_tokens++ == 0, text.data() + written) - text.data());
    } else {
      tokens.emplace_back(*token);
    }
  }
  if (!by_token) return to_text(std::move(tokens));
  text.resize(written);
  by_token->end(text);
  return text;
}

Result<std::string> Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special_tokens, bool clean_up_spaces) const {
  std::string text;
  if (!parts_->decode_table || !parts_->decode_table->decode(ids, skip_special_tokens, text)) {
    Result<std::string> decoded = parts_->decode(ids, skip_special_tokens);
    if (!decoded.ok()) return decoded;
    text = std::move(decoded).value();
  }
  // As in transformers since 5.0, a BPE's spaces are those of the text.
  if (clean_up_spaces && !parts_->is_bpe) clean_up_tokenization(text);
  return text;
}

Tokenizer::Piece Tokenizer::decode_piece(std::int32_t id, bool is_first, bool skip_special_tokens, std::string& text) const {
  const ShownTokens shown = parts_->shown();
  const std::optional<std::string_view> token = shown.token(id);
  if (!token || (skip_special_tokens && shown.is_special(id, *token))) return Piece::kSkipped;
  const TokenDecoder* by_token = parts_->decoder ? parts_->decoder->by_token() : nullptr;
  if (!by_token || token->size() > kMostPieceBytes) return Piece::kNotAlone;
  text.resize(token->size() + 1);
  text.resize(static_cast<std::size_t>(by_token->write(*token, is_first, text.data()) - text.data()));
  return is_utf8(text) ? Piece::kText : Piece::kNotAlone;  // of a part of a character, end() makes something else
}

Result<std::string> Tokenizer::Parts::to_text(std::vector<std::string> tokens) const {
  std::size_t size = 0;
  for (const std::string& token : tokens) size += token.size() + 1;
  if (size > kMostDecodedBytes || (decoder && !decoder->decode(tokens))) return decoded_too_long();
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !decoder) text += ' ';
    text += tokens[i];
  }
  return text;
}

Result<std::string> Tokenizer::tokens_to_string(std::vector<std::string> tokens) const {
  return parts_->to_text(std::move(tokens));
}

std::int32_t Tokenizer::vocab_size() const {
  return parts_->model->num_tokens() + static_cast<std::int32_t>(parts_->added_tokens.num_beyond_model());
}

std::int32_t Tokenizer::num_ids() const { return std::max(parts_->model->num_ids(), parts_->added_tokens.num_ids()); }

std::int32_t Tokenizer::unknown_id() const { return parts_->model->unknown_id(); }

std::optional<std::int32_t> Tokenizer::token_to_id(std::string_view token) const {
  if (const AddedToken* added = parts_->added_tokens.by_content(token)) return added->id;
  return parts_->model->token_to_id(token);
}

std::string_view Tokenizer::id_to_token(std::int32_t id) const { return parts_->shown().token(id).value_or(std::string_view()); }

std::int32_t Tokenizer::num_special_tokens(bool is_pair) const { return parts_->post_processor.num_special_tokens(is_pair); }

std::optional<std::int32_t> Tokenizer::model_max_length() const { return parts_->model_max_length; }

bool Tokenizer::is_bpe() const { return parts_->is_bpe; }

bool Tokenizer::decodes_first_alike() const {
  return parts_->decoder && parts_->decoder->by_token() && parts_->decoder->sees() == Decoder::Sees::kText;  // ByteLevel
}

bool Tokenizer::decodes_by_table() const { return parts_->decode_table != nullptr; }

const TokenizerOrigin& Tokenizer::origin() const { return parts_->origin; }

void Tokenizer::set_origin(TokenizerOrigin origin) { parts_->origin = std::move(origin); }

std::optional<std::int32_t> Tokenizer::truncation_max_length() const { return parts_->truncation_max_length; }

}  // namespace wattn
