// Loading a model folder or a GGUF file into a Generator, as a host does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/generator.h"
#include "native/support/engines.h"
#include "native/support/goldens.h"
#include "tasks/generate.h"

namespace wattn::test {

inline Result<std::unique_ptr<Generator>> load_generator(const std::vector<NamedFile>& files, const std::string& folder,
                                                         const GeneratorOptions& options = {}) {
  auto loader = GeneratorLoader::begin(files, options);
  if (!loader.ok()) return loader.error();
  const std::vector<std::string> weight_files = loader.value()->weight_files();
  for (const std::string& name : weight_files) {
    const std::string bytes = read_file(folder + "/" + name);
    if (auto begun = loader.value()->begin_weight_file(name, bytes.size()); !begun.ok()) return begun.error();
    if (auto pushed = loader.value()->push(bytes); !pushed.ok()) return pushed.error();
  }
  return loader.value()->finish();
}

inline Result<std::unique_ptr<Generator>> load_generator(const std::string& folder, const GeneratorOptions& options = {}) {
  return load_generator(small_files(folder), folder, options);
}

inline Result<std::unique_ptr<Generator>> load_gguf_generator(const std::string& folder, const std::string& name) {
  return load_generator({{name, read_file(folder + "/" + name)}}, folder);
}

// What transformers' generate() is asked for, as expected.json has it.
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

// All steps; prompts: or sources.
inline std::vector<std::vector<Generated>> generate(Generator& generator, const std::vector<Ids>& prompts,
                                                    const GenerateRequest& request) {
  auto generation = Generation::begin(generator, prompts, request);
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
