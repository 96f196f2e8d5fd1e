#include "tokenizer/models/model.h"

#include "tokenizer/component.h"
#include "tokenizer/models/readers.h"

namespace wattn {

namespace {

constexpr ComponentReader<Model> kReaders[] = {
    {"WordPiece", read_wordpiece},
};

}  // namespace

ModelResult read_model(JsonRef json) { return read_component<Model>(json, 0, "model", kReaders); }

}  // namespace wattn
