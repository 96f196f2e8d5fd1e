#include "bindings/tokenizer.h"

#include <emscripten/emscripten.h>

#include <numeric>
#include <span>
#include <utility>

#include "core/gguf.h"
#include "tokenizer/formats/formats.h"

namespace wattn {
EncodeOptions to_encode_options(std::uint32_t flags, std::int32_t max_length, std::int32_t overlap) {
  EncodeOptions out;
  out.add_special_tokens = flags & EncodeFlags::add_special_tokens;
  out.split_special_tokens = flags & EncodeFlags::split_special_tokens;
  out.truncation_side = flags & EncodeFlags::truncates_left ? Side::kLeft : Side::kRight;
  out.return_overflowing = flags & EncodeFlags::return_overflowing;
  out.return_tokens = flags & EncodeFlags::return_tokens;
  if (flags & EncodeFlags::has_max_length) out.max_length = max_length;
  out.strategy = static_cast<TruncationStrategy>(flags / EncodeFlags::strategy & 3);
  out.overlap = overlap;
  return out;
}

void FlatEncodings::add(const Encoding& encoding, std::int32_t text_index) {
  const auto append = [](auto& out, const auto& values) { out.insert(out.end(), values.begin(), values.end()); };
  append(ids, encoding.ids);
  if (wanted & EncodedArrays::type_ids) append(type_ids, encoding.type_ids);
  if (wanted & EncodedArrays::offsets) append(offsets, encoding.offsets);
  if (wanted & EncodedArrays::special_tokens_mask) append(special_tokens_mask, encoding.special_tokens_mask);
  if (wanted & EncodedArrays::word_ids) append(word_ids, encoding.word_ids);
  if (wanted & EncodedArrays::sequence_ids) append(sequence_ids, encoding.sequence_ids);
  if (!(wanted & EncodedArrays::per_encoding)) return;
  lengths.push_back(static_cast<std::int32_t>(encoding.size()));
  untruncated.push_back(encoding.num_tokens_untruncated);
  unknown.push_back(encoding.unknown);
  text.push_back(text_index);
}

void describe(const Tokenizer& tokenizer, PlainAnswer& out) {
  const TokenizerOrigin& origin = tokenizer.origin();
  const TokenizerAnswer say{out};
  say.vocab_size(tokenizer.vocab_size());
  if (const auto limit = tokenizer.model_max_length()) say.model_max_length(*limit);
  say.name(origin.name);
  say.from(origin.from);
  say.vocabulary(origin.vocabulary);
  say.added_tokens(origin.added_tokens);
  say.is_of_class(origin.is_of_class);
  say.pads_left(origin.pads_left);
  say.is_bpe(tokenizer.is_bpe());
  say.decodes_first_alike(tokenizer.decodes_first_alike());
  say.decodes_by_table(tokenizer.decodes_by_table());
  say.roles(origin.roles);
  say.extra(origin.extra);
}

namespace {

struct NamedBytes {
  std::string name, bytes;
};

// A tokenizer without a model.
class TokenizerHandle final : public Handle {
 public:
#define WIRE_TOKENIZER_CALL(name, ...) Result<void> name(Arguments& in, PlainAnswer& out);
#include "core/wire.def"

  const Tokenizer& tokenizer() const { return *tokenizer_; }

 protected:
  Result<void> answer(std::size_t number, Arguments& in, PlainAnswer& out) override;

 private:
  Result<void> keep(Result<Tokenizer> tokenizer) {
    if (!tokenizer.ok()) return tokenizer.error();
    tokenizer_.emplace(std::move(tokenizer).value());
    return {};
  }

