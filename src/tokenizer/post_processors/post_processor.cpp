// build: -Os
#include "tokenizer/post_processors/post_processor.h"

#include <utility>

#include "tokenizer/component.h"

namespace wattn {
namespace {

bool adds_tokens(const PostProcessor& processor) {
  return processor.num_special_tokens(false) > 0 || processor.single.size() != 1 || processor.pair.size() != 2;
}

// Trimming must come before adding special tokens, and both at most once; no real file differs.
PostProcessorResult read_sequence(JsonRef json, int depth);

constexpr ComponentReader<PostProcessor> kReaders[] = {
    {"BertProcessing", read_bert_processing},         {"ByteLevel", read_byte_level_processing},
    {"RobertaProcessing", read_roberta_processing},   {"Sequence", read_sequence},
    {"TemplateProcessing", read_template_processing},
};

PostProcessorResult read_sequence(JsonRef json, int depth) {
  Fields fields(json, {"processors"});
  const JsonRef list = fields.array("processors");
  auto out = std::make_unique<PostProcessor>(texts_alone());
  for (std::size_t i = 0; i < list.size() && fields.ok(); ++i) {
    PostProcessorResult step = read_component<PostProcessor>(list[i], depth + 1, "post-processor", kReaders);
    if (!step.ok()) return step.error();
    PostProcessor& processor = *step.value();
    if (adds_tokens(*out) && (adds_tokens(processor) || !processor.trims.empty())) {
      fields.fail(unsupported_error(list[i].where() + ": a post-processor after one that adds special tokens is not supported"));
    }
    processor.trims.insert(processor.trims.begin(), out->trims.begin(), out->trims.end());
    if (adds_tokens(*out)) continue;
    *out = std::move(processor);
  }
  if (!fields.ok()) return fields.error();
  return PostProcessorResult(std::move(out));
}

}  // namespace

PostProcessor texts_alone() {
  const TemplatePiece first{TemplatePiece::kFirst, 0, {}}, second{TemplatePiece::kSecond, 1, {}};
  return PostProcessor{{first}, {first, second}};
}

std::int32_t PostProcessor::num_special_tokens(bool is_pair) const {
  std::size_t count = 0;
  for (const TemplatePiece& piece : is_pair ? pair : single) count += piece.ids.size();
  return static_cast<std::int32_t>(count);
}

Result<PostProcessor> read_post_processor(JsonRef json) {
  if (json.is_null()) return texts_alone();
  PostProcessorResult read = read_component<PostProcessor>(json, 0, "post-processor", kReaders);
  if (!read.ok()) return read.error();
  return std::move(*read.value());
}

}  // namespace wattn
