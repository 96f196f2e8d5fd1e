#include "tasks/generate.h"

#include <algorithm>
#include <utility>

#include "core/part.h"

namespace wattn {
namespace {

// Decodes enough of the last tokens to hold any stop string, with and without the last one, which must complete it.
Search::Stops make_stops(const Tokenizer& tokenizer, const std::vector<std::string>& strings) {
  if (strings.empty()) return {};
  std::size_t longest = 0;
  for (const std::string& string : strings) longest = std::max(longest, string.size());
  return [&tokenizer, strings, longest](std::span<const std::int32_t> tokens) {
    const std::size_t count = std::min(tokens.size(), longest + 2);  // a token is at least one byte, or nothing
    std::vector<std::int32_t> end(tokens.end() - static_cast<std::ptrdiff_t>(count), tokens.end());
    const Result<std::string> whole = tokenizer.decode(end, false, false);
    end.pop_back();
    const Result<std::string> most = tokenizer.decode(end, false, false);
    if (!whole.ok() || !most.ok()) return false;
    const std::string &text = whole.value(), &before = most.value();
    return std::any_of(strings.begin(), strings.end(), [&](const std::string& stop) {
      const std::size_t from = before.size() + 1 > stop.size() ? before.size() + 1 - stop.size() : 0;
      return text.find(stop, from) != std::string::npos;
    });
  };
}

// The options for one prompt, with its limits of new tokens.
Result<GenerateOptions> options_for(const GenerateRequest& request, std::size_t index, std::int64_t prompt, std::int64_t context) {
  GenerateOptions options = request.options;
  if (index < request.seeds.size()) options.seed = static_cast<std::uint64_t>(request.seeds[index]);
  const std::string which = "prompt " + std::to_string(index) + ": ";
  if (prompt == 0) return input_error(which + "expected at least one token, found none");
  const std::int64_t room = context - prompt;
  if (room < 1) {
    return input_error(which + "expected fewer tokens than context_length = " + std::to_string(context) + ", found " +
                       std::to_string(prompt));
  }
  if (request.max_new_tokens) {
    options.max_new_tokens = *request.max_new_tokens;
  } else if (request.max_length) {
    options.max_new_tokens = *request.max_length - prompt;
    if (options.max_new_tokens < 1) {
      return input_error(which + "expected fewer tokens than max_length = " + std::to_string(*request.max_length) + ", found " +
                         std::to_string(prompt));
    }
  } else {
    options.max_new_tokens = std::min(Generation::kUsualTokens, room);
  }
  if (options.max_new_tokens > room) {
    return input_error(which + std::to_string(prompt) + " tokens and max_new_tokens = " + std::to_string(options.max_new_tokens) +
                       ": expected a sum of at most context_length = " + std::to_string(context));
  }
  options.min_new_tokens = std::max(options.min_new_tokens, std::min(request.min_length - prompt, options.max_new_tokens));
  return options;
}

Result<void> check_ids(std::span<const std::int32_t> ids, std::int64_t vocab, std::size_t index) {
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < vocab) continue;
    return input_error("prompt " + std::to_string(index) + ": expected ids below vocab_size " + std::to_string(vocab) + ", found " +
                       std::to_string(id));
  }
  return {};
}

// The tokens to begin with: the prompt or, if the encoder reads that, the decoder's start token.
Result<std::vector<std::int32_t>> beginning(const Model& model, const std::vector<std::int32_t>& prompt,
                                            const GenerateRequest& request, std::size_t index) {
  const std::int64_t vocab = model.generator().config().vocab_size;
  if (auto e = check_ids(prompt, vocab, index); !e.ok()) return e.error();
  if (!model.decoder()) return prompt;
  const std::string which = "prompt " + std::to_string(index) + ": ";
  if (prompt.empty()) return input_error(which + "expected at least one token, found none");
  const std::int64_t limit = model.transformer().positions();
  if (static_cast<std::int64_t>(prompt.size()) > limit) {
    return input_error(which + "expected at most " + std::to_string(limit) + " tokens (the encoder's positions), found " +
                       std::to_string(prompt.size()));
  }
  const auto start = request.decoder_start_token_id;
  if (start && *start >= 0 && *start < vocab) return std::vector<std::int32_t>{*start};
  return input_error("decoder_start_token_id: expected an id below vocab_size " + std::to_string(vocab) + ", found " +
                     (start ? std::to_string(*start) : std::string("none")));
}

}  // namespace