  std::optional<Tokenizer> tokenizer_;  // web/ calls load() first
};

Result<void> TokenizerHandle::answer(std::size_t number, Arguments& in, PlainAnswer& out) {
  constexpr Result<void> (TokenizerHandle::* calls[])(Arguments&, PlainAnswer&) = {
#define WIRE_TOKENIZER_CALL(name, ...) &TokenizerHandle::name,
#include "core/wire.def"
  };
  return (this->*calls[number])(in, out);
}

Result<void> TokenizerHandle::load(Arguments& in, PlainAnswer&) {
  const auto given = in.files<NamedBytes>();
  std::vector<TokenizerFile> views;
  for (const auto& [name, bytes] : given) views.push_back({name, bytes});
  return keep(load_tokenizer(views));
}
Result<void> TokenizerHandle::load_gguf(Arguments& in, PlainAnswer& out) {
  const std::string bytes(in.bytes());
  const auto metadata = GgufMetadata::read(bytes);
  const bool is_cut_off = !in.flag() && metadata.ok() && metadata.value().is_cut_off();
  CutOffAnswer{out}.is_cut_off(is_cut_off);
  return is_cut_off ? Result<void>() : keep(load_tokenizer({{"model.gguf", bytes}}));
}
Result<void> TokenizerHandle::describe(Arguments&, PlainAnswer& out) {
  wattn::describe(*tokenizer_, out);
  return {};
}

// Texts and ids cross through separate exports, which web/host/text_calls.ts calls: a short text takes less time than named
// arguments and a named answer. The host writes to the room, and reads the answer in place before its next call.

struct FlatAnswer {
  struct Part {
    const void* data;
    std::size_t size;  // values
  };
  std::int32_t code;
  Part text;        // UTF-8: a text, tokens end to end, or the message of an error
  Part arrays[11];  // see set_arrays()
};
FlatAnswer answered;

// The buffers of an answer. Their memory is kept for the next one, unless it is large.
struct Said {
  std::string text;
  FlatEncodings flat;
  std::vector<std::int32_t> token_bytes;  // the lengths of tokens
};
Said* said = nullptr;

void begin_answer(unsigned wanted) {
  constexpr std::size_t kKept = 1 << 14;
  if (!said || said->flat.ids.capacity() > kKept || said->text.capacity() > kKept) {
    delete said;
    said = new Said;
  }
  FlatEncodings& flat = said->flat;
  const auto clear = [](auto&... arrays) { (arrays.clear(), ...); };
  clear(said->text, said->token_bytes, flat.ids, flat.type_ids, flat.offsets, flat.special_tokens_mask, flat.word_ids,
        flat.sequence_ids, flat.lengths, flat.untruncated, flat.unknown, flat.text);
  flat.wanted = wanted;
}

const FlatAnswer* end_answer(const Error* error = nullptr) {
  if (error) said->text = error->message;
  answered.code = error ? static_cast<std::int32_t>(error->code) : 0;
  answered.text = {said->text.data(), said->text.size()};
  return &answered;
}

void add_token(std::string_view token) {
  said->text += token;
  said->token_bytes.push_back(static_cast<std::int32_t>(token.size()));
}

// The arrays of the answer, in the order that the host knows.
void set_arrays() {
  static_assert(sizeof(TextSpan) == 2 * sizeof(std::int32_t));
  const FlatEncodings& flat = said->flat;
  FlatAnswer::Part* part = answered.arrays;
  const auto set = [&](const auto&... arrays) { ((*part++ = {arrays.data(), arrays.size()}), ...); };
  set(flat.ids, flat.type_ids, flat.offsets, flat.special_tokens_mask, flat.word_ids, flat.sequence_ids, flat.lengths,
      flat.untruncated, flat.unknown, flat.text, said->token_bytes);
}

extern "C" {

// flags: EncodeFlags, with EncodedArrays. The room has the UTF-8 of the texts and of
// their pairs, and how many bytes each has. Answer: the arrays of FlatEncodings over all encodings, each text's followed by its
// overflow windows; with return_tokens, tokens too.
EMSCRIPTEN_KEEPALIVE const FlatAnswer* text_encode(const Tokenizer* tokenizer, std::size_t bytes, std::int32_t num_texts,
                                                   std::int32_t num_pairs, std::uint32_t flags, std::int32_t max_length,
                                                   std::int32_t overlap) {
  EncodeOptions options = to_encode_options(flags, max_length, overlap);
  begin_answer(flags / EncodeFlags::arrays);
  const auto wants = [](std::uint32_t arrays) { return (said->flat.wanted & arrays) != 0; };
  options.without_spans = !wants(EncodedArrays::offsets | EncodedArrays::word_ids);
  options.ids_only =
      options.without_spans && !wants(EncodedArrays::type_ids | EncodedArrays::special_tokens_mask | EncodedArrays::sequence_ids);
  const std::int32_t* lengths = room + (bytes + 3) / 4;
  const char* first = reinterpret_cast<const char*>(room);
  const char* second = std::accumulate(lengths, lengths + num_texts, first);
  const auto take = [&](const char*& at, std::int32_t i) {
    const std::string_view whole(at, static_cast<std::size_t>(lengths[i]));
    at += lengths[i];
    return whole;
  };
  for (std::int32_t i = 0; i < num_texts; ++i) {
    const std::string_view one = take(first, i);
    const auto encoding = i < num_pairs ? tokenizer->encode_pair(to_utf16(one), to_utf16(take(second, num_texts + i)), options)
                                        : tokenizer->encode_utf8(one, options);
    if (!encoding.ok()) return end_answer(&encoding.error());
    const auto add = [&](const Encoding& window) {
      said->flat.add(window, i);
      for (const std::string& token : window.tokens) add_token(token);
    };
    add(encoding.value());
    for (const Encoding& window : encoding.value().overflowing) add(window);
  }
  set_arrays();
  return end_answer();
}

// The room has ids. flags: DecodeFlags. Answer: text.
EMSCRIPTEN_KEEPALIVE const FlatAnswer* text_decode(const Tokenizer* tokenizer, std::size_t num_ids, std::uint32_t flags) {
  begin_answer(0);
  const std::span<const std::int32_t> ids(room, num_ids);
  auto decoded = tokenizer->decode(ids, flags & DecodeFlags::skip_special_tokens, flags & DecodeFlags::clean_up_spaces);
  if (!decoded.ok()) return end_answer(&decoded.error());
  said->text = std::move(decoded).value();
  return end_answer();
}

// The room has ids. flags: DecodeFlags. Answer: the texts of
// Tokenizer::decode_piece() as tokens, with the length -1 for one that is skipped and -2 for one that is not alone.
EMSCRIPTEN_KEEPALIVE const FlatAnswer* text_pieces(const Tokenizer* tokenizer, std::size_t num_ids, std::uint32_t flags) {
  begin_answer(0);
  std::string text;
  for (std::size_t i = 0; i < num_ids; ++i) {
    const auto piece =
        tokenizer->decode_piece(room[i], flags & DecodeFlags::first_of_texts, flags & DecodeFlags::skip_special_tokens, text);
    if (piece == Tokenizer::Piece::kText) {
      add_token(text);
    } else {
      said->token_bytes.push_back(piece == Tokenizer::Piece::kSkipped ? -1 : -2);
    }
  }
  set_arrays();
  return end_answer();
}

// The room has ids. Answer: tokens; empty for an unknown id.
EMSCRIPTEN_KEEPALIVE const FlatAnswer* text_tokens(const Tokenizer* tokenizer, std::size_t num_ids) {
  begin_answer(0);
  for (std::size_t i = 0; i < num_ids; ++i) add_token(tokenizer->id_to_token(room[i]));
  set_arrays();
  return end_answer();
}

}  // extern "C"

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE Handle* make_tokenizer() { return new TokenizerHandle(); }
// After load, for the calls of texts.
EMSCRIPTEN_KEEPALIVE const Tokenizer* tokenizer_of(const TokenizerHandle* handle) { return &handle->tokenizer(); }

}  // extern "C"

}  // namespace wattn
