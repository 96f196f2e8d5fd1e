#include "tasks/find_spans.h"

#include <algorithm>

#include "core/utf.h"
#include "engine/labels_encoder.h"

namespace wattn {
namespace {

// The least room for words beside the labels.
constexpr std::int64_t kLeastRoom = 16;
// A word has at most this part of a window's tokens, so that a window has some words.
constexpr std::int64_t kWordShare = 4;
constexpr std::size_t kMostSpans = 1 << 22;
// Instances of a part in a window, at most.
constexpr std::int64_t kMostInstances = 20;
// What stands before each label of a part, by its kind.
constexpr const char* kMarkers[] = {"[C]", "[E]", "[R]", "[L]"};

// The words of a text for a schema. A text that does not end with . ! or ? gets a full stop, a word that begins where the text
// ends.
std::vector<TextSpan> schema_words(std::u16string_view text) {
  std::vector<TextSpan> words = split_words_and_addresses(text);
  const bool ends = !text.empty() && std::u16string_view(u".!?").find(text.back()) != std::u16string_view::npos;
  const auto length = static_cast<std::int32_t>(text.size());
  if (!ends) words.push_back({length, length + 1});
  return words;
}

}  // namespace

std::vector<WordWindow> word_windows(std::span<const std::int64_t> tokens, std::int64_t most_tokens, std::int64_t most_words,
                                     std::int64_t max_width) {
  const auto words = static_cast<std::int64_t>(tokens.size());
  std::vector<WordWindow> windows;
  std::int64_t begin = 0, own_begin = 0;
  while (own_begin < words) {
    std::int64_t end = begin, sum = 0;
    while (end < words && end - begin < most_words && sum + tokens[end] <= most_tokens) sum += tokens[end++];
    if (end == words) {
      windows.push_back({begin, end, own_begin, end});
      break;
    }
    // The words after the last own one, and before the next window's first own one: less than a third, so that windows advance.
    const std::int64_t length = end - begin;
    const std::int64_t beside = std::min(std::max(max_width - 1, length / 8), (length - 1) / 3);
    windows.push_back({begin, end, own_begin, end - beside});
    own_begin = end - beside;
    begin = own_begin - beside;
  }
  return windows;
}

Result<std::unique_ptr<FindSpansJob>> FindSpansJob::begin(Model& model, std::span<const std::u16string_view> texts,
                                                          FindSpansOptions options) {
  std::unique_ptr<FindSpansJob> out(new FindSpansJob(model, texts, std::move(options)));
  if (auto prepared = out->prepare(); !prepared.ok()) return prepared.error();
  return out;
}

Result<std::vector<std::int32_t>> FindSpansJob::tokens_of(std::u16string_view word, double* unknown) const {
  auto encoding = model().tokenizer().encode(word, {.add_special_tokens = false});
  if (!encoding.ok()) return encoding.error();
  if (unknown) *unknown += encoding.value().unknown * static_cast<double>(encoding.value().size());
  return std::move(encoding.value().ids);
}

bool FindSpansJob::has_part(SchemaPartKind kind) const {
  return std::any_of(options_.parts.begin(), options_.parts.end(), [&](const SchemaPart& part) { return part.kind == kind; });
}

Result<void> FindSpansJob::prepare() {
  if (!model().span_head()) return input_error("find_spans: this model was loaded without its head");
  if (options_.labels.empty()) return input_error("labels: expected at least one, found none");
  const bool is_schema = model().span_head()->config().is_schema();
  if (!options_.parts.empty() && !is_schema) {
    return input_error("expected a model that reads a schema (GLiNER2), found one of GLiNER");
  }
  auto prompted = is_schema ? prepare_schema() : model().labels_encoder() ? prepare_labels() : prepare_markers();
  if (!prompted.ok()) return prompted;
  const auto taken = static_cast<std::int64_t>(prompt_.size() + ending_.size());
  room_ = model().max_length() - taken;
  if (room_ < kLeastRoom) {
    return input_error("labels: expected at most " + std::to_string(model().max_length() - kLeastRoom) +
                       " tokens in all (the model reads " + std::to_string(model().max_length()) +
                       ", labels and text together), found " + std::to_string(taken));
  }
  return {};
}

Result<std::vector<std::int32_t>> FindSpansJob::label_tokens(std::u16string_view label, const std::string& marker,
                                                             std::int32_t id) const {
  auto tokens = tokens_of(label);
  if (!tokens.ok()) return tokens.error();
  const auto& found = tokens.value();
  if (found.empty() || std::find(found.begin(), found.end(), id) != found.end()) {
    return input_error("labels: expected texts with at least one token and without '" + marker + "', found '" +
                       to_utf8(label.substr(0, 40)) + "'");
  }
  return tokens;
}

Result<void> FindSpansJob::add_tokens(std::u16string_view word) {
  const auto tokens = tokens_of(word);
  if (!tokens.ok()) return tokens.error();
  prompt_.insert(prompt_.end(), tokens.value().begin(), tokens.value().end());
  return {};
}

// "( [P] name ( [E] label [E] label ) )", each word tokenized alone.
Result<void> FindSpansJob::add_part(const SchemaPart& part, std::size_t first_label) {
  const std::string marker = kMarkers[static_cast<std::size_t>(part.kind)];
  const auto id = model().tokenizer().token_to_id(marker);
  if (!id) return model_format_error("tokenizer.json: expected the token '" + marker + "', found none");
  if (auto added = add_tokens(u"("); !added.ok()) return added;
  parents_at_.push_back(static_cast<std::int32_t>(prompt_.size()));
  const std::u16string name = to_utf16(part.name);
  for (const std::u16string_view word : {std::u16string_view(u"[P]"), std::u16string_view(name), std::u16string_view(u"(")}) {
    if (auto added = add_tokens(word); !added.ok()) return added;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(part.labels); ++i) {
    const auto tokens = label_tokens(options_.labels[first_label + i], marker, *id);
    if (!tokens.ok()) return tokens.error();
    labels_at_.push_back(static_cast<std::int32_t>(prompt_.size()));
    prompt_.push_back(*id);
    prompt_.insert(prompt_.end(), tokens.value().begin(), tokens.value().end());
  }
  for (const char16_t* word : {u")", u")"}) {
    if (auto added = add_tokens(word); !added.ok()) return added;
  }
  return {};
}

// "( [P] entities ( [E] label ) ) [SEP_STRUCT] ( [P] .. ) [SEP_TEXT]", and the choices, which are the first words of the text.
Result<void> FindSpansJob::prepare_schema() {
  if (options_.parts.empty()) {
    options_.parts.push_back({SchemaPartKind::kEntities, "entities", static_cast<std::int64_t>(options_.labels.size())});
  }
  std::size_t labels = 0;
  for (const SchemaPart& part : options_.parts) {
    const std::size_t left = options_.labels.size() - labels;
    if (part.labels < 1 || static_cast<std::size_t>(part.labels) > left) {
      return input_error("parts: expected a part with 1 to " + std::to_string(left) + " labels, found " +
                         std::to_string(part.labels));
    }
    if (auto added = labels > 0 ? add_tokens(u"[SEP_STRUCT]") : Result<void>(); !added.ok()) return added;
    if (auto added = add_part(part, labels); !added.ok()) return added;
    labels += static_cast<std::size_t>(part.labels);
  }
  if (labels != options_.labels.size()) {
    return input_error("parts: expected parts with " + std::to_string(options_.labels.size()) + " labels, found " +
                       std::to_string(labels));
  }
  if (auto added = add_tokens(u"[SEP_TEXT]"); !added.ok()) return added;
  for (const std::string& choice : options_.choices) {
    choices_at_.push_back(static_cast<std::int32_t>(prompt_.size()));
    if (auto added = add_tokens(to_utf16(choice)); !added.ok()) return added;
  }
  choices_at_.push_back(static_cast<std::int32_t>(prompt_.size()));
  return {};
}

// "<<ENT>> label <<ENT>> label <<SEP>>" with the tokenizer's special tokens around the whole.
Result<void> FindSpansJob::prepare_markers() {
  const SpanConfig& config = model().span_head()->config();
  const std::u16string marker = to_utf16(config.ent_token);
  const auto around = model().tokenizer().encode(marker, {});
  if (!around.ok()) return around.error();
  const std::vector<std::int32_t>& ids = around.value().ids;
  const auto at = std::find(ids.begin(), ids.end(), config.class_token);
  const auto inner = tokens_of(marker);
  if (!inner.ok()) return inner.error();
  if (at == ids.end() || inner.value().size() != 1) {
    return model_format_error("tokenizer.json: expected ent_token '" + config.ent_token +
                              "' of gliner_config.json as one token with id " + std::to_string(config.class_token) +
                              " (class_token_index), found another");
  }
  prompt_.assign(ids.begin(), at);
  ending_.assign(at + 1, ids.end());
  for (const std::u16string_view label : options_.labels) {
    const auto tokens = label_tokens(label, config.ent_token, config.class_token);
    if (!tokens.ok()) return tokens.error();
    const auto& found = tokens.value();
    labels_at_.push_back(static_cast<std::int32_t>(prompt_.size()) + (config.embed_ent_token ? 0 : 1));
    prompt_.push_back(config.class_token);
    prompt_.insert(prompt_.end(), found.begin(), found.end());
  }
  const auto separator = tokens_of(to_utf16(config.sep_token));
  if (!separator.ok()) return separator.error();
  prompt_.insert(prompt_.end(), separator.value().begin(), separator.value().end());
  return {};
}

// The text has nothing but the tokenizer's special tokens around it.
Result<void> FindSpansJob::prepare_labels() {
  constexpr std::u16string_view kSample = u"a";
  const auto inner = tokens_of(kSample);
  if (!inner.ok()) return inner.error();
  const auto around = model().tokenizer().encode(kSample, {});
  if (!around.ok()) return around.error();
  const std::vector<std::int32_t>& ids = around.value().ids;
  const auto at = std::search(ids.begin(), ids.end(), inner.value().begin(), inner.value().end());
  if (inner.value().empty() || at == ids.end()) {
    return model_format_error("tokenizer.json: expected tokens for 'a', and the same between special tokens, found others");
  }
  prompt_.assign(ids.begin(), at);
  ending_.assign(at + static_cast<std::ptrdiff_t>(inner.value().size()), ids.end());
  auto rows = model().labels_encoder()->rows(*model().span_head(), model().team(), options_.labels);
  if (!rows.ok()) return rows.error();
  label_rows_ = std::move(rows).value();
  return {};
}

Result<Encoding> FindSpansJob::encode(std::size_t text) {
  const SpanConfig& config = model().span_head()->config();
  const std::vector<TextSpan> words = config.is_schema() ? schema_words(texts_[text]) : split_words(texts_[text]);
  const auto text_of = [&](const TextSpan& word) -> std::u16string {
    const auto begin = static_cast<std::size_t>(word.begin);
    if (begin == texts_[text].size()) return u".";
    const std::u16string_view own = texts_[text].substr(begin, static_cast<std::size_t>(word.end - word.begin));
    return config.is_schema() ? lower_case(own) : std::u16string(own);
  };
  std::vector<std::vector<std::int32_t>> ids;
  std::vector<std::int64_t> counts;
  double unknown = 0, count = 0;
  bool truncated = false;
  const std::int64_t longest = room_ / kWordShare;
  for (const TextSpan& word : words) {
    auto tokens = tokens_of(text_of(word), &unknown);
    if (!tokens.ok()) return tokens.error();
    std::vector<std::int32_t>& own = tokens.value();
    count += static_cast<double>(own.size());
    if (static_cast<std::int64_t>(own.size()) > longest) {
      own.resize(static_cast<std::size_t>(longest));
      truncated = true;
    }
    counts.push_back(static_cast<std::int64_t>(own.size()));
    ids.push_back(std::move(own));
  }
  std::vector<Encoding> encodings;
  std::vector<WordWindow> windows = word_windows(counts, room_, config.max_words, config.max_width);
  if (has_part(SchemaPartKind::kClasses) && windows.size() > 1) {
    const bool has_others = std::any_of(options_.parts.begin(), options_.parts.end(),
                                        [](const SchemaPart& part) { return part.kind != SchemaPartKind::kClasses; });
    if (!has_others) windows.resize(1);
    truncated = true;
  }
  for (const WordWindow& window : windows) {
    Encoding encoding;
    encoding.ids = prompt_;
    Window kept{
        static_cast<std::int64_t>(encodings.size()), window.own_begin - window.begin, window.own_end - window.begin, {}, {}};
    for (std::int64_t i = window.begin; i < window.end; ++i) {
      kept.words.push_back(words[i]);
      kept.token_at.push_back(static_cast<std::int32_t>(encoding.ids.size()));
      encoding.ids.insert(encoding.ids.end(), ids[i].begin(), ids[i].end());
    }
    kept.token_at.push_back(static_cast<std::int32_t>(encoding.ids.size()));
    encoding.ids.insert(encoding.ids.end(), ending_.begin(), ending_.end());
    encoding.type_ids.resize(encoding.ids.size());
    encodings.push_back(std::move(encoding));
    windows_.push_back(std::move(kept));
  }
  result_.windows.push_back(static_cast<std::int32_t>(encodings.size()));
  result_.truncated.push_back(truncated);
  result_.unknown.push_back(count > 0 ? static_cast<float>(unknown / count) : 0.0f);
  // A text without words is an empty window, which has none of the tokens.
  if (encodings.empty()) {
    windows_.emplace_back();
    return Encoding();
  }
  Encoding first = std::move(encodings.front());
  encodings.erase(encodings.begin());
  first.overflowing = std::move(encodings);
  return first;
}

Result<void> FindSpansJob::run(const Batch& batch, const std::vector<std::size_t>& texts) {
  const float* hidden = nullptr;
  if (batch.tokens() > 0) {
    const auto ran = states(batch);
    if (!ran.ok()) return ran.error();
    hidden = ran.value();
  }
  const std::int64_t width = model().transformer().config().hidden_size;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Window window = std::move(windows_.front());
    windows_.pop_front();
    if (window.words.empty()) continue;
    if (auto found = run_window(window, hidden + batch.seq_start[i] * width, texts[i]); !found.ok()) return found;
  }
  return {};
}

