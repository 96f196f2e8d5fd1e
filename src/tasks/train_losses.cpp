// What Trainer reads and compares: texts to tokens, and the losses with their gradients.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/heads_backward.h"
#include "ops/pooling.h"
#include "ops/sentence_losses.h"
#include "pass/run.h"
#include "tasks/head_logits.h"
#include "tasks/train.h"
#include "tasks/train_modules.h"

namespace wattn {
namespace {

constexpr float kLeastLength = 1e-12f;  // torch.nn.functional.normalize's
constexpr PoolingMode kMean[] = {PoolingMode::kMean};

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
  if (found.ok() && found.value().size() == 0) return input_error("training: expected a text with tokens, found one without any");
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

// Of an encoder-decoder: what it should make of text i.
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

Result<double> Trainer::loss_of(const TrainRows& rows, const std::vector<float>& vectors, std::vector<float>& d_vectors) const {
  const auto count = static_cast<std::int64_t>(rows.texts.size());
  const LossInput x{vectors.data(), count, static_cast<std::int64_t>(vectors.size()) / count};
  float* dx = d_vectors.data();
  switch (options_.loss) {
    case TrainLoss::kMultipleNegativesRanking: {
      const auto columns = static_cast<std::int64_t>(rows.scores.empty() ? 2 : rows.scores.front());
      return multiple_negatives_ranking_loss(x, count / columns, options_.loss_scale, dx);
    }
    case TrainLoss::kCosent:
      return cosent_loss(x, rows.scores, options_.loss_scale, dx);
    case TrainLoss::kCosineSimilarity:
      return cosine_similarity_loss(x, rows.scores, dx);
    case TrainLoss::kContrastive:
      return contrastive_loss(x, rows.scores, options_.margin, dx);
    case TrainLoss::kTriplet: {
      const std::int64_t n = count / 3, at = n * x.cols;
      return triplet_margin_loss({x.data, n, x.cols}, x.data + at, x.data + 2 * at, {.margin = static_cast<float>(options_.margin)},
                                 {dx, dx + at, dx + 2 * at});
    }
    case TrainLoss::kBatchAllTriplet:
      return batch_all_triplet_loss(x, rows.labels, options_.margin, dx);
    case TrainLoss::kSupCon:
      return sup_con_loss(x, rows.labels, options_.temperature, dx);
    default:
      return 0.0;
  }
}

Result<double> Trainer::sentence_loss(const TrainRows& rows, const Batch& batch, const float* states, float share,
                                      float* d_states) const {
  const SentenceConfig& sentence = model_.sentence();
  const std::span<const PoolingMode> pooling = sentence.pooling.empty() ? std::span<const PoolingMode>(kMean) : sentence.pooling;
  const Kernels& kernels = model_.kernels();
  const std::int64_t hidden = model_.transformer().config().hidden_size, count = batch.batch();
  const std::int64_t pooled_width = hidden * static_cast<std::int64_t>(pooling.size());
  const auto start = [&](std::int64_t i) { return batch.seq_start[size_of(i)] * hidden; };
  std::vector<float> vectors(size_of(count * pooled_width)), lengths(size_of(count), 1.0f);
  for (std::int64_t i = 0; i < count; ++i) {
    pool(kernels, pooling, states + start(i), batch.length(i), hidden, 0, vectors.data() + i * pooled_width);
  }
  std::vector<std::vector<float>> inputs;
  if (!sentence.modules.empty()) {
    if (sentence.modules.front().in != pooled_width) return input_error("pooling: expected the width that the modules read");
    const std::vector<float> pooled = std::move(vectors);
    model_.run_modules(pooled.data(), count, vectors, &inputs);
  }
  const std::int64_t width = std::ssize(vectors) / std::max<std::int64_t>(count, 1);
  for (std::int64_t i = 0; sentence.normalize && i < count; ++i) {
    float* vector = vectors.data() + i * width;
    const float length = std::max(std::sqrt(kernels.dot(vector, vector, width)), kLeastLength);
    for (std::int64_t k = 0; k < width; ++k) vector[k] /= length;
    lengths[size_of(i)] = length;
  }
  std::vector<float> d_vectors(vectors.size());
  const auto loss = loss_of(rows, vectors, d_vectors);
  if (!loss.ok()) return loss;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* vector = vectors.data() + i * width;
    float* d = d_vectors.data() + i * width;
    const float along = sentence.normalize ? kernels.dot(vector, d, width) : 0.0f;
    for (std::int64_t k = 0; k < width; ++k) d[k] = share * (d[k] - along * vector[k]) / lengths[size_of(i)];
  }
  if (auto done = modules_backward(model_, inputs, count, d_vectors); !done.ok()) return done.error();
  for (std::int64_t i = 0; i < count; ++i) {
    pool_backward(kernels, pooling, states + start(i), batch.length(i), hidden, 0, d_vectors.data() + i * pooled_width,
                  d_states + start(i));
  }
  return loss;
}

// The label of each token, kIgnored of those that are not learned.
Result<std::vector<std::int32_t>> Trainer::token_labels(const TrainRows& rows, const Batch& batch) const {
  constexpr std::int32_t kIgnored = CrossEntropy{}.ignore_index;
  std::vector<std::int32_t> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const std::size_t words = at < rows.labels.size() ? static_cast<std::size_t>(rows.labels[at++]) : 0;
    if (at + 3 * words > rows.labels.size()) return input_error("training: expected begin, end and label of each word");
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
  if (std::ssize(out) != batch.tokens()) return input_error("training: expected as many labels as tokens");
  return out;
}

Result<double> Trainer::head_loss(const TrainRows& rows, const Batch& batch, const float* states, float share, float* d_states) {
  const Head& head = *model_.head();
  const Kernels& kernels = model_.kernels();
  const std::int64_t hidden = model_.transformer().config().hidden_size, labels = head.labels();
  const HeadReading reading = head_reading(model_);
  const bool is_sequence = options_.head == HeadKind::kSequence, averages = is_sequence && reading.input == HeadInput::kEach;
  std::vector<float> read, logits;
  std::vector<std::int32_t> counts;
  head_rows(kernels, reading, batch, states, hidden, read, counts);
  const std::int64_t count = std::ssize(read) / hidden;
  const Embedding& words = model_.transformer().word_embeddings();
  const HeadDropout dropout = head_dropout(head, dropout_.head, options_.seed, dropout_step());
  logits.resize(size_of(count * labels));
  auto headed = training_run({kernels, model_.team()}, head, words, read.data(), count, dropout, logits.data());
  if (!headed.ok()) return headed.error();
  if (averages) average_logits(kernels, 0, labels, counts, logits);
  const LossInput x{logits.data(), std::ssize(logits) / labels, labels};
  std::vector<float> d_logits(logits.size());
  double loss = 0;
  if (options_.loss == TrainLoss::kCrossEntropy) {
    auto targets = is_sequence ? Result<std::vector<std::int32_t>>(rows.labels) : token_labels(rows, batch);
    if (!targets.ok()) return targets.error();
    const auto wrong = [&](std::int32_t label) { return label != CrossEntropy{}.ignore_index && (label < 0 || label >= labels); };
    const auto& all = targets.value();
    const auto found = std::find_if(all.begin(), all.end(), wrong);
    if (std::ssize(all) != x.rows || found != all.end()) {
      return input_error("training: expected " + std::to_string(x.rows) + " labels from 0 to " + std::to_string(labels - 1) +
                         ", found " + (found == all.end() ? std::to_string(all.size()) + " labels" : std::to_string(*found)));
    }
    if (std::all_of(all.begin(), all.end(), [](std::int32_t label) { return label == CrossEntropy{}.ignore_index; })) {
      return input_error("training: expected a token with a label, found none");
    }
    loss = cross_entropy(x, all, {}, d_logits.data());
  } else {
    if (rows.scores.size() != logits.size()) {
      return input_error("training: expected " + std::to_string(logits.size()) + " scores, found " +
                         std::to_string(rows.scores.size()));
    }
    loss = options_.loss == TrainLoss::kBinaryCrossEntropy
               ? binary_cross_entropy_with_logits(x, rows.scores.data(), {}, d_logits.data())
               : mse_loss(x, rows.scores.data(), Reduction::kMean, d_logits.data());
  }
  for (float& d : d_logits) d *= share;
  if (averages) {
    std::vector<std::int32_t> each;
    each.reserve(size_of(batch.batch()));
    for (std::int64_t i = 0; i < batch.batch(); ++i) each.push_back(static_cast<std::int32_t>(batch.length(i)));
    std::vector<float> d_rows(size_of(count * labels));
    average_logits_backward(kernels, each, labels, d_logits.data(), d_rows.data());
    d_logits = std::move(d_rows);
  }
  std::vector<float> d_read(read.size());
  auto arena = Arena::with_bytes(head_backward_bytes(head, words, count, model_.team().most_threads()), "training");
  if (!arena.ok()) return arena.error();
  const bool goes_on = options_.method != TrainMethod::kHead;
  head_backward({kernels, model_.team()}, head, words,
                {.rows = read.data(),
                 .count = count,
                 .d_logits = d_logits.data(),
                 .d_rows = goes_on ? d_read.data() : nullptr,
                 .gradients = &*head_gradients_,
                 .dropout = dropout},
                arena.value());
  if (goes_on) head_rows_backward(kernels, reading, batch, d_read.data(), hidden, d_states);
  return loss;
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
    if (at + 3 * parts > rows.labels.size()) return input_error("training: expected begin, end and label of each part");
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

Result<Trainer::LossSum> Trainer::lm_loss(const TrainRows& rows, const Batch& batch, const float* states, float share,
                                          float* d_states) const {
  constexpr std::int64_t kRows = 64;  // logits of so many tokens at a time
  const Transformer& transformer = model_.generator();
  const std::int64_t hidden = transformer.config().hidden_size, vocab = transformer.config().vocab_size;
  const auto found = next_tokens(rows, batch);
  if (!found.ok()) return found.error();
  const std::vector<NextToken>& tokens = found.value();
  if (tokens.empty()) return input_error("training: expected a text with a token to learn, found none (is max_length too short?)");
  const int threads = model_.team().most_threads();
  const std::uint64_t bytes =
      lm_head_bytes(transformer.plan(), kRows, threads) + lm_head_backward_bytes(transformer.training_plan(), kRows, threads);
  auto arena = Arena::with_bytes(bytes, "training");
  if (!arena.ok()) return arena.error();
  std::vector<float> read(size_of(kRows * hidden)), d_read(read.size()), logits(size_of(kRows * vocab)), d_logits(logits.size());
  LossSum loss{.tokens = std::ssize(tokens)};
  const float factor = share / static_cast<float>(loss.tokens);
  for (std::int64_t first = 0; first < loss.tokens; first += kRows) {
    const auto chunk = std::span(tokens).subspan(size_of(first)).first(size_of(std::min(kRows, loss.tokens - first)));
    const std::int64_t count = std::ssize(chunk);
    std::vector<std::int32_t> targets;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      std::copy_n(states + chunk[i].row * hidden, hidden, read.data() + static_cast<std::int64_t>(i) * hidden);
      targets.push_back(chunk[i].id);
    }
    arena.value().reset();
    lm_head(transformer.plan(), transformer.compute(model_.team()), read.data(), count, arena.value(), logits.data());
    loss.sum +=
        cross_entropy({logits.data(), count, vocab}, targets, {.reduction = Reduction::kSum}, d_states ? d_logits.data() : nullptr);
    if (!d_states) continue;
    for (std::int64_t k = 0; k < count * vocab; ++k) d_logits[size_of(k)] *= factor;
    arena.value().reset();
    lm_head_backward(transformer.training_plan(), {model_.kernels(), model_.team()},
                     {.hidden = read.data(),
                      .rows = count,
                      .d_logits = d_logits.data(),
                      .d_hidden = d_read.data(),
                      .gradients = trains_embeddings() ? &stacks_.back().gradients->training_plan() : nullptr,
                      .logits = logits.data()},
                     arena.value());
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      model_.kernels().axpy(1.0f, d_read.data() + static_cast<std::int64_t>(i) * hidden, d_states + chunk[i].row * hidden, hidden);
    }
  }
  return loss;
}

}  // namespace wattn