Result<std::unique_ptr<Generation>> Generation::begin(Model& model, const std::vector<std::vector<std::int32_t>>& prompts,
                                                      const GenerateRequest& request) {
  if (!model.has_lm_head()) return input_error("generate: this model was loaded without a language-model head");
  const std::int64_t vocab = model.generator().config().vocab_size;
  std::unique_ptr<Generation> out(new Generation(model));
  const std::int64_t width = Search::width(request.options);
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto begun = beginning(model, prompts[i], request, i);
    if (!begun.ok()) return begun.error();
    const std::vector<std::int32_t>& tokens = begun.value();
    const auto size = static_cast<std::int64_t>(tokens.size());
    const auto options = options_for(request, i, size, model.context_length());
    if (!options.ok()) return options.error();
    if (auto e = Search::check(options.value(), vocab); !e.ok()) return e.error();
    longest = std::max(longest, size + options.value().max_new_tokens);
    Prompt& prompt = out->prompts_.emplace_back();
    prompt.search =
        Search::make(options.value(), tokens, vocab, model.kernels(), make_stops(model.tokenizer(), request.stop_strings));
    prompt.tokens = tokens;
    prompt.given = tokens.size();
    prompt.most = size + options.value().max_new_tokens;
    for (std::int64_t j = 0; j < width; ++j) {
      prompt.slots.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(i) * width + j));
    }
    prompt.reordered.reserve(static_cast<std::size_t>(width));
  }
  const std::int64_t slots = width * static_cast<std::int64_t>(prompts.size());
  if (slots > model.slots().token_budget()) {
    return input_error("generate: expected at most " + std::to_string(model.slots().token_budget()) + " sequences at once, found " +
                       std::to_string(slots));
  }
  if (prompts.empty()) return out;
  SlotCapacity capacity{.slots = slots, .length = longest};
  if (!request.rows_from.empty() && (model.decoder() || request.rows_from.size() != prompts.size())) {
    return input_error("rows_from: expected a decoder, and one number for each prompt");
  }
  out->rows_from_ = request.rows_from;
  out->pauses_ = request.pauses || !request.rows_from.empty();
  out->num_proposed_ =
      width > 1 || out->pauses_ || model.slots().recurs() ? 0 : std::clamp<std::int64_t>(request.num_proposed, 0, kMostProposed);
  capacity.more_rows = std::max(slots * out->num_proposed_, out->rows_from_.empty() ? 0 : kShownRows);
  if (model.decoder()) {
    capacity.sources = static_cast<std::int64_t>(prompts.size());
    for (const auto& source : prompts) {
      capacity.source_length = std::max(capacity.source_length, static_cast<std::int64_t>(source.size()));
    }
  }
  out->capacity_ = capacity;
  if (model.decoder()) {
    out->sources_ = prompts;
  } else {
    out->holds_ = request.holds;
    if (request.defers) return out;
  }
  if (auto e = out->take_slots(); !e.ok()) return e.error();
  return out;
}

// Those of the first step here, filled with what is kept of the prompts, unless a device has read some.
Result<void> Generation::take_slots() {
  if (has_slots_ || prompts_.empty()) return {};
  Slots& slots = model_.slots();
  if (auto e = slots.reserve(capacity_); !e.ok()) return e;
  has_slots_ = true;
  if (model_.decoder() || is_elsewhere_) return {};
  turn_ = slots.turn();
  for (Prompt& prompt : prompts_) {
    // At least one token is read, for its logits.
    std::size_t most = prompt.given - 1;
    if (const auto i = static_cast<std::size_t>(&prompt - prompts_.data()); i < rows_from_.size()) {
      most = std::min(most, static_cast<std::size_t>(std::max(rows_from_[i], 0)));
    }
    prompt.restored = slots.restore(prompt.slots[0], std::span(prompt.tokens).first(most));
    prompt.read = prompt.restored;
  }
  if (slots.recurs() && prompts_.size() == 1) {
    Prompt& only = prompts_[0];
    only.kept_at = Part<Prefixes::Recurrent>::get()->keeps_at(static_cast<std::int64_t>(only.given), rows_from_);
  }
  return {};
}