std::string FindSpansJob::name_of(std::size_t text) const {
  return "text " + std::to_string(options_.first_text + static_cast<std::int64_t>(text));
}

// hidden: [tokens, width] of this window.
Result<void> FindSpansJob::run_window(const Window& window, const float* hidden, std::size_t text) {
  const SpanHead& head = *model().span_head();
  const ThreadTeam::Awake awake(model().team());
  const std::vector<float> rows =
      head.project({model().kernels(), model().team()}, hidden, window.token_at.back() + static_cast<std::int64_t>(ending_.size()));
  if (head.config().is_schema()) return run_schema(window, rows, text);
  const std::int64_t width = head.config().hidden;
  std::vector<float> labels;
  for (const std::int32_t at : labels_at_) labels.insert(labels.end(), rows.begin() + at * width, rows.begin() + (at + 1) * width);
  const auto spans = score(window, rows, labels_at_.empty() ? label_rows_ : rows_of(labels), text);
  if (!spans.ok()) return spans.error();
  for (const ScoredSpan& span : spans.value()) {
    result_.spans.push_back({.text = static_cast<std::int32_t>(text),
                             .begin = window.words[span.first].begin,
                             .end = window.words[span.last].end,
                             .label = span.label,
                             .score = span.score});
  }
  return {};
}

