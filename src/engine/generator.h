// Generator: a tokenizer, a decoder, for some an encoder, and the memory to run them, made from the files of one model repository
// as an Engine is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "engine.h"
#include "engine/documents.h"
#include "io/weight_loader.h"
#include "models/decoder.h"
#include "models/decoder_arch.h"

namespace wattn {

struct GeneratorOptions {
  Precision precision = Precision::kExact;
  WeightType dtype = WeightType::kF32;
  bool reads_source = false;        // an encoder-decoder is wanted, else a decoder alone
  std::int64_t context_length = 0;  // tokens a sequence may have; 0: max_position_embeddings, at most kUsualContext
};

// What is to be held at once.
struct Room {
  std::int64_t places = 0;   // sequences
  std::int64_t length = 0;   // tokens of each
  std::int64_t sources = 0;  // of an encoder-decoder
  std::int64_t source_length = 0;
};

class Generator {
 public:
  // What a model that could read more is held to when nothing is said: tables and caches are made for it.
  static constexpr std::int64_t kUsualContext = 4096;

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Decoder& decoder() const { return decoder_; }
  const Encoder* encoder() const { return encoder_ ? &*encoder_ : nullptr; }  // null: the decoder alone
  const DecoderArch& arch() const { return *arch_; }
  ThreadTeam& team() { return team_; }
  std::int64_t context_length() const { return decoder_.positions(); }
  // Tokens of one pass: longer prompts are read in pieces.
  std::int64_t token_budget() const { return std::min<std::int64_t>(kTokenBudget, context_length()); }

  std::uint64_t weight_bytes() const { return decoder_.weight_bytes() + (encoder_ ? encoder_->weight_bytes() : 0); }
  // Of the cache and the activations for such a room.
  std::uint64_t run_bytes(const Room& room) const;

  // Makes room, before the first run in it; what was there is gone. An OutOfMemoryError names the bytes.
  Result<void> make_room(const Room& room);

  // Has the encoder read a source, whose place it becomes; a batch names it in `sources`. taps see the encoder, decoder_taps the
  // keys and values of cross attention. states: [tokens, hidden], valid until the next call.
  Result<const float*> read_source(std::int64_t place, std::span<const std::int32_t> ids, Taps* taps, Taps* decoder_taps);

  // Reads at most token_budget() tokens into their places; hidden [tokens, hidden], after the final norm, is valid until the next
  // call. Ids, places and positions are checked.
  Result<const float*> run(const DecoderBatch& batch, Taps* taps);
  // Logits [rows.size(), vocab] of some rows of what run() gave; valid until the next call. At most the room's places, or one.
  float* run_head(const float* hidden, std::span<const std::int64_t> rows);
  // Logits [vocab] of a vector [hidden] that did not pass the final norm.
  float* look_through_head(const float* hidden);
  void copy_place(std::int64_t from, std::int64_t to, std::int64_t tokens) { copy_slot(cache_, from, to, tokens); }

 private:
  friend class GeneratorLoader;
  Generator(Tokenizer tokenizer, Decoder decoder) : tokenizer_(std::move(tokenizer)), decoder_(std::move(decoder)) {}

  static constexpr std::int64_t kTokenBudget = 512;

  void take_room(Arena& arena, const Room& room);

  Tokenizer tokenizer_;
  Decoder decoder_;
  std::optional<Encoder> encoder_;
  const DecoderArch* arch_ = nullptr;
  ThreadTeam team_;
  Arena arena_;
  KvCache cache_;
  Memory memory_;
  float* states_ = nullptr;  // [source_length, hidden]
  float* hidden_ = nullptr;  // [token_budget, hidden]
  float* rows_ = nullptr;    // [places, hidden]
  float* logits_ = nullptr;  // [places, vocab]
  std::uint64_t room_ = 0;   // bytes of arena_ that stay taken from run to run
};

class GeneratorLoader {
 public:
  // As EngineLoader::begin; of the documents config.json and the tokenizer's are read.
  static Result<std::unique_ptr<GeneratorLoader>> begin(std::vector<NamedFile> files, const GeneratorOptions& options);
  static Result<std::vector<NamedFile>> gguf_files(std::string_view beginning, bool& is_cut_off);

  const std::vector<std::string>& weight_files() const { return weight_files_; }
  ThreadTeam& team() { return generator_->team(); }
  Result<void> begin_weight_file(std::string_view name, std::uint64_t bytes);
  Result<void> push(std::string_view bytes) { return weights_->push(bytes); }
  Result<std::unique_ptr<Generator>> finish();

 private:
  GeneratorLoader() = default;

  std::unique_ptr<Generator> generator_;
  std::optional<WeightLoader> weights_;
  std::vector<std::string> weight_files_;
  std::size_t files_begun_ = 0;
};

}  // namespace wattn
