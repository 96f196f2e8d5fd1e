#include "tasks/find_spans.h"

#include <algorithm>

#include "core/utf.h"

namespace wattn {
namespace {

// The least room for words beside the labels.
constexpr std::int64_t kLeastRoom = 16;
// A word has at most this part of a window's tokens, so that a window has some words.
constexpr std::int64_t kWordShare = 4;
constexpr std::size_t kMostSpans = 1 << 22;
// What stands before each class.
constexpr const char* kClass = "[L]";

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

Result<void> FindSpansJob::prepare() {
  if (!model().span_head()) return input_error("find_spans: this model was loaded without its head");
  if (options_.labels.empty()) return input_error("labels: expected at least one, found none");
  const bool is_schema = model().span_head()->config().is_schema();
  if (is_classes() && !is_schema) return input_error("expected a model that classifies texts (GLiNER2), found one of GLiNER");
  auto prompted = is_schema ? prepare_schema() : prepare_markers();
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

Result<std::vector<std::int32_t>> FindSpansJob::label_tokens(std::u16string_view label) const {
  auto tokens = tokens_of(label);
  if (!tokens.ok()) return tokens.error();
  const auto& found = tokens.value();
  if (found.empty() || std::find(found.begin(), found.end(), marker_) != found.end()) {
    const std::string marker = is_classes() ? kClass : model().span_head()->config().ent_token;
    return input_error("labels: expected texts with at least one token and without '" + marker + "', found '" +
                       to_utf8(label.substr(0, 40)) + "'");
  }
  return tokens;
}

// "( [P] entities ( [E] label [E] label ) ) [SEP_TEXT]", or "( [P] task ( [L] label [L] label ) ) [SEP_TEXT]", each part tokenized
// alone.
Result<void> FindSpansJob::prepare_schema() {
  marker_ = model().span_head()->config().class_token;
  if (is_classes()) {
    const auto id = model().tokenizer().token_to_id(kClass);
    if (!id) return model_format_error(std::string("tokenizer.json: expected the token '") + kClass + "', found none");
    marker_ = *id;
  }
  const auto add = [&](std::u16string_view part) -> Result<void> {
    const auto tokens = tokens_of(part);
    if (!tokens.ok()) return tokens.error();
    prompt_.insert(prompt_.end(), tokens.value().begin(), tokens.value().end());
    return {};
  };
  if (auto added = add(u"("); !added.ok()) return added;
  parent_at_ = static_cast<std::int32_t>(prompt_.size());
  const std::u16string name = is_classes() ? to_utf16(options_.task) : u"entities";
  for (const std::u16string_view part : {std::u16string_view(u"[P]"), std::u16string_view(name), std::u16string_view(u"(")}) {
    if (auto added = add(part); !added.ok()) return added;
  }
  for (const std::u16string_view label : options_.labels) {
    const auto tokens = label_tokens(label);
    if (!tokens.ok()) return tokens.error();
    labels_at_.push_back(static_cast<std::int32_t>(prompt_.size()));
    prompt_.push_back(marker_);
    prompt_.insert(prompt_.end(), tokens.value().begin(), tokens.value().end());
  }
  for (const char16_t* part : {u")", u")", u"[SEP_TEXT]"}) {
    if (auto added = add(part); !added.ok()) return added;
  }
  return {};
}

// "<<ENT>> label <<ENT>> label <<SEP>>" with the tokenizer's special tokens around the whole.
Result<void> FindSpansJob::prepare_markers() {
  const SpanConfig& config = model().span_head()->config();
  marker_ = config.class_token;
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
    const auto tokens = label_tokens(label);
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
  if (is_classes() && windows.size() > 1) {
    windows.resize(1);
    truncated = true;
  }
  for (const WordWindow& window : windows) {
    Encoding encoding;
    encoding.ids = prompt_;
    Window kept{window.own_begin - window.begin, window.own_end - window.begin, {}, {}};
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

// hidden: [tokens, width] of this window.
Result<void> FindSpansJob::run_window(const Window& window, const float* hidden, std::size_t text) {
  const SpanHead& head = *model().span_head();
  const std::int64_t width = head.config().hidden;
  const ThreadTeam::Awake awake(model().team());
  const std::vector<float> rows =
      head.project({model().kernels(), model().team()}, hidden, window.token_at.back() + static_cast<std::int64_t>(ending_.size()));
  std::vector<float> labels;
  for (const std::int32_t at : labels_at_) labels.insert(labels.end(), rows.begin() + at * width, rows.begin() + (at + 1) * width);
  const std::string what = "text " + std::to_string(options_.first_text + static_cast<std::int64_t>(text));
  const auto count = static_cast<std::int64_t>(labels_at_.size());
  if (is_classes()) {
    const std::vector<float> logits = head.classify({model().kernels(), model().team()}, labels.data(), count);
    if (auto checked = check_finite(logits.data(), count, what); !checked.ok()) return checked;
    result_.logits.insert(result_.logits.end(), logits.begin(), logits.end());
    return {};
  }
  const PoolingMode pooling[] = {head.config().pooling};
  std::vector<float> words(window.words.size() * static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < window.words.size(); ++i) {  // a word without tokens has zeros
    pool(model().kernels(), pooling, rows.data() + window.token_at[i] * width, window.token_at[i + 1] - window.token_at[i], width,
         0, words.data() + static_cast<std::int64_t>(i) * width);
  }
  std::vector<ScoredSpan> spans;
  const auto found = head.find({model().kernels(), model().team()},
                               {.words = words.data(),
                                .num_words = static_cast<std::int64_t>(window.words.size()),
                                .labels = labels.data(),
                                .parent = head.config().is_schema() ? rows.data() + parent_at_ * width : nullptr,
                                .num_labels = count,
                                .begin = window.own_begin,
                                .end = window.own_end,
                                .threshold = options_.threshold,
                                .most = kMostSpans,
                                .what = what},
                               spans);
  if (!found.ok()) return found;
  for (const ScoredSpan& span : spans) {
    result_.spans.push_back(
        {static_cast<std::int32_t>(text), window.words[span.first].begin, window.words[span.last].end, span.label, span.score});
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