void Generation::add(std::size_t index, std::int32_t slot, std::int64_t position, std::span<const std::int32_t> ids) {
  batch_.add_to_slot(slot, static_cast<std::int32_t>(position), ids);
  if (model_.decoder()) batch_.sources.push_back(static_cast<std::int32_t>(index));
}

Result<void> Generation::read_source() {
  const std::size_t i = sources_read_++;
  const auto states = model_.slots().read_source(static_cast<std::int64_t>(i), sources_[i], nullptr, nullptr);
  return states.ok() ? Result<void>() : states.error();
}

// One batch of the prompts' tokens.
void Generation::add_prompts() {
  const std::int64_t budget = model_.slots().token_budget();
  while (prompts_read_ < prompts_.size() && batch_.tokens() < budget) {
    Prompt& prompt = prompts_[prompts_read_];
    const auto rest = std::span<const std::int32_t>(prompt.tokens).subspan(static_cast<std::size_t>(prompt.read));
    std::int64_t count = std::min(static_cast<std::int64_t>(rest.size()), budget - batch_.tokens());
    if (prompt.kept_at > prompt.read) count = std::min(count, prompt.kept_at - prompt.read);
    if (!rows_from_.empty()) count = std::min(count, show_rows(count));
    if (count == 0) break;
    add(prompts_read_, prompt.slots[0], prompt.read, rest.first(static_cast<std::size_t>(count)));
    prompt.read += count;
    if (prompt.read < static_cast<std::int64_t>(prompt.tokens.size())) break;
    if (rows_from_.empty()) {
      rows_.push_back(batch_.tokens() - 1);
      prompts_of_rows_.push_back(prompts_read_);
    }
    ++prompts_read_;
  }
}

// Notes the rows of the next tokens of a prompt that are to be shown, as many as there is room for. Returns how many tokens that
// are.
std::int64_t Generation::show_rows(std::int64_t most) {
  const std::int64_t read = prompts_[prompts_read_].read, from = rows_from_[prompts_read_];
  std::int64_t count = std::clamp<std::int64_t>(from - read, 0, most);
  for (; count < most && std::cmp_less(rows_.size(), kShownRows); ++count) {
    rows_.push_back(batch_.tokens() + count);
    prompts_of_rows_.push_back(prompts_read_);
  }
  return count;
}

// The last token of each running sequence, or those that were given in its place.
void Generation::add_new() {
  for (std::size_t index = 0; index < prompts_.size(); ++index) {
    Prompt& prompt = prompts_[index];
    const auto next = prompt.search->next();
    for (std::size_t i = 0; i < next.size(); ++i) {
      const auto ids = prompt.given_next.empty() ? std::span(&next[i].token, 1) : std::span(prompt.given_next);
      add(index, prompt.slots[i], prompt.read, ids);
      for (std::size_t j = prompt.proposed + 1; j > 0; --j) rows_.push_back(batch_.tokens() - static_cast<std::int64_t>(j));
      prompt.in_batch = static_cast<std::int64_t>(ids.size() - prompt.proposed);
    }
    if (!next.empty()) prompts_of_rows_.push_back(index);
  }
}

// Whether the next step reads something, which is then in the batch.
bool Generation::add_batch() {
  if (is_gathered_) return true;
  if (phase_ == GenerationPhase::kPrompt) phase_ = GenerationPhase::kNone;
  if (phase_ != GenerationPhase::kNone) return false;
  batch_.clear();
  rows_.clear();
  prompts_of_rows_.clear();
  if (prompts_read_ < prompts_.size()) {
    add_prompts();
  } else if (rows_from_.empty()) {
    add_new();
  }
  is_gathered_ = batch_.batch() > 0;
  return is_gathered_;
}