std::vector<float> FindSpansJob::rows_of(const std::vector<float>& labels) const {
  const SpanHead& head = *model().span_head();
  return head.label_rows({model().kernels(), model().team()}, labels.data(),
                         static_cast<std::int64_t>(labels.size()) / head.config().hidden);
}

// label_rows: [any, label_width()] that spans are scored against.
Result<std::vector<ScoredSpan>> FindSpansJob::score(const Window& window, const std::vector<float>& rows,
                                                    const std::vector<float>& label_rows, std::size_t text) const {
  const SpanHead& head = *model().span_head();
  const std::int64_t width = head.config().hidden;
  const PoolingMode pooling[] = {head.config().pooling};
  const auto choices = static_cast<std::int64_t>(options_.choices.size());
  const std::int64_t count = choices + static_cast<std::int64_t>(window.words.size());
  std::vector<float> words(static_cast<std::size_t>(count * width));
  for (std::int64_t i = 0; i < count; ++i) {  // a word without tokens has zeros
    const std::int32_t* at = i < choices ? choices_at_.data() + i : window.token_at.data() + (i - choices);
    pool(model().kernels(), pooling, rows.data() + at[0] * width, at[1] - at[0], width, 0, words.data() + i * width);
  }
  const bool is_whole = has_part(SchemaPartKind::kStructure) || has_part(SchemaPartKind::kRelation);
  std::vector<ScoredSpan> spans;
  const auto found = head.find({model().kernels(), model().team()},
                               {.words = words.data(),
                                .num_words = count,
                                .labels = label_rows.data(),
                                .num_labels = static_cast<std::int64_t>(label_rows.size()) / head.label_width(),
                                .alone = choices,
                                .begin = choices + (is_whole ? 0 : window.own_begin),
                                .end = is_whole ? count : choices + window.own_end,
                                .threshold = options_.threshold,
                                .most = kMostSpans,
                                .what = name_of(text)},
                               spans);
  if (!found.ok()) return found.error();
  return spans;
}

