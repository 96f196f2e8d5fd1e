// find_spans: spans of words that a GLiNER model gives one of the caller's labels (models/span_head.h). The caller decides between
// spans that overlap. GLiNER2 reads a schema of several parts: fields of structures, entities, relations and classes of the text.
//
// A text that is longer than the encoder reads at once is read in windows that overlap. Each word belongs to one window, in which
// it has words on both sides; the span of an entity is judged there where its first word belongs, so exactly once. Structures and
// relations have all spans of each window, so that the caller sees whole instances. Classes are those of the first window.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/span_head.h"
#include "tasks/text_job.h"

namespace wattn {

// Some labels of a schema, in the order of the labels: the fields of a structure, the ends of a relation, entities or classes.
struct SchemaPart {
  SchemaPartKind kind = SchemaPartKind::kEntities;
  std::string name;         // with descriptions and examples, as the package writes them
  std::int64_t labels = 0;  // how many
};

struct FindSpansOptions {
  std::vector<std::u16string_view> labels{};  // at least one; different ones in each part
  float threshold = 0.5f;                     // spans have higher scores
  std::vector<SchemaPart> parts{};            // of GLiNER2; none: the labels are of entities
  std::vector<std::string> choices{};         // words before the text, each a span by itself: values for fields of structures
  std::int64_t first_text = 0;                // index of texts[0] in messages: a host may split one call into several
};

// Characters begin to end of a text, in UTF-16 units, end exclusive. With a schema, end may be one behind the text: the full stop.
struct FoundSpan {
  std::int32_t text = 0, begin = 0, end = 0;  // end of -1: the choice with the index begin
  std::int32_t label = 0;
  std::int32_t instance = 0;  // of a structure or relation; those of the next window follow those of this one, 20 for each window
  bool is_own = true;         // whether the first word belongs to this window; choices to the first one
  float score = 0;
};

struct FindSpansResult {
  std::vector<FoundSpan> spans;         // text after text, window after window, each by first words, then by parts and instances
  std::vector<float> logits;            // of classes: [texts, classes]
  std::vector<std::int32_t> windows;    // [texts]
  std::vector<std::uint8_t> truncated;  // [texts] whether only the beginning was read: of a word that is too long; for classes, of
                                        // the text
  std::vector<float> unknown;           // [texts] the share of unknown tokens
};

// Words [begin, end) of a text, of which [own_begin, own_end) belong to this window.
struct WordWindow {
  std::int64_t begin = 0, end = 0, own_begin = 0, own_end = 0;
};
// tokens: of each word, at most most_tokens. A window has at most most_words words and most_tokens tokens. Where there is room, a
// word has max_width - 1 words after it in its window, at least as many before it, and at least an eighth of the window.
std::vector<WordWindow> word_windows(std::span<const std::int64_t> tokens, std::int64_t most_tokens, std::int64_t most_words,
                                     std::int64_t max_width);

class FindSpansJob final : public TextJob {
 public:
  // texts and labels must live as long as the job. Needs model.span_head(). A bi-encoder reads and keeps the labels here, so a job
  // without texts prepares later ones.
  static Result<std::unique_ptr<FindSpansJob>> begin(Model& model, std::span<const std::u16string_view> texts,
                                                     FindSpansOptions options);
  // After the last step.
  FindSpansResult take_result() { return std::move(result_); }

 private:
  FindSpansJob(Model& model, std::span<const std::u16string_view> texts, FindSpansOptions options)
      : TextJob(model, texts.size()), texts_(texts), options_(std::move(options)) {}

  // One window, between being encoded and being run.
  struct Window {
    std::int64_t index = 0;                   // of the text's
    std::int64_t own_begin = 0, own_end = 0;  // of the words below
    std::vector<TextSpan> words;              // characters
    std::vector<std::int32_t> token_at;       // [words + 1] where each word's tokens begin
  };

  Result<void> prepare();
  Result<void> prepare_markers();
  Result<void> prepare_labels();
  Result<void> prepare_schema();
  Result<void> add_tokens(std::u16string_view word);
  Result<void> add_part(const SchemaPart& part, std::size_t first_label);
  Result<std::vector<std::int32_t>> label_tokens(std::u16string_view label, const std::string& marker, std::int32_t id) const;
  Result<std::vector<std::int32_t>> tokens_of(std::u16string_view word, double* unknown = nullptr) const;
  Result<Encoding> encode(std::size_t text) override;
  void add(Encoding, std::size_t, bool) override {}
  Result<void> run(const Batch& batch, const std::vector<std::size_t>& texts) override;
  Result<void> run_window(const Window& window, const float* hidden, std::size_t text);
  // What the head reads of labels [any, hidden].
  std::vector<float> rows_of(const std::vector<float>& labels) const;
  Result<void> run_schema(const Window& window, const std::vector<float>& rows, std::size_t text);
  Result<std::vector<ScoredSpan>> score(const Window& window, const std::vector<float>& rows, const std::vector<float>& label_rows,
                                        std::size_t text) const;
  std::string name_of(std::size_t text) const;
  bool has_part(SchemaPartKind kind) const;

  std::span<const std::u16string_view> texts_;
  FindSpansOptions options_;
  std::vector<std::int32_t> prompt_;      // ids before the words
  std::vector<std::int32_t> ending_;      // ids after them
  std::vector<std::int32_t> labels_at_;   // [labels] each one's row in the prompt
  std::vector<float> label_rows_;         // of a bi-encoder, which has none there: [labels, SpanHead::label_width()]
  std::vector<std::int32_t> parents_at_;  // [parts] the row of each one's "[P]"
  std::vector<std::int32_t> choices_at_;  // [choices + 1] where each one's tokens begin in the prompt
  std::int64_t room_ = 0;                 // tokens for words in a window
  std::deque<Window> windows_;            // encoded, but not yet run
  FindSpansResult result_;
};

Result<FindSpansResult> find_spans(Model& model, std::span<const std::u16string_view> texts, const FindSpansOptions& options);

}  // namespace wattn