bool Generation::gather() {
  if (is_ended_ || !sources_.empty() || !holds_.empty()) return false;
  for (Prompt& prompt : prompts_) prompt.read -= std::exchange(prompt.restored, 0);
  turn_ = 0;  // the slots here hold nothing to keep
  if (!std::exchange(is_elsewhere_, true) && !has_slots_) model_.slots().release();
  return add_batch();
}

Result<bool> Generation::finish(std::span<const float> logits) {
  is_gathered_ = false;
  given_logits_.assign(logits.begin(), logits.end());
  return after_step(rows_.empty() ? true : take_logits(given_logits_.data()));
}

Result<void> Generation::read_here(std::int32_t slot, std::int32_t position, std::span<const std::int32_t> ids) {
  if (auto e = take_slots(); !e.ok()) return e;
  Batch batch;
  batch.add_to_slot(slot, position, ids);
  const auto hidden = model_.slots().run(batch, nullptr);
  if (!hidden.ok()) return hidden.error();
  return {};
}

Result<bool> Generation::run_batch() {
  is_gathered_ = is_elsewhere_ = false;
  const auto hidden = model_.slots().run(batch_, nullptr);
  if (!hidden.ok()) return hidden.error();
  if (const Prompt& first = prompts_[0]; first.read == first.kept_at) {
    model_.slots().keep(first.slots[0], std::span(first.tokens).first(static_cast<std::size_t>(first.read)));
  }
  if (rows_.empty()) return true;
  return take_logits(model_.slots().logits(hidden.value(), rows_));
}

Result<bool> Generation::take_logits(float* logits) {
  logits_ = logits;
  phase_ = rows_from_.empty() ? GenerationPhase::kLogits : GenerationPhase::kPrompt;
  if (phase_ == GenerationPhase::kPrompt) return true;
  float* rows = logits_;
  for (const std::size_t index : prompts_of_rows_) {
    const Prompt& prompt = prompts_[index];
    if (auto e = prompt.search->start(rows); !e.ok()) return e.error();
    rows += (prompt.running + static_cast<std::int64_t>(prompt.proposed)) * model_.generator().config().vocab_size;
  }
  if (pauses_) return true;
  for (;;) {
    if (auto more = end_phase(); !more.ok() || phase_ == GenerationPhase::kNone) return more;
  }
}

// Goes from one phase to the next.
Result<bool> Generation::end_phase() {
  const std::int64_t vocab = model_.generator().config().vocab_size;
  float* rows = logits_;
  for (const std::size_t index : prompts_of_rows_) {
    Prompt& prompt = prompts_[index];
    const std::int64_t count = prompt.running + static_cast<std::int64_t>(prompt.proposed);
    auto ended = Result<void>();
    if (phase_ == GenerationPhase::kLogits) prompt.search->process(rows);
    if (phase_ == GenerationPhase::kProcessed) ended = prompt.search->warp(rows, masks_of(index));
    if (phase_ == GenerationPhase::kScores) ended = choose(prompt, rows);
    if (!ended.ok()) return ended.error();
    rows += count * vocab;
  }
  phase_ = phase_ == GenerationPhase::kScores ? GenerationPhase::kNone : static_cast<GenerationPhase>(static_cast<int>(phase_) + 1);
  if (phase_ != GenerationPhase::kNone) return true;
  has_new_ = true;
  return !done();
}

// The tokens that scores choose, and as many proposed ones as are the same.
Result<void> Generation::choose(Prompt& prompt, float* scores) {
  prompt.search->choose(scores);
  prompt.read += std::exchange(prompt.in_batch, 0);
  for (const std::int32_t token : std::span(prompt.given_next).last(std::exchange(prompt.proposed, 0))) {
    const auto next = prompt.search->next();
    if (next.empty() || next[0].token != token) break;
    ++prompt.read;
    scores += model_.generator().config().vocab_size;
    if (auto e = prompt.search->take(scores); !e.ok()) return e;
  }
  prompt.given_next.clear();
  reorder_slots(prompt);
  return {};
}

