#include "bindings/tokenizer.h"

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>

#include <numeric>
#include <utility>

#include "core/gguf.h"
#include "tokenizer/formats/formats.h"

namespace wattn {
EncodeOptions to_encode_options(std::uint32_t flags, std::int32_t max_length, std::int32_t overlap) {
  EncodeOptions out;
  out.add_special_tokens = flags & 1;
  out.split_special_tokens = flags & 2;
  out.truncation_side = flags & 4 ? Side::kLeft : Side::kRight;
  out.return_overflowing = flags & 8;
  out.return_tokens = flags & 16;
  if (flags & 32) out.max_length = max_length;
  out.strategy = static_cast<TruncationStrategy>(flags >> 6 & 3);
  out.overlap = overlap;
  return out;
}

void FlatEncodings::add(const Encoding& encoding, std::int32_t text_index) {
  const auto append = [](auto& out, const auto& values) { out.insert(out.end(), values.begin(), values.end()); };
  append(ids, encoding.ids);
  if (wanted & kTypeIds) append(type_ids, encoding.type_ids);
  if (wanted & kOffsets) append(offsets, encoding.offsets);
  if (wanted & kSpecialTokensMask) append(special_tokens_mask, encoding.special_tokens_mask);
  if (wanted & kWordIds) append(word_ids, encoding.word_ids);
  if (wanted & kSequenceIds) append(sequence_ids, encoding.sequence_ids);
  if (!(wanted & kPerEncoding)) return;
  lengths.push_back(static_cast<std::int32_t>(encoding.size()));
  untruncated.push_back(encoding.num_tokens_untruncated);
  unknown.push_back(encoding.unknown);
  text.push_back(text_index);
}

void FlatEncodings::set_on(PlainAnswer& out) const {
  for (const auto& [key, values] : {std::pair{"ids", &ids},
                                    {"type_ids", &type_ids},
                                    {"special_tokens_mask", &special_tokens_mask},
                                    {"word_ids", &word_ids},
                                    {"sequence_ids", &sequence_ids},
                                    {"lengths", &lengths},
                                    {"untruncated", &untruncated},
                                    {"text", &text}}) {
    out.set(key, *values);
  }
  out.set("offsets", &offsets.data()->begin, 2 * offsets.size());
  out.set("unknown", unknown);
}

std::int32_t* room = nullptr;

val text_answer(const Result<std::string>& text) { return text.ok() ? answer("text", val(text.value())) : answer(text.error()); }

val describe(const Tokenizer& tokenizer) {
  val out = answer();
  out.set("vocab_size", tokenizer.vocab_size());
  if (const auto limit = tokenizer.model_max_length()) out.set("model_max_length", *limit);
  const TokenizerOrigin& origin = tokenizer.origin();
  for (const auto& [key, text] : {std::pair{"name", &origin.name},
                                  {"from", &origin.from},
                                  {"vocabulary", &origin.vocabulary},
                                  {"added_tokens", &origin.added_tokens}}) {
    out.set(key, *text);
  }
  out.set("is_of_class", origin.is_of_class);
  out.set("pads_left", origin.pads_left);
  out.set("is_bpe", tokenizer.is_bpe());
  for (const auto& [key, list] : {std::pair{"roles", &origin.roles}, {"extra", &origin.extra}}) {
    std::string joined;
    for (const std::string& token : *list) joined += token + '\0';
    out.set(key, joined);
  }
  return out;
}

namespace {

struct NamedBytes {
  std::string name, bytes;
};

// A tokenizer without a model.
class TokenizerHandle {
 public:
  // files: [[name, Uint8Array], ...]
  val load(val files) {
    const auto given = to_files<NamedBytes>(files);
    std::vector<TokenizerFile> views;
    for (const auto& [name, bytes] : given) views.push_back({name, bytes});
    return keep(load_tokenizer(views));
  }

  // file: the beginning of a GGUF file. Answer: is_cut_off if more of it is needed.
  val load_gguf(val file, bool is_whole) {
    std::string bytes;
    copy_bytes(file, bytes);
    const auto metadata = GgufMetadata::read(bytes);
    if (!is_whole && metadata.ok() && metadata.value().is_cut_off()) {
      return answer("is_cut_off", true);
    }
    return keep(load_tokenizer({{"model.gguf", bytes}}));
  }

  std::uintptr_t tokenizer() const { return reinterpret_cast<std::uintptr_t>(&*tokenizer_); }
  val describe() const { return wattn::describe(*tokenizer_); }

 private:
  val keep(Result<Tokenizer> tokenizer) {
    if (!tokenizer.ok()) return answer(tokenizer.error());
    tokenizer_.emplace(std::move(tokenizer).value());
    return answer();
  }

