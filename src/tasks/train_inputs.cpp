// The inputs of a Trainer: texts as tokens, and their targets.
#include <algorithm>
#include <cstddef>
#include <string>

#include "ops/losses.h"
#include "tasks/train.h"

namespace wattn {
namespace {

// Columns of texts that a loss compares; 0: any number from 2 on.
std::int64_t columns_of(TrainLoss loss) {
  switch (loss) {
    case TrainLoss::kMultipleNegativesRanking:
      return 0;
    case TrainLoss::kCosent:
    case TrainLoss::kCosineSimilarity:
    case TrainLoss::kContrastive:
      return 2;
    case TrainLoss::kTriplet:
      return 3;
    case TrainLoss::kBatchAllTriplet:
    case TrainLoss::kSupCon:
      return 1;
    default:
      return 0;
  }
}

bool compares_scores(TrainLoss loss) { return columns_of(loss) == 2; }
bool compares_labels(TrainLoss loss) { return columns_of(loss) == 1; }

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

}  // namespace

// At most so many tokens as the options and the positions allow.
Result<Encoding> Trainer::encode_to(std::int64_t positions, const TrainRows& rows, const std::u16string_view& text,
                                    const std::u16string_view* pair) const {
  const Tokenizer& tokenizer = model_.tokenizer();
  std::int64_t limit = std::min(positions, options_.max_length > 0 ? options_.max_length : model_.max_length());
  if (model_.decoder()) limit = std::min<std::int64_t>(limit, tokenizer.model_max_length().value_or(INT32_MAX));
  EncodeOptions options;
  options.max_length = static_cast<std::int32_t>(limit);
  options.add_special_tokens = !rows.is_rendered;
  auto found = pair ? tokenizer.encode_pair(text, *pair, options) : tokenizer.encode(text, options);
  if (found.ok() && found.value().size() == 0)
    return input_error("training: expected a text with tokens, found one without tokens");
  return found;
}

// The tokens of text i; of losses over logits with its second text, if there are any.
Result<Encoding> Trainer::encode_text(const TrainRows& rows, std::size_t i) const {
  const std::int64_t positions = model_.transformer().positions();
  if (model_.decoder()) return encode_to(positions, rows, rows.texts[i], nullptr);
  auto found = encode_to(positions, rows, rows.texts[i], rows.pairs.empty() ? nullptr : &rows.pairs[i]);
  // A language model learns where a text ends.
  const std::int32_t eos = model_.special_ids().eos;
  if (found.ok() && is_lm() && !rows.is_rendered && eos >= 0 && found.value().ids.back() != eos) {
    const std::int64_t limit = std::min(positions, options_.max_length > 0 ? options_.max_length : model_.max_length());
    if (std::ssize(found.value().ids) == limit) return found;
    Encoding& encoding = found.value();
    encoding.ids.push_back(eos);
    encoding.type_ids.push_back(0);
    encoding.offsets.emplace_back();
    encoding.special_tokens_mask.push_back(1);
  }
  return found;
}

// The target of text i for an encoder-decoder.
Result<Encoding> Trainer::encode_target(const TrainRows& rows, std::size_t i) const {
  return encode_to(model_.decoder()->positions(), rows, rows.pairs[i], nullptr);
}

Result<void> Trainer::encode(const TrainRows& rows, std::span<Batch> batches) const {
  const std::int64_t columns = columns_of(options_.loss);
  const std::int64_t texts = std::ssize(rows.texts),
                     numbers = compares_labels(options_.loss) ? std::ssize(rows.labels) : std::ssize(rows.scores);
  if (texts == 0) return input_error("training: expected texts, found none");
  const bool compares = compares_labels(options_.loss) || compares_scores(options_.loss);
  if ((columns > 0 && texts % columns != 0) || (compares && texts != columns * numbers)) {
    return input_error("training: expected " + std::to_string(columns) + " texts a row, found " + std::to_string(texts) +
                       " texts for " + std::to_string(numbers) + " labels or scores");
  }
  if (model_.decoder() && rows.pairs.size() != rows.texts.size()) {
    return input_error("training: expected a target for each of " + std::to_string(texts) + " texts, found " +
                       std::to_string(rows.pairs.size()));
  }
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const auto encoding = encode_text(rows, i);
    if (!encoding.ok()) return encoding.error();
    model_.add_text(encoding.value(), batches[0]);
    if (!model_.decoder()) continue;
    // The decoder reads its start token and all tokens but the last, as transformers' shift_tokens_right() makes them.
    const auto target = encode_target(rows, i);
    if (!target.ok()) return target.error();
    std::vector<std::int32_t> read(target.value().ids);
    read.insert(read.begin(), model_.special_ids().decoder_start);
    read.pop_back();
    batches[1].add_sequence(read, std::vector<std::int32_t>(read.size()));
  }
  if (auto checked = model_.transformer().check(batches[0]); !checked.ok() || !model_.decoder()) return checked;
  return model_.decoder()->check(batches[1]);
}

