#include "bindings/tokenizer.h"

#include <emscripten/bind.h>

#include "core/gguf.h"
#include "tokenizer/formats/formats.h"

namespace wattn {
EncodeOptions to_encode_options(const Options& options) {
  EncodeOptions out;
  out.add_special_tokens = options.flag("add_special_tokens", true);
  out.split_special_tokens = options.flag("split_special_tokens");
  out.max_length = options.optional_integer<std::int32_t>("max_length");
  out.strategy = options.choice<TruncationStrategy>("strategy", {"longest_first", "only_first", "only_second"});
  out.truncation_side = options.word("truncation_side") == "left" ? Side::kLeft : Side::kRight;
  out.overlap = static_cast<std::int32_t>(options.integer("overlap"));
  out.return_overflowing = options.flag("return_overflowing");
  out.return_tokens = options.flag("return_tokens");
  return out;
}

FlatEncodings::FlatEncodings(const val& arrays) {
  const auto has = [&](const char* name) { return arrays.isUndefined() || arrays.call<bool>("includes", val(name)); };
  wanted_ = {.type_ids = has("type_ids"),
             .offsets = has("offsets"),
             .special_tokens_mask = has("special_tokens_mask"),
             .word_ids = has("word_ids"),
             .sequence_ids = has("sequence_ids")};
}

void FlatEncodings::add(const Encoding& encoding, std::int32_t text_index) {
  const auto append = [](auto& out, const auto& values) { out.insert(out.end(), values.begin(), values.end()); };
  append(ids_, encoding.ids);
  if (wanted_.type_ids) append(type_ids_, encoding.type_ids);
  if (wanted_.offsets) append(offsets_, encoding.offsets);
  if (wanted_.special_tokens_mask) append(special_tokens_mask_, encoding.special_tokens_mask);
  if (wanted_.word_ids) append(word_ids_, encoding.word_ids);
  if (wanted_.sequence_ids) append(sequence_ids_, encoding.sequence_ids);
  append(tokens_, encoding.tokens);
  lengths_.push_back(static_cast<std::int32_t>(encoding.size()));
  untruncated_.push_back(encoding.num_tokens_untruncated);
  unknown_.push_back(encoding.unknown);
  text_.push_back(text_index);
}

void FlatEncodings::set_on(val& out) const {
  static_assert(sizeof(TextSpan) == 2 * sizeof(std::int32_t));
  out.set("ids", to_typed_array(ids_));
  if (wanted_.type_ids) out.set("type_ids", to_typed_array(type_ids_));
  if (wanted_.offsets) out.set("offsets", to_typed_array(&offsets_.data()->begin, 2 * offsets_.size()));
  if (wanted_.special_tokens_mask) out.set("special_tokens_mask", to_typed_array(special_tokens_mask_));
  if (wanted_.word_ids) out.set("word_ids", to_typed_array(word_ids_));
  if (wanted_.sequence_ids) out.set("sequence_ids", to_typed_array(sequence_ids_));
  if (!tokens_.empty()) out.set("tokens", to_array(tokens_, [](const std::string& token) { return val(token); }));
  out.set("lengths", to_typed_array(lengths_));
  out.set("untruncated", to_typed_array(untruncated_));
  out.set("unknown", to_typed_array(unknown_));
  out.set("text", to_typed_array(text_));
}

val encode(const Tokenizer& tokenizer, const val& text, const val& lengths, const val& pair_text, const val& pair_lengths,
           const val& options) {
  const EncodeOptions encode_options = to_encode_options(Options(options));
  const Texts texts(text, lengths), pairs(pair_text, pair_lengths);
  FlatEncodings flat(options["arrays"]);
  for (std::size_t i = 0; i < texts.views.size(); ++i) {
    const auto encoding = pair_text.isNull() ? tokenizer.encode(texts.views[i], encode_options)
                                             : tokenizer.encode_pair(texts.views[i], pairs.views[i], encode_options);
    if (!encoding.ok()) return answer(encoding.error());
    flat.add(encoding.value(), static_cast<std::int32_t>(i));
    for (const Encoding& window : encoding.value().overflowing) flat.add(window, static_cast<std::int32_t>(i));
  }
  val out = answer();
  flat.set_on(out);
  return out;
}

val count(const Tokenizer& tokenizer, const val& text, const val& lengths, const val& options) {
  const EncodeOptions encode_options = to_encode_options(Options(options));
  const Texts texts(text, lengths);
  std::vector<std::int32_t> counts;
  for (const std::u16string_view view : texts.views) {
    const auto encoding = tokenizer.encode(view, encode_options);
    if (!encoding.ok()) return answer(encoding.error());
    counts.push_back(static_cast<std::int32_t>(encoding.value().size()));
  }
  return answer("counts", to_typed_array(counts));
}

val text_answer(const Result<std::string>& text) { return text.ok() ? answer("text", val(text.value())) : answer(text.error()); }

val decode(const Tokenizer& tokenizer, const val& ids, bool skip_special_tokens, bool clean_up_spaces) {
  return text_answer(tokenizer.decode(to_ids(ids), skip_special_tokens, clean_up_spaces));
}

val ids_to_tokens(const Tokenizer& tokenizer, const val& ids) {
  return answer("tokens", to_array(to_ids(ids), [&](std::int32_t id) { return val(std::string(tokenizer.id_to_token(id))); }));
}

val describe(const Tokenizer& tokenizer) {
  val out = answer();
  out.set("vocab_size", tokenizer.vocab_size());
  if (const auto limit = tokenizer.model_max_length()) out.set("model_max_length", *limit);
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

  val encode(val text, val lengths, val pair_text, val pair_lengths, val options) const {
    return wattn::encode(*tokenizer_, text, lengths, pair_text, pair_lengths, options);
  }
  val count(val text, val lengths, val options) const { return wattn::count(*tokenizer_, text, lengths, options); }
  val decode(val ids, bool skip_special_tokens, bool clean_up_spaces) const {
    return wattn::decode(*tokenizer_, ids, skip_special_tokens, clean_up_spaces);
  }
  val ids_to_tokens(val ids) const { return wattn::ids_to_tokens(*tokenizer_, ids); }
  val describe() const { return wattn::describe(*tokenizer_); }

 private:
  val keep(Result<Tokenizer> tokenizer) {
    if (!tokenizer.ok()) return answer(tokenizer.error());
    tokenizer_.emplace(std::move(tokenizer).value());
    return answer();
  }

  std::optional<Tokenizer> tokenizer_;  // web/ calls load() first
};

}  // namespace

EMSCRIPTEN_BINDINGS(tokenizer) {
  emscripten::class_<TokenizerHandle>("Tokenizer")
      .constructor()
      .function("load", &TokenizerHandle::load)
      .function("load_gguf", &TokenizerHandle::load_gguf)
      .function("encode", &TokenizerHandle::encode)
      .function("count", &TokenizerHandle::count)
      .function("decode", &TokenizerHandle::decode)
      .function("ids_to_tokens", &TokenizerHandle::ids_to_tokens)
      .function("describe", &TokenizerHandle::describe);
}

}  // namespace wattn
