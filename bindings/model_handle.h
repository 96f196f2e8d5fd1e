// ModelHandle: what the handles of models share, from the first byte to the tokenizer's calls.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bindings/convert.h"
#include "bindings/summary.h"
#include "bindings/tokenizer.h"
#include "tasks/insides.h"

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

// Loader and Model: EngineLoader and Engine, or two like them.
template <class Loader, class Model>
class ModelHandle {
 public:
  // Answer: is_cut_off, or files [[name, Uint8Array], ...] (engine/documents.h).
  val gguf_files(val bytes) {
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
  val begin_weight_file(std::string name, double bytes) {
    return answer(loader_->begin_weight_file(name, static_cast<std::uint64_t>(bytes)));
  }
  val push(val chunk) {
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
    loader_->team().expect_helpers(count);
    out.set("team", reinterpret_cast<std::uintptr_t>(&loader_->team()));
    out.set("stacks", stacks);
    out.set("stack_bytes", sizeof(Stack));
    return out;
  }
  // How many of them serve, once they do: before finish or after it.
  val use_helpers(int count) {
    (model_ ? model_->team() : loader_->team()).set_helpers(count);
    return answer();
  }
  val finish() {
    auto loaded = loader_->finish();
    if (!loaded.ok()) return answer(loaded.error());
    model_ = std::move(loaded).value();
    loader_.reset();
    chunk_ = std::string();
    return answer();
  }

  val encode(val text, val lengths, val pair_text, val pair_lengths, val options) const {
    return wattn::encode(model_->tokenizer(), text, lengths, pair_text, pair_lengths, options);
  }
  val count(val text, val lengths, val options) const { return wattn::count(model_->tokenizer(), text, lengths, options); }
  val decode(val ids, bool skip_special_tokens, bool clean_up_spaces) const {
    return wattn::decode(model_->tokenizer(), ids, skip_special_tokens, clean_up_spaces);
  }
  val ids_to_tokens(val ids) const { return wattn::ids_to_tokens(model_->tokenizer(), ids); }
  val describe_tokenizer() const { return describe(model_->tokenizer()); }
  // Answer: rows [{name, type, kernel, output, parameters, mult_adds}] for one sequence of seq tokens.
  val summary(int seq) const { return to_summary(inspect(*model_, seq)); }

 protected:
  // Answer: weight_files.
  val begin_with(Result<std::unique_ptr<Loader>> loader) {
    if (!loader.ok()) return answer(loader.error());
    loader_ = std::move(loader).value();
    val names = val::array();
    for (const std::string& name : loader_->weight_files()) names.call<void>("push", val(name));
    val out = answer();
    out.set("weight_files", names);
    return out;
  }

  std::unique_ptr<Model> model_;

 private:
  struct alignas(16) Stack {
    std::byte bytes[256 << 10];
  };
  std::unique_ptr<Loader> loader_;
  std::vector<std::unique_ptr<Stack>> stacks_;  // of the helpers
  std::string chunk_;                           // the bytes that push() hands on; kept so that loading does not allocate for each
};

// A call of the base as one of the handle: embind asks for the class of the pointer.
template <class Handle, class Base, class Answer, class... Args>
auto call_of(Answer (Base::*call)(Args...)) -> Answer (Handle::*)(Args...) {
  return call;
}
template <class Handle, class Base, class Answer, class... Args>
auto call_of(Answer (Base::*call)(Args...) const) -> Answer (Handle::*)(Args...) const {
  return call;
}

// Registers a handle with the calls of its base.
template <class Handle>
emscripten::class_<Handle> register_handle() {
  return emscripten::class_<Handle>("Engine")
      .constructor()
      .function("gguf_files", call_of<Handle>(&Handle::gguf_files))
      .function("begin_weight_file", call_of<Handle>(&Handle::begin_weight_file))
      .function("push", call_of<Handle>(&Handle::push))
      .function("make_room_for_helpers", call_of<Handle>(&Handle::make_room_for_helpers))
      .function("use_helpers", call_of<Handle>(&Handle::use_helpers))
      .function("finish", call_of<Handle>(&Handle::finish))
      .function("encode", call_of<Handle>(&Handle::encode))
      .function("count", call_of<Handle>(&Handle::count))
      .function("decode", call_of<Handle>(&Handle::decode))
      .function("ids_to_tokens", call_of<Handle>(&Handle::ids_to_tokens))
      .function("describe_tokenizer", call_of<Handle>(&Handle::describe_tokenizer))
      .function("summary", call_of<Handle>(&Handle::summary));
}

// options.patches: [[tap, Float32Array], ...].
inline std::vector<Patch> to_patches(const val& options) {
  std::vector<Patch> out;
  const val patches = options["patches"];
  for (std::size_t i = 0; !patches.isUndefined() && i < patches["length"].as<std::size_t>(); ++i) {
    out.push_back({patches[i][0].as<std::string>(), emscripten::convertJSArrayToNumberVector<float>(patches[i][1])});
  }
  return out;
}

// options[key], a Float32Array; empty when it is not there.
inline std::vector<float> to_floats(const val& options, const char* key) {
  const val array = options[key];
  if (array.isUndefined()) return {};
  return emscripten::convertJSArrayToNumberVector<float>(array);
}

// What a stack showed, each of its fields an array of Float32Arrays, prefix before the names; those of cross attention and of the
// lens without it.
inline void set_insides(val& out, const Insides& insides, const std::string& prefix) {
  const auto set = [&](const std::string& name, const std::vector<std::vector<float>>& layers) {
    val arrays = val::array();
    for (const auto& layer : layers) arrays.call<void>("push", to_typed_array(layer));
    out.set(name, arrays);
  };
  set(prefix + "hidden_states", insides.hidden_states);
  set(prefix + "attentions", insides.attentions);
  const char* names[] = {"queries", "keys", "values"};
  for (int i = 0; i < 3; ++i) set(prefix + names[i], insides.qkv[i]);
  if (!prefix.empty()) return;
  set("cross_attentions", insides.cross_attentions);
  for (int i = 0; i < 3; ++i) set(std::string("cross_") + names[i], insides.cross_qkv[i]);
  out.set("lens_ids", to_typed_array(insides.lens_ids));
  out.set("lens_logits", to_typed_array(insides.lens_logits));
}

}  // namespace wattn