std::vector<std::int32_t> Generation::prompts_of_rows() const {
  std::vector<std::int32_t> out;
  if (phase_ == GenerationPhase::kNone) return out;
  for (const std::size_t index : prompts_of_rows_) {
    const std::int64_t count = phase_ == GenerationPhase::kPrompt ? 1 : prompts_[index].running;
    out.insert(out.end(), static_cast<std::size_t>(count), static_cast<std::int32_t>(index));
  }
  return out;
}

std::span<float> Generation::rows() {
  if (phase_ == GenerationPhase::kNone) return {};
  return {logits_, rows_.size() * static_cast<std::size_t>(model_.generator().config().vocab_size)};
}

// The first continuation of a sequence keeps its slot; for others it is copied to a free slot.
void Generation::reorder_slots(Prompt& prompt) {
  const auto next = prompt.search->next();
  prompt.reordered.assign(next.size(), -1);
  std::vector<std::int32_t>& slots = prompt.slots;
  for (std::int64_t from = 0; from < prompt.running; ++from) {
    const auto first = std::find_if(next.begin(), next.end(), [&](const Continuation& one) { return one.from == from; });
    if (first != next.end()) prompt.reordered[static_cast<std::size_t>(first - next.begin())] = slots[from];
  }
  std::int64_t free = 0;  // first slot not kept by a continuation
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (prompt.reordered[i] >= 0) continue;
    while (std::find(prompt.reordered.begin(), prompt.reordered.end(), slots[free]) != prompt.reordered.end()) ++free;
    prompt.reordered[i] = slots[free];
    const std::int32_t from = slots[next[i].from], to = slots[free];
    if (is_elsewhere_) {
      copies_.insert(copies_.end(), {from, to, static_cast<std::int32_t>(prompt.read)});
    } else {
      model_.slots().copy(from, to, prompt.read);
    }
  }
  // The running sequences first, then the free slots.
  for (const std::int32_t slot : slots) {
    if (std::find(prompt.reordered.begin(), prompt.reordered.end(), slot) == prompt.reordered.end())
      prompt.reordered.push_back(slot);
  }
  slots = prompt.reordered;
  prompt.running = static_cast<std::int64_t>(next.size());
}

bool Generation::done() const {
  return std::all_of(prompts_.begin(), prompts_.end(), [](const Prompt& prompt) { return prompt.running == 0; });
}

// A sequence that ran alone is kept with its answer, of several their prompt.
void Generation::keep(bool holds) {
  Slots& slots = model_.slots();
  const std::uint64_t turn = std::exchange(turn_, 0);
  if (turn == 0 || turn != slots.turn()) return;  // there is nothing, or it is no longer in the slots
  for (std::size_t i = 0; i < prompts_.size(); ++i) {
    Prompt& prompt = prompts_[i];
    prompt.tokens.resize(prompt.given);
    if (prompt.slots.size() == 1) {
      const std::vector<std::int32_t> made = prompt.search->results()[0].tokens;
      prompt.tokens.insert(prompt.tokens.end(), made.begin(), made.end());
    }
    const auto read = std::span(prompt.tokens).first(std::min(prompt.tokens.size(), static_cast<std::size_t>(prompt.read)));
    slots.keep(prompt.slots[0], read);
    if (holds && i < holds_.size()) slots.hold(holds_[i], read);
  }
}

std::vector<std::int32_t> Generation::restored() const {
  std::vector<std::int32_t> out;
  out.reserve(prompts_.size());
  for (const Prompt& prompt : prompts_) out.push_back(static_cast<std::int32_t>(prompt.restored));
  return out;
}

Result<bool> Generation::step() { return after_step(run_step()); }

Result<bool> Generation::after_step(Result<bool> more) {
  if (!more.ok()) turn_ = 0;  // what failed is not kept
  if (more.ok() && !more.value()) keep(true);
  return more;
}

