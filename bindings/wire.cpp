#include "bindings/wire.h"

#include <emscripten/emscripten.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wattn {

JsonRef Members::find(std::string_view name) {
  names_.push_back(name);
  const JsonRef value = object_[name];
  if (value.exists()) ++found_;
  return value;
}

int Members::read_word(JsonRef value, std::span<const Word> words) {
  const auto found = value.as_string();
  for (const Word& word : words) {
    if (found.ok() && found.value() == word.word) return word.value;
  }
  fail({ErrorCode::kState, value.mismatch("a known word").message});
  return 0;
}

Result<void> Members::end() {
  if (error_.code != ErrorCode::kOk) return error_;
  if (found_ == object_.size()) return {};
  for (const auto& [name, value] : object_.members()) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end())
      return Error{ErrorCode::kState, "options: nothing reads '" + std::string(name) + "'"};
  }
  return {};
}

Texts::Texts(std::string_view utf8, std::span<const std::int32_t> lengths) : joined(to_utf16(utf8)) {
  std::size_t begin = 0;
  views.reserve(lengths.size());
  for (const std::int32_t length : lengths) {
    views.push_back(std::u16string_view(joined).substr(begin, static_cast<std::size_t>(length)));
    begin += static_cast<std::size_t>(length);
  }
}

Result<void> read_object(std::string_view json, void (*read)(Members& members, void* to), void* to) {
  const auto parsed = Json::parse(json, "options");
  if (!parsed.ok()) return parsed.error();
  Members members(parsed.value().root());
  read(members, to);
  return members.end();
}

std::size_t Arguments::expect(Kind kind) {
  const std::int32_t found = at_[0];
  const auto count = static_cast<std::uint32_t>(at_[1]);
  at_ += 2;
  if (found == kNone) return 0;
  if (found != kind) __builtin_trap();
  return count;
}

const void* Arguments::values(std::size_t bytes) {
  const void* begin = at_;
  at_ += 2 * ((bytes + 7) / 8);
  return begin;
}

double Arguments::number() {
  double out = 0;
  if (expect(kNumber) > 0) std::memcpy(&out, values(sizeof out), sizeof out);
  return out;
}
std::string_view Arguments::text() {
  const std::size_t bytes = expect(kBytes);
  return {static_cast<const char*>(values(bytes)), bytes};
}
std::span<const std::int32_t> Arguments::ints() {
  const std::size_t count = expect(kInts);
  return {static_cast<const std::int32_t*>(values(4 * count)), count};
}
std::span<const float> Arguments::floats() {
  const std::size_t count = expect(kFloats);
  return {static_cast<const float*>(values(4 * count)), count};
}
std::unique_ptr<Texts> Arguments::texts() {
  const std::size_t count = expect(kTexts);
  const std::span lengths(static_cast<const std::int32_t*>(values(4 * count)), count);
  return std::make_unique<Texts>(count > 0 ? text() : std::string_view(), lengths);
}

namespace {

template <class T>
std::vector<T> copy_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<std::string> Arguments::words() {
  std::vector<std::string> out(list());
  for (std::string& word : out) word = text();
  return out;
}
std::vector<std::vector<std::int32_t>> Arguments::lists_of_ints() {
  std::vector<std::vector<std::int32_t>> out(list());
  for (auto& values : out) values = copy_of(ints());
  return out;
}
std::vector<std::vector<float>> Arguments::lists_of_floats() {
  std::vector<std::vector<float>> out(list());
  for (auto& values : out) values = copy_of(floats());
  return out;
}

const char* word_of(std::span<const Word> words, int value) {
  for (const Word& word : words) {
    if (word.value == value) return word.word;
  }
  return "";
}

void PlainAnswer::say(const char* name, double number) {
  const auto whole = static_cast<std::int32_t>(number);  // saturates in WebAssembly
  if (static_cast<double>(whole) == number && !(whole == 0 && std::signbit(number)))
    return add(name, kWhole, nullptr, static_cast<std::uint32_t>(whole));
  add(name, kDouble, &keep(number), 1);
}

const PlainAnswer* PlainAnswer::end(const Error& error) {
  clear();
  say("code", static_cast<std::int64_t>(error.code));
  say("message", std::string(error.message));
  return end();
}

void PlainAnswer::clear() {
  fields_.clear();
  for (const Kept& kept : kept_) kept.free(kept.value);
  kept_.clear();
}

const PlainAnswer* Handle::call(std::size_t number, const std::int32_t* room) {
  answer_.clear();
  Arguments in(room);
  const auto done = answer(number, in, answer_);
  return done.ok() ? answer_.end() : answer_.end(done.error());
}

std::int32_t* room = nullptr;

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* build_id() { return WATTN_BUILD_ID; }

// Resizes the room and returns its address. Its contents are lost.
EMSCRIPTEN_KEEPALIVE void* make_room(std::size_t bytes) {
  delete[] room;
  return room = new std::int32_t[(bytes + 3) / 4];
}

// number: the position of a call of the handle in core/wire.def. The room has its arguments. The answer stays until it is cleared.
EMSCRIPTEN_KEEPALIVE const PlainAnswer* call(Handle* handle, std::size_t number) { return handle->call(number, room); }
EMSCRIPTEN_KEEPALIVE void clear_answer(Handle* handle) { handle->clear_answer(); }
EMSCRIPTEN_KEEPALIVE void release(Handle* handle) { delete handle; }

}  // extern "C"
}  // namespace wattn
