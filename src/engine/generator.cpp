#include "engine/generator.h"

#include <algorithm>

#include "models/batch.h"
#include "models/decoder_gguf.h"
#include "models/slot_list.h"

namespace wattn {
namespace {

Result<std::int64_t> choose_context(std::int64_t wanted, std::int64_t positions) {
  if (wanted == 0) return std::min(positions, Generator::kUsualContext);
  if (wanted >= 1 && wanted <= positions) return wanted;
  return input_error("context_length: expected a whole number from 1 to the model's " + std::to_string(positions) +
                     " positions, found " + std::to_string(wanted));
}

// "{}" stands for each layer's number.
std::vector<std::string> ignored_names(const DecoderArch& arch, const DecoderConfig& config) {
  std::vector<std::string> out;
  for (const char* pattern : arch.ignored) {
    for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) out.push_back(layer_name(pattern, static_cast<std::size_t>(i)));
  }
  if (config.tie_word_embeddings) out.push_back(std::string(arch.names.head) + ".weight");
  return out;
}

}  // namespace

void Generator::take_room(Arena& arena, const Room& room) {
  const DecoderConfig& config = decoder_.config();
  cache_ = decoder_.take_cache(arena, room.places, room.length);
  hidden_ = arena.take<float>(token_budget() * config.hidden_size);
  rows_ = arena.take<float>(room.places * config.hidden_size);
  logits_ = arena.take<float>(room.places * config.vocab_size);
  if (encoder_) memory_ = decoder_.take_memory(arena, room.sources, room.source_length);
  if (encoder_) states_ = arena.take<float>(room.source_length * config.hidden_size);
  room_ = arena.used();
}

std::uint64_t Generator::run_bytes(const Room& room) const {
  const DecoderConfig& config = decoder_.config();
  Arena arena;
  const KvCache cache = decoder_.take_cache(arena, room.places, room.length);
  arena.take<float>(token_budget() * config.hidden_size);
  arena.take<float>(room.places * config.hidden_size);
  arena.take<float>(room.places * config.vocab_size);
  std::int64_t longest = cache.length;
  std::uint64_t reading = 0;
  if (encoder_) {
    longest = std::max(longest, decoder_.take_memory(arena, room.sources, room.source_length).cache.length);
    arena.take<float>(room.source_length * config.hidden_size);
    reading = std::max(encoder_->forward_bytes(room.source_length, room.source_length, team_.most_threads()),
                       decoder_.remember_bytes(room.source_length));
  }
  return arena.used() + std::max({decoder_.forward_bytes(token_budget(), longest, team_.most_threads()),
                                  decoder_.head_bytes(room.places), reading});
}

Result<void> Generator::make_room(const Room& room) {
  const std::uint64_t bytes = run_bytes(room);
  if (bytes > arena_.bytes()) {
    arena_ = Arena();  // first: two do not fit where one does
    auto arena = Arena::with_bytes(
        bytes, "the cache of " + std::to_string(room.places) + " sequences of " + std::to_string(room.length) + " tokens");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
  }
  arena_.reset();
  take_room(arena_, room);
  return {};
}

Result<const float*> Generator::read_source(std::int64_t place, std::span<const std::int32_t> ids, Taps* taps, Taps* decoder_taps) {
  if (ids.empty()) return input_error("source: expected one token at least, found none");
  Batch batch;
  batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
  if (auto e = encoder_->check(batch); !e.ok()) return e.error();
  if (place < 0 || place >= memory_.cache.slots || batch.tokens() > memory_.cache.length) {
    return input_error("source: expected at most " + std::to_string(memory_.cache.length) + " tokens, found " +
                       std::to_string(batch.tokens()));
  }
  arena_.rewind(room_);
  encoder_->forward(team_, batch, arena_, states_, taps);
  arena_.rewind(room_);
  decoder_.remember(team_, states_, batch.tokens(), place, memory_, arena_, decoder_taps);
  return static_cast<const float*>(states_);
}

Result<const float*> Generator::run(const DecoderBatch& batch, Taps* taps) {
  const DecoderConfig& config = decoder_.config();
  if (batch.tokens() > token_budget()) {
    return input_error("input_ids: expected at most " + std::to_string(token_budget()) + " tokens in one run, found " +
                       std::to_string(batch.tokens()));
  }
  for (const std::int32_t id : batch.input_ids) {
    if (id < 0 || id >= config.vocab_size) {
      return input_error("input_ids: expected numbers from 0 to " + std::to_string(config.vocab_size - 1) +
                         " (vocab_size - 1), found " + std::to_string(id));
    }
  }
  const std::int64_t limit = std::min(cache_.length, context_length());
  for (const std::int32_t position : batch.position_ids) {
    if (position >= 0 && position < limit) continue;
    return input_error("expected at most " + std::to_string(limit) + " tokens (context_length), found one at position " +
                       std::to_string(position));
  }
  for (const std::int32_t place : batch.places) {
    if (place < 0 || place >= cache_.slots) return input_error("places: found " + std::to_string(place));
  }
  if (encoder_) {
    for (const std::int32_t source : batch.sources) {
      if (source < 0 || source >= memory_.cache.slots) return input_error("sources: found " + std::to_string(source));
    }
    if (batch.sources.size() != batch.places.size()) return input_error("sources: expected one for each sequence");
  }
  arena_.rewind(room_);
  decoder_.forward(team_, batch, cache_, encoder_ ? &memory_ : nullptr, arena_, hidden_, taps);
  return static_cast<const float*>(hidden_);
}

