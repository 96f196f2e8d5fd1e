// What the handles of models share: loading, from the first byte to finish(). Loader: EngineLoader or one like it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bindings/convert.h"
#include "engine.h"

namespace wattn {

// files: [[name, Uint8Array], ...].
inline std::vector<NamedFile> to_files(const val& files) {
  std::vector<NamedFile> out(files["length"].as<std::size_t>());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].name = files[i][0].as<std::string>();
    copy_bytes(files[i][1], out[i].bytes);
  }
  return out;
}

inline WeightType to_weight_type(const std::string& dtype) {
  if (dtype == "q4") return WeightType::kQ4;
  return dtype == "q16" ? WeightType::kQ16 : dtype == "q8" ? WeightType::kQ8 : WeightType::kF32;
}
inline Precision to_precision(const std::string& precision) { return precision == "fast" ? Precision::kFast : Precision::kExact; }

template <class Loader>
class Loading {
 public:
  // Answer: is_cut_off, or files [[name, Uint8Array], ...] (engine/documents.h).
  static val gguf_files(const val& bytes) {
    std::string beginning;
    copy_bytes(bytes, beginning);
    bool is_cut_off = false;
    const auto found = Loader::gguf_files(beginning, is_cut_off);
    if (!found.ok()) return answer(found.error());
    val files = val::array();
    for (const NamedFile& file : found.value()) {
      val pair = val::array();
      pair.call<void>("push", val(file.name));
      pair.call<void>("push", to_typed_array(std::vector<std::uint8_t>(file.bytes.begin(), file.bytes.end())));
      files.call<void>("push", pair);
    }
    val out = answer();
    out.set("is_cut_off", is_cut_off);
    out.set("files", files);
    return out;
  }
  // Answer: weight_files.
  val begin(Result<std::unique_ptr<Loader>> loader) {
    if (!loader.ok()) return answer(loader.error());
    loader_ = std::move(loader).value();
    val names = val::array();
    for (const std::string& name : loader_->weight_files()) names.call<void>("push", val(name));
    val out = answer();
    out.set("weight_files", names);
    return out;
  }
  val begin_weight_file(const std::string& name, double bytes) {
    return answer(loader_->begin_weight_file(name, static_cast<std::uint64_t>(bytes)));
  }
  val push(const val& chunk) {
    copy_bytes(chunk, chunk_);
    return answer(loader_->push(chunk_));
  }
  // Room for helper threads, after begin. Answer: team and stacks (addresses), stack_bytes.
  val make_room_for_helpers(int count) {
    val stacks = val::array();
    for (int i = 0; i < count; ++i) {
      stacks_.push_back(std::make_unique<Stack>());
      stacks.call<void>("push", reinterpret_cast<std::uintptr_t>(stacks_.back().get()));
    }
    val out = answer();
    out.set("team", reinterpret_cast<std::uintptr_t>(&loader_->team()));
    out.set("stacks", stacks);
    out.set("stack_bytes", sizeof(Stack));
    return out;
  }
  // How many of them serve; before finish.
  val use_helpers(int count) {
    loader_->team().set_helpers(count);
    return answer();
  }
  // model: takes what was loaded.
  template <class Model>
  val finish(std::unique_ptr<Model>& model) {
    auto loaded = loader_->finish();
    if (!loaded.ok()) return answer(loaded.error());
    model = std::move(loaded).value();
    loader_.reset();
    chunk_ = std::string();
    return answer();
  }

 private:
  struct alignas(16) Stack {
    std::byte bytes[256 << 10];
  };
  std::unique_ptr<Loader> loader_;
  std::vector<std::unique_ptr<Stack>> stacks_;  // of the helpers
  std::string chunk_;                           // the bytes that push() hands on; kept so that loading does not allocate for each
};

}  // namespace wattn
