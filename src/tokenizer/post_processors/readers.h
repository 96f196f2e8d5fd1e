// One reader per post-processor; post_processor.cpp lists them by "type".
#pragma once

#include <memory>

#include "tokenizer/component.h"
#include "tokenizer/post_processors/post_processor.h"

namespace wattn {

using PostProcessorResult = Result<std::unique_ptr<PostProcessor>>;

PostProcessorResult read_template_processing(JsonRef json, int depth);  // template.cpp
PostProcessorResult read_bert_processing(JsonRef json, int depth);      // bert.cpp
PostProcessorResult read_roberta_processing(JsonRef json, int depth);
PostProcessorResult read_byte_level_processing(JsonRef json, int depth);

}  // namespace wattn
