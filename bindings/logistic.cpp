// Logistic regression and calibration. Labels are numbers here; web/ keeps their names.
#include "learn/logistic.h"

#include <emscripten/bind.h>

#include "bindings/convert.h"
#include "learn/calibration.h"

namespace wattn {
namespace {

template <class T>
std::vector<T> numbers(const val& array) {
  return array.isNull() ? std::vector<T>() : emscripten::convertJSArrayToNumberVector<T>(array);
}

// Usage: make once, then any number of fits: begin, step until `more` is false, then parameters and logits (of blocks).
class LogisticHandle {
 public:
  val make(const val& vectors, const val& labels, double num_labels) {
    auto made = Logistic::make(numbers<float>(vectors), to_ids(labels), static_cast<std::int64_t>(num_labels));
    if (!made.ok()) return answer(made.error());
    model_.emplace(std::move(made).value());
    return answer();
  }

  val begin(const val& weights, double c, const val& start) {
    return answer(model_->begin(numbers<double>(weights), c, numbers<double>(start)));
  }

  val step(double tolerance) {
    val out = answer("more", model_->step(tolerance));
    out.set("loss", model_->loss());
    out.set("iterations", model_->iterations());
    return out;
  }

  val parameters() const { return answer("parameters", to_typed_array(model_->parameters())); }
  val logits(double begin) { return answer("logits", to_typed_array(model_->logits(static_cast<std::int64_t>(begin)))); }

 private:
  std::optional<Logistic> model_;  // web/ calls make() first
};

// Usage: make, then step until `more` is false: the last step has the temperature.
class CalibrationHandle {
 public:
  val make(const val& logits, const val& labels) {
    auto made = Calibration::make(numbers<float>(logits), to_ids(labels));
    if (!made.ok()) return answer(made.error());
    calibration_.emplace(std::move(made).value());
    return answer();
  }

  val step() {
    val out = answer("more", calibration_->step());
    out.set("temperature", calibration_->temperature());
    out.set("loss", calibration_->loss());
    return out;
  }

 private:
  std::optional<Calibration> calibration_;  // web/ calls make() first
};

}  // namespace

EMSCRIPTEN_BINDINGS(logistic) {
  emscripten::class_<CalibrationHandle>("Calibration")
      .constructor()
      .function("make", &CalibrationHandle::make)
      .function("step", &CalibrationHandle::step);
  emscripten::class_<LogisticHandle>("Logistic")
      .constructor()
      .function("make", &LogisticHandle::make)
      .function("begin", &LogisticHandle::begin)
      .function("step", &LogisticHandle::step)
      .function("parameters", &LogisticHandle::parameters)
      .function("logits", &LogisticHandle::logits);
}

}  // namespace wattn
