#include "tokenizer/post_processors/post_processor.h"

#include <utility>

#include "tokenizer/component.h"
#include "tokenizer/post_processors/readers.h"

namespace wattn {

namespace {

constexpr ComponentReader<PostProcessor> kReaders[] = {
    {"BertProcessing", read_bert_processing},
    {"TemplateProcessing", read_template_processing},
};

}  // namespace

std::int32_t PostProcessor::num_special_tokens(bool is_pair) const {
  std::size_t count = 0;
  for (const TemplatePiece& piece : is_pair ? pair : single) count += piece.ids.size();
  return static_cast<std::int32_t>(count);
}

Result<PostProcessor> read_post_processor(JsonRef json) {
  if (json.is_null()) {
    const TemplatePiece first{TemplatePiece::kFirst, 0, {}}, second{TemplatePiece::kSecond, 1, {}};
    return PostProcessor{{first}, {first, second}};
  }
  PostProcessorResult read = read_component<PostProcessor>(json, 0, "post-processor", kReaders);
  if (!read.ok()) return read.error();
  return std::move(*read.value());
}

}  // namespace wattn