  std::optional<Tokenizer> tokenizer_;  // web/ calls load() first
};

// Texts and ids cross by plain exports, which web/host/text_calls.ts calls: for a short text, making JS values (Embind's val) takes
// many times as long as tokenizing. The host writes to the room, and reads the answer in place before its next call.

struct TextAnswer {
  struct Part {
    const void* data;
    std::size_t size;  // values
  };
  std::int32_t code;
  Part text;        // UTF-8: a text, tokens end to end, or the message of an error
  Part arrays[11];  // see set_arrays()
};
TextAnswer answered;

// What an answer is made of. Its memory is kept for the next one, unless it is much.
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

const TextAnswer* end_answer(const Error* error = nullptr) {
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
  TextAnswer::Part* part = answered.arrays;
  const auto set = [&](const auto&... arrays) { ((*part++ = {arrays.data(), arrays.size()}), ...); };
  set(flat.ids, flat.type_ids, flat.offsets, flat.special_tokens_mask, flat.word_ids, flat.sequence_ids, flat.lengths,
      flat.untruncated, flat.unknown, flat.text, said->token_bytes);
}

extern "C" {

// Makes the room this large: its address. What was in it is lost.
EMSCRIPTEN_KEEPALIVE void* text_room(std::size_t bytes) {
  delete[] room;
  return room = new std::int32_t[(bytes + 3) / 4];
}

// flags: those of to_encode_options(), and from bit 8 on those of FlatEncodings::Wanted. The room has the UTF-8 of the texts and of
// their pairs, and their lengths. Answer: the arrays of FlatEncodings over all encodings, each text's followed by its overflow
// windows; with return_tokens, tokens too.
EMSCRIPTEN_KEEPALIVE const TextAnswer* text_encode(const Tokenizer* tokenizer, std::size_t bytes, std::int32_t num_texts,
                                                   std::int32_t num_pairs, std::uint32_t flags, std::int32_t max_length,
                                                   std::int32_t overlap) {
  const EncodeOptions options = to_encode_options(flags, max_length, overlap);
  begin_answer(flags >> 8);
  const std::u16string units = to_utf16({reinterpret_cast<const char*>(room), bytes});
  const std::int32_t* lengths = room + (bytes + 3) / 4;
  const char16_t* first = units.data();
  const char16_t* second = std::accumulate(lengths, lengths + num_texts, first);
  const auto take = [&](const char16_t*& at, std::int32_t i) {
    const std::u16string_view whole(at, static_cast<std::size_t>(lengths[i]));
    at += lengths[i];
    return whole;
  };
  for (std::int32_t i = 0; i < num_texts; ++i) {
    const std::u16string_view one = take(first, i);
    const auto encoding =
        i < num_pairs ? tokenizer->encode_pair(one, take(second, num_texts + i), options) : tokenizer->encode(one, options);
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

// The room has ids. flags: 1 skips special tokens, 2 cleans up spaces. Answer: text.
EMSCRIPTEN_KEEPALIVE const TextAnswer* text_decode(const Tokenizer* tokenizer, std::size_t num_ids, std::uint32_t flags) {
  begin_answer(0);
  const std::vector<std::int32_t> ids(room, room + num_ids);
  auto decoded = tokenizer->decode(ids, flags & 1, flags & 2);
  if (!decoded.ok()) return end_answer(&decoded.error());
  said->text = std::move(decoded).value();
  return end_answer();
}

// The room has ids. flags: 1 skips special tokens, 2: they are the first of their texts. Answer: the texts of
// Tokenizer::decode_piece() as tokens, with the length -1 for one that is skipped and -2 for one that is not alone.
EMSCRIPTEN_KEEPALIVE const TextAnswer* text_pieces(const Tokenizer* tokenizer, std::size_t num_ids, std::uint32_t flags) {
  begin_answer(0);
  std::string text;
  for (std::size_t i = 0; i < num_ids; ++i) {
    const auto piece = tokenizer->decode_piece(room[i], flags & 2, flags & 1, text);
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
EMSCRIPTEN_KEEPALIVE const TextAnswer* text_tokens(const Tokenizer* tokenizer, std::size_t num_ids) {
  begin_answer(0);
  for (std::size_t i = 0; i < num_ids; ++i) add_token(tokenizer->id_to_token(room[i]));
  set_arrays();
  return end_answer();
}

}  // extern "C"

}  // namespace

EMSCRIPTEN_BINDINGS(tokenizer) {
  emscripten::class_<TokenizerHandle>("Tokenizer")
      .constructor()
      .function("load", &TokenizerHandle::load)
      .function("load_gguf", &TokenizerHandle::load_gguf)
      .function("tokenizer", &TokenizerHandle::tokenizer)
      .function("describe", &TokenizerHandle::describe);
}

}  // namespace wattn
