// Result<T>: a value or an Error. The core is built without exceptions; everything that can fail returns one of these.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace wattn {

enum class ErrorCode : std::uint8_t {
  kOk = 0,
#define WATTN_ERROR(enumerator, name) enumerator,
#include "core/error_codes.def"
#undef WATTN_ERROR
};

struct Error {
  ErrorCode code = ErrorCode::kOk;
  std::string message;  // what went wrong, what was expected, what was found, in which file, tensor or option
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return error_.code == ErrorCode::kOk; }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

inline Error model_format_error(std::string message) { return {ErrorCode::kModelFormat, std::move(message)}; }
inline Error unsupported_error(std::string message) { return {ErrorCode::kUnsupported, std::move(message)}; }
inline Error input_error(std::string message) { return {ErrorCode::kInput, std::move(message)}; }
inline Error out_of_memory_error(std::string message) { return {ErrorCode::kOutOfMemory, std::move(message)}; }

}  // namespace wattn
