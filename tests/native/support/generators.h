// Loading a model folder or a GGUF file into a Generator, as a host does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/generator.h"
#include "native/support/engines.h"

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

}  // namespace wattn::test