// The label of each token, kIgnored of those that are not learned.
Result<std::vector<std::int32_t>> Trainer::token_labels(const TrainRows& rows, const Batch& batch) const {
  constexpr std::int32_t kIgnored = CrossEntropy{}.ignore_index;
  std::vector<std::int32_t> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const std::size_t words = at < rows.labels.size() ? static_cast<std::size_t>(rows.labels[at++]) : 0;
    if (at + 3 * words > rows.labels.size())
      return input_error("training: expected begin, end and label for each word, found fewer numbers");
    const auto encoding = encode_text(rows, i);
    if (!encoding.ok()) return encoding.error();
    std::size_t word = 0;
    for (std::size_t t = 0; t < encoding.value().size(); ++t) {
      const auto [begin, end] = encoding.value().offsets[t];
      const bool special = encoding.value().special_tokens_mask[t] != 0;
      while (!special && word < words && rows.labels[at + 3 * word + 1] <= begin) ++word;
      const bool starts = !special && end > begin && word < words && end > rows.labels[at + 3 * word];
      out.push_back(starts ? rows.labels[at + 3 * word + 2] : kIgnored);
      if (starts) ++word;
    }
    at += 3 * words;
  }
  if (std::ssize(out) != batch.tokens()) return input_error("training: expected one label for each token, found another count");
  return out;
}

Result<std::vector<Trainer::NextToken>> Trainer::next_tokens(const TrainRows& rows, const Batch& batch) const {
  std::vector<NextToken> out;
  if (model_.decoder()) {
    for (std::size_t i = 0; i < rows.pairs.size(); ++i) {
      const auto target = encode_target(rows, i);
      if (!target.ok()) return target.error();
      std::int64_t row = batch.seq_start[i];
      for (const std::int32_t id : target.value().ids) out.push_back({row++, id});
    }
    return out;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const std::size_t parts = at < rows.labels.size() ? size_of(rows.labels[at++]) : 0;
    if (at + 3 * parts > rows.labels.size())
      return input_error("training: expected begin, end and label for each part, found fewer numbers");
    const auto encoding = encode_text(rows, i);
    if (!encoding.ok()) return encoding.error();
    for (std::size_t t = 1; t < encoding.value().size(); ++t) {
      const std::int32_t begin = encoding.value().offsets[t].begin;
      bool learned = parts == 0;
      for (std::size_t part = 0; part < parts; ++part) {
        learned = learned || (begin >= rows.labels[at + 3 * part] && begin < rows.labels[at + 3 * part + 1]);
      }
      if (learned) out.push_back({batch.seq_start[i] + static_cast<std::int64_t>(t) - 1, encoding.value().ids[t]});
    }
    at += 3 * parts;
  }
  return out;
}

// The share of an update that rows have follows from this.
Result<std::int64_t> Trainer::count_learned(const TrainRows& rows) const {
  if (!is_lm() && options_.head != HeadKind::kToken) return std::ssize(rows.texts);
  Batch batches[2];
  if (auto encoded = encode(rows, std::span(batches).first(stacks_.size())); !encoded.ok()) return encoded.error();
  const Batch& batch = batches[stacks_.size() - 1];
  if (is_lm()) {
    const auto tokens = next_tokens(rows, batch);
    if (!tokens.ok()) return tokens.error();
    return std::ssize(tokens.value());
  }
  const auto labels = token_labels(rows, batch);
  if (!labels.ok()) return labels.error();
  return std::ssize(labels.value()) - std::ranges::count(labels.value(), CrossEntropy{}.ignore_index);
}

}  // namespace wattn