Result<bool> Generation::run_step() {
  if (is_ended_) return false;
  if (auto e = take_slots(); !e.ok()) return e.error();
  if (sources_read_ < sources_.size()) {
    if (auto e = read_source(); !e.ok()) return e.error();
    return true;
  }
  if (add_batch()) return run_batch();
  return phase_ == GenerationPhase::kNone ? false : end_phase();
}

std::vector<std::vector<Generated>> Generation::results() const {
  std::vector<std::vector<Generated>> out;
  out.reserve(prompts_.size());
  for (const Prompt& prompt : prompts_) {
    out.push_back(prompt.search->results());
    for (Generated& one : out.back()) {
      if (is_ended_ && one.reason == FinishReason::kNone) one.reason = FinishReason::kTime;
    }
  }
  return out;
}

const std::uint32_t* Generation::masks_of(std::size_t prompt) const {
  return masks_.empty() ? nullptr : masks_.data() + masks_.size() / prompts_.size() * prompt;
}

std::size_t Generation::constrain(std::size_t slot, const std::vector<std::int32_t>& mask, std::span<const std::int32_t> forced) {
  const std::size_t width = prompts_[0].slots.size(), slots = width * prompts_.size();
  if (slot >= slots) return 0;
  const auto words = static_cast<std::size_t>(Search::mask_words(model_.generator().config().vocab_size));
  masks_.resize(slots * words, ~std::uint32_t{0});
  std::copy_n(mask.begin(), std::min(mask.size(), words), masks_.begin() + static_cast<std::ptrdiff_t>(slot * words));
  Prompt& own = prompts_[slot / width];
  if (width > 1 || own.running == 0) return 0;
  const auto next = own.search->next();
  const bool is_read = !next.empty();
  if (is_read && own.given_next.empty()) own.given_next.assign(1, next[0].token);
  const std::size_t room = static_cast<std::size_t>(model_.slots().token_budget()) / slots - 1;
  const std::size_t taken = own.search->force(forced.first(std::min(forced.size(), room)));
  auto& list = is_read ? own.given_next : own.tokens;
  list.insert(list.end(), forced.begin(), forced.begin() + static_cast<std::ptrdiff_t>(taken));
  return taken;
}

void Generation::propose(std::size_t prompt, std::span<const std::int32_t> ids) {
  if (prompt >= prompts_.size() || !masks_.empty() || phase_ != GenerationPhase::kNone) return;
  Prompt& own = prompts_[prompt];
  const auto next = own.search->next();
  if (own.slots.size() > 1 || next.empty() || !own.given_next.empty()) return;
  const auto most = [](std::int64_t count) { return static_cast<std::size_t>(std::max<std::int64_t>(count, 0)); };
  const std::size_t room = std::min({most(num_proposed_), most(own.most - own.read - 1),
                                     most(model_.slots().token_budget() / static_cast<std::int64_t>(prompts_.size()) - 1)});
  ids = ids.first(std::min(ids.size(), room));
  if (!check_ids(ids, model_.generator().config().vocab_size, prompt).ok()) return;
  own.given_next.assign(1, next[0].token);
  own.given_next.insert(own.given_next.end(), ids.begin(), ids.end());
  own.proposed = ids.size();
}

std::vector<std::vector<std::int32_t>> Generation::take_new() {
  std::vector<std::vector<std::int32_t>> out(prompts_.size());
  for (std::size_t i = 0; i < prompts_.size(); ++i) {
    if (prompts_[i].slots.size() > 1) {
      if (!has_new_) continue;
      for (const auto& [from, token] : prompts_[i].search->next()) out[i].insert(out[i].end(), {from, token});
      continue;
    }
    const auto results = prompts_[i].search->results();
    const auto& tokens = results[0].tokens;
    const std::size_t shown = std::min(std::exchange(prompts_[i].shown, tokens.size()), tokens.size());
    out[i].assign(tokens.begin() + static_cast<std::ptrdiff_t>(shown), tokens.end());
  }
  has_new_ = false;
  return out;
}

}  // namespace wattn