float* Generator::run_head(const float* hidden, std::span<const std::int64_t> rows) {
  const std::int64_t width = decoder_.config().hidden_size;
  for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(hidden + rows[i] * width, width, rows_ + i * width);
  arena_.rewind(room_);
  decoder_.head(team_, rows_, static_cast<std::int64_t>(rows.size()), arena_, logits_);
  return logits_;
}

float* Generator::look_through_head(const float* hidden) {
  std::copy_n(hidden, decoder_.config().hidden_size, rows_);
  decoder_.final_norm(team_, rows_, 1);
  arena_.rewind(room_);
  decoder_.head(team_, rows_, 1, arena_, logits_);
  return logits_;
}

Result<std::unique_ptr<GeneratorLoader>> GeneratorLoader::begin(std::vector<NamedFile> files, const GeneratorOptions& options) {
  auto all = with_gguf_documents(std::move(files), gguf_decoder_documents);
  if (!all.ok()) return all.error();
  const Documents documents(all.value());
  auto config = documents.read("config.json");
  if (!config.ok()) return config.error();
  const auto arch = find_decoder_arch(config.value().root());
  if (!arch.ok()) return arch.error();
  if ((arch.value()->parse_encoder != nullptr) != options.reads_source) {
    return unsupported_error(config.value().root()["model_type"].where() + ": expected " +
                             (options.reads_source
                                  ? "an encoder-decoder, which this task needs"
                                  : "a decoder, which this task needs (text2text-generation runs encoder-decoders)") +
                             ", found " + config.value().root()["model_type"].describe());
  }
  const auto decoder_config = arch.value()->parse_config(config.value().root());
  if (!decoder_config.ok()) return decoder_config.error();
  const auto context = choose_context(options.context_length, decoder_config.value().max_position_embeddings);
  if (!context.ok()) return context.error();
  auto tokenizer = read_tokenizer(documents, false);
  if (!tokenizer.ok()) return tokenizer.error();
  auto weight_files = read_weight_files(documents);
  if (!weight_files.ok()) return weight_files.error();
  const Kernels& kernels = options.precision == Precision::kFast ? fast_kernels() : exact_kernels();
  auto decoder = Decoder::with_config(decoder_config.value(), context.value(), kernels, options.dtype);
  if (!decoder.ok()) return decoder.error();

  std::unique_ptr<GeneratorLoader> loader(new GeneratorLoader);
  loader->generator_.reset(new Generator(std::move(tokenizer).value(), std::move(decoder).value()));
  Generator& generator = *loader->generator_;
  generator.arch_ = arch.value();
  loader->weight_files_ = std::move(weight_files).value();
  std::vector<WeightSlot> slots;
  // A model packed by wattn keeps the checkpoint's own names in its GGUF file, and their order.
  const bool is_gguf = loader->weight_files_.front().ends_with(".gguf") && !documents.has("tokenizer.json");
  DecoderNames names = arch.value()->names;
  EncoderNames encoder_names = arch.value()->encoder_names;
  if (is_gguf) {  // which has one name for it, gated or not
    if (names.plain) names.plain = names.up;
    if (encoder_names.plain) encoder_names.plain = encoder_names.multiplied;
  }
  if (arch.value()->parse_encoder) {
    const auto encoder_config = arch.value()->parse_encoder(config.value().root());
    if (!encoder_config.ok()) return encoder_config.error();
    auto encoder = Encoder::with_config(encoder_config.value(), kernels, options.dtype);
    if (!encoder.ok()) return encoder.error();
    generator.encoder_ = std::move(encoder).value();
    slots = generator.encoder_->weight_slots(encoder_names);
  }
  add_slots(generator.decoder_.weight_slots(names, is_gguf), slots);
  loader->weights_.emplace(
      std::move(slots), ignored_names(*arch.value(), decoder_config.value()),
      [arch = arch.value(), is_gguf](std::string_view name) { return canonical_decoder_name(*arch, name, is_gguf); });
  return loader;
}

Result<std::vector<NamedFile>> GeneratorLoader::gguf_files(std::string_view beginning, bool& is_cut_off) {
  return gguf_beginning(beginning, gguf_decoder_documents, is_cut_off);
}

Result<void> GeneratorLoader::begin_weight_file(std::string_view name, std::uint64_t bytes) {
  if (auto e = expect_weight_file(weight_files_, files_begun_, name); !e.ok()) return e;
  ++files_begun_;
  return weights_->begin_file(std::string(name), bytes);
}

Result<std::unique_ptr<Generator>> GeneratorLoader::finish() {
  if (files_begun_ != weight_files_.size()) {
    return input_error("weight files: expected " + weight_files_[files_begun_] + ", found no further file");
  }
  if (auto finished = weights_->finish(); !finished.ok()) return finished.error();
  return std::move(generator_);
}

}  // namespace wattn
