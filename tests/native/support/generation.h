// Generation with the options of transformers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "native/support/goldens.h"
#include "native/support/models.h"
#include "tasks/forward.h"
#include "tasks/generate.h"

namespace wattn::test {

// Options of transformers' generate() from expected.json.
inline void set_options(JsonRef options, GenerateOptions& out) {
  const auto count = [&](const char* key, std::int64_t& value) { value = options[key].as_int_or(value).value(); };
  count("num_beams", out.num_beams);
  count("num_return_sequences", out.num_return_sequences);
  count("min_new_tokens", out.min_new_tokens);
  count("no_repeat_ngram_size", out.no_repeat_ngram_size);
  out.repetition_penalty = options["repetition_penalty"].as_number_or(1).value();
  out.length_penalty = options["length_penalty"].as_number_or(1).value();
  const JsonRef early = options["early_stopping"];
  if (early.is_bool()) out.early_stopping = GenerateOptions::EarlyStopping::kYes;
  if (early.is_string()) out.early_stopping = GenerateOptions::EarlyStopping::kNever;
  for (std::size_t i = 0; i < options["bad_words_ids"].size(); ++i) out.bad_words.push_back(to_ids(options["bad_words_ids"][i]));
}

// A pass over one sequence; source: of an encoder-decoder.
inline Result<ForwardOutputs> forward_ids(Model& model, const Ids& ids, ForwardRequest request = {}, const Ids& source = {}) {
  Batch batch;
  batch.add_sequence(ids, Ids(ids.size()));
  request.source = source;
  return forward(model, batch, request);
}

// Runs all steps. prompts: in an encoder-decoder, sources.
inline std::vector<std::vector<Generated>> generate(Model& model, const std::vector<Ids>& prompts, const GenerateRequest& request) {
  auto generation = Generation::begin(model, prompts, request);
  EXPECT_TRUE(generation.ok()) << generation.error().message;
  if (!generation.ok()) return {};
  while (true) {
    const auto more = generation.value()->step();
    EXPECT_TRUE(more.ok()) << more.error().message;
    if (!more.ok() || !more.value()) break;
  }
  return generation.value()->results();
}

}  // namespace wattn::test