Result<void> FindSpansJob::run_schema(const Window& window, const std::vector<float>& rows, std::size_t text) {
  const SpanHead& head = *model().span_head();
  const Compute compute{model().kernels(), model().team()};
  const std::int64_t width = head.config().hidden;
  // What each row of `wanted` stands for.
  struct Wanted {
    std::int32_t label, instance;
    SchemaPartKind kind;
  };
  std::vector<Wanted> wanted_of;
  std::vector<float> wanted;
  std::int32_t first_label = 0;
  for (std::size_t p = 0; p < options_.parts.size(); ++p) {
    const SchemaPart& part = options_.parts[p];
    std::vector<float> labels;
    for (std::int32_t i = 0; i < part.labels; ++i) {
      const float* row = rows.data() + labels_at_[static_cast<std::size_t>(first_label + i)] * width;
      labels.insert(labels.end(), row, row + width);
    }
    if (part.kind != SchemaPartKind::kClasses) {
      const auto found = head.instances(compute, rows.data() + parents_at_[p] * width, labels.data(), part.labels,
                                        part.kind == SchemaPartKind::kEntities ? 1 : kMostInstances);
      if (!found.ok()) return found.error();
      const auto count = static_cast<std::int32_t>(found.value().size() / labels.size());
      for (std::int32_t i = 0; i < count * part.labels; ++i) {
        const auto labels_of_part = static_cast<std::int32_t>(part.labels);
        wanted_of.push_back({first_label + i % labels_of_part,
                             static_cast<std::int32_t>(window.index * kMostInstances) + i / labels_of_part, part.kind});
      }
      wanted.insert(wanted.end(), found.value().begin(), found.value().end());
    } else if (window.index == 0) {
      const std::vector<float> logits = head.classify(compute, labels.data(), part.labels);
      if (auto checked = check_finite(logits.data(), part.labels, name_of(text)); !checked.ok()) return checked;
      result_.logits.insert(result_.logits.end(), logits.begin(), logits.end());
    }
    first_label += static_cast<std::int32_t>(part.labels);
  }
  if (wanted.empty()) return {};
  const auto spans = score(window, rows, rows_of(wanted), text);
  if (!spans.ok()) return spans.error();
  const auto choices = static_cast<std::int32_t>(options_.choices.size());
  for (const ScoredSpan& span : spans.value()) {
    const Wanted& what = wanted_of[static_cast<std::size_t>(span.label)];
    FoundSpan out{.text = static_cast<std::int32_t>(text), .label = what.label, .instance = what.instance, .score = span.score};
    if (span.first < choices) {
      out.begin = span.first;
      out.end = -1;
      out.is_own = window.index == 0;
    } else {
      const std::int32_t first = span.first - choices;
      out.begin = window.words[static_cast<std::size_t>(first)].begin;
      out.end = window.words[static_cast<std::size_t>(span.last - choices)].end;
      out.is_own = first >= window.own_begin && first < window.own_end;
    }
    const bool is_wanted =
        out.end == -1 ? what.kind == SchemaPartKind::kStructure : out.is_own || what.kind != SchemaPartKind::kEntities;
    if (is_wanted) result_.spans.push_back(out);
  }
  return {};
}

Result<FindSpansResult> find_spans(Model& model, std::span<const std::u16string_view> texts, const FindSpansOptions& options) {
  const auto job = FindSpansJob::begin(model, texts, options);
  if (!job.ok()) return job.error();
  if (auto ran = run_all(*job.value()); !ran.ok()) return ran.error();
  return job.value()->take_result();
}

}  // namespace wattn
