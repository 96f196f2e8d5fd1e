#include "models/transformer.h"

#include <algorithm>
#include <cmath>

#include "models/layer_taps.h"
#include "ops/activation.h"
#include "ops/lora.h"

namespace wattn {
namespace {

// Rows of the relative embeddings needed for sequences of at most max_seq tokens.
std::int64_t relative_buckets(const TransformerConfig& config, std::int64_t max_seq) {
  return config.relative_positions == RelativePositions::kDisentangled ? std::min(config.relative_rows(), 2 * max_seq) : 0;
}

// A disentangled score is the sum of three products.
float score_scale(const TransformerConfig& config) {
  const float products = config.relative_positions == RelativePositions::kDisentangled ? 3.0f : 1.0f;
  const double scalar = config.query_pre_attn_scalar > 0 ? config.query_pre_attn_scalar : static_cast<double>(config.head_size());
  return 1.0f / std::sqrt(static_cast<float>(scalar) * products);
}

Result<void> check_range(std::span<const std::int32_t> values, std::int64_t limit, const char* what, const char* limit_name) {
  const auto bad = std::find_if(values.begin(), values.end(), [&](std::int32_t v) { return v < 0 || v >= limit; });
  if (bad == values.end()) return {};
  return input_error(std::string(what) + ": expected numbers from 0 to " + std::to_string(limit - 1) + " (" + limit_name +
                     " - 1), found " + std::to_string(*bad) + " at token " + std::to_string(bad - values.begin()));
}

void scale_in_place(float factor, std::int64_t count, float* x) {
  if (factor == 1.0f) return;
  for (std::int64_t i = 0; i < count; ++i) x[i] *= factor;
}

}  // namespace

AttentionShape Transformer::attention_shape() const {
  return {.heads = config_.num_attention_heads, .kv_heads = config_.kv_heads(), .head_dim = config_.head_size()};
}

std::uint64_t Transformer::forward_bytes(std::int64_t max_tokens, std::int64_t max_keys, bool own_keys, int threads) const {
  Arena measure;
  take_workspace(measure, {.tokens = max_tokens, .keys = max_keys, .own_keys = own_keys ? max_keys : 0, .threads = threads});
  return measure.used();
}

Transformer::Workspace Transformer::take_workspace(Arena& arena, const WorkspaceSize& size) const {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t ffn = config_.intermediate_size;
  const std::int64_t buckets = relative_buckets(config_, size.own_keys);
  Workspace work;
  if (config_.embedding_size > 0) work.embedded = arena.take<float>(size.tokens * config_.embedding_size);
  if (config_.is_static()) return work;  // it has no heads either
  work.qkv = arena.take<float>(size.tokens * config_.qkv_width());
  work.context = arena.take<float>(size.tokens * config_.query_width());
  work.projected = arena.take<float>(size.tokens * hidden);
  if (config_.is_parallel()) work.parallel = arena.take<float>(size.tokens * hidden);
  work.intermediate = arena.take<float>(size.tokens * (config_.gated() ? 2 * ffn : ffn));
  if (config_.gated()) work.gated = arena.take<float>(size.tokens * ffn);
  if (const std::int64_t experts = config_.experts.count; experts > 0) {
    work.experts = {arena.take<float>(size.tokens * experts), arena.take<float>(size.tokens * hidden), work.intermediate,
                    arena.take<float>(size.tokens * hidden), arena.take<float>(size.tokens * hidden)};
  }
  if (buckets > 0) work.relative = arena.take<float>(buckets * hidden);
  if (buckets > 0) work.relative_qk = arena.take<float>(buckets * 2 * hidden);
  const std::int64_t window = config_.convolution.kernel * hidden;
  if (window > 0) work.convolution = {arena.take<float>(size.tokens * window), arena.take<float>(size.tokens * hidden)};
  const std::int64_t widest = std::max({hidden, ffn, window, config_.embedding_width(), config_.query_width()});
  work.linear = take_linear_scratch(arena, type_, std::max(size.tokens, buckets), widest, size.threads);
  for (int i = 0; i < size.threads; ++i) {
    work.attention[i] = take_attention_scratch(arena, attention_shape(), size.own_keys, size.keys, buckets);
  }
  return work;
}

Result<void> Transformer::check(const Batch& batch) const {
  if (auto ids = check_range(batch.input_ids, config_.vocab_size, "input_ids", "vocab_size"); !ids.ok()) return ids;
  if (config_.type_vocab_size > 0) {
    auto types = check_range(batch.token_type_ids, config_.type_vocab_size, "token_type_ids", "type_vocab_size");
    if (!types.ok()) return types;
  }
  const char* limit_name = positions_ < config_.max_position_embeddings ? "context_length" : "max_position_embeddings";
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    if (batch.length(i) >= 0 && batch.length(i) <= positions_) continue;
    return input_error("sequence " + std::to_string(i) + ": expected at most " + limit_name + " = " + std::to_string(positions_) +
                       " tokens, found " + std::to_string(batch.length(i)));
  }
  if (!config_.positions_by_table() && config_.relative_positions != RelativePositions::kRotary) return {};
  return check_range(batch.position_ids, positions_, "position_ids", limit_name);
}

void Transformer::forward(ThreadTeam& team, const Batch& batch, const Context& context, Arena& arena, float* hidden,
                          Taps* taps) const {
  const ThreadTeam::Awake awake(team);
  const std::int64_t tokens = batch.tokens();
  const std::int64_t own_keys = context.cache ? 0 : batch.longest();
  const std::int64_t sources = context.cross_kv ? context.cross_kv->cache.length : 0;
  const WorkspaceSize size{.tokens = tokens,
                           .keys = std::max(context.cache ? context.cache->length : own_keys, sources),
                           .own_keys = own_keys,
                           .threads = team.threads()};
  Pass pass{{*kernels_, team, lora_}, batch, context, take_workspace(arena, size), taps};
  if (config_.relative_positions == RelativePositions::kDisentangled && own_keys > 0) prepare_relative_embeddings(pass, own_keys);
  embed_tokens(pass, hidden);
  LayerTaps{taps, -1, tokens}.rows("embeddings.output", hidden, config_.hidden_size);
  if (config_.convolution.kernel > 0) {
    convolve(pass.compute, config_, convolution_, batch, pass.work.convolution, pass.work.linear, hidden);
  }
  for (int layer = 0; layer < config_.num_hidden_layers; ++layer) {
    forward_layer(pass, layer, hidden);
  }
  if (config_.norm_placement == NormPlacement::kPost) return;
  normalise(pass.compute, config_.norm, final_norm_, hidden, tokens, hidden);
  LayerTaps{taps, -1, tokens}.rows("final_norm.output", hidden, config_.hidden_size);
}

void Transformer::embed_tokens(const Pass& pass, float* hidden) const {
  const std::int64_t tokens = pass.batch.tokens();
  float* out = config_.embedding_size > 0 ? pass.work.embedded : hidden;
  sum_embeddings(pass, out);
  if (config_.embeddings_norm) normalise(pass.compute, config_.norm, embeddings_norm_, out, tokens, out);
  if (config_.embedding_size > 0) {
    linear(pass.compute, embeddings_projection_, out, tokens, Activation::kNone, pass.work.linear, hidden);
  }
}

void Transformer::word_rows(std::span<const std::int32_t> ids, float* out) const {
  const std::int64_t width = config_.embedding_width();
  std::fill(out, out + static_cast<std::int64_t>(ids.size()) * width, 0.0f);
  if (!token_rows_ && !token_weights_) return add_embedding_rows(word_embeddings_, ids, out);
  for (const std::int32_t id : ids) {
    const std::int32_t row = token_rows_ ? static_cast<std::int32_t>(token_rows_[id]) : id;
    add_embedding_rows(word_embeddings_, {&row, 1}, out);
    if (token_weights_) scale_in_place(token_weights_[id], width, out);
    out += width;
  }
}

// The sum of a token's rows, before the norm.
void Transformer::sum_embeddings(const Pass& pass, float* out) const {
  const std::int64_t tokens = pass.batch.tokens(), width = config_.embedding_width();
  if (head_holds_embeddings()) {
    for (std::int64_t i = 0; i < tokens; ++i) get_weight_row(lm_head_, pass.batch.input_ids[i], out + i * width);
  } else {
    word_rows(pass.batch.input_ids, out);
  }
  const auto add_lora_rows = [&](const Embedding& table, std::span<const std::int32_t> ids) {
    for (const Lora* lora = pass.compute.lora; lora; lora = lora->before) {
      if (lora->tables) lora->tables->add(*lora->tables, table.table, ids, out);
    }
  };
  add_lora_rows(word_embeddings_, pass.batch.input_ids);
  scale_in_place(config_.embedding_scale, tokens * width, out);
  if (config_.type_vocab_size > 0) {
    add_embedding_rows(token_type_embeddings_, pass.batch.token_type_ids, out);
    add_lora_rows(token_type_embeddings_, pass.batch.token_type_ids);
  }
  if (config_.positions_by_table()) add_embedding_rows(position_embeddings_, pass.batch.position_ids, out);
  if (config_.positions == Positions::kAfterPadding)
    add_embedding_rows(position_embeddings_, positions_after_padding(pass.batch), out);
}

// Rows of the table of positions.
std::vector<std::int32_t> Transformer::positions_after_padding(const Batch& batch) const {
  std::vector<std::int32_t> rows;
  rows.reserve(batch.input_ids.size());
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const auto padding = static_cast<std::int32_t>(config_.padding_idx);
    std::int32_t last = padding;
    for (std::int32_t token = batch.seq_start[i]; token < batch.seq_start[i + 1]; ++token) {
      rows.push_back(batch.input_ids[token] == padding ? padding : ++last);
    }
  }
  return rows;
}

void Transformer::prepare_relative_embeddings(Pass& pass, std::int64_t max_seq) const {
  Disentangled& terms = pass.work.disentangled;
  float* rows = pass.work.relative;
  terms.distances = &distance_buckets_;
  terms.first = distance_buckets_.of(1 - max_seq);
  terms.count = distance_buckets_.of(max_seq - 1) + 1 - terms.first;
  terms.queries_and_keys = pass.work.relative_qk;
  std::fill(rows, rows + terms.count * config_.hidden_size, 0.0f);
  for (std::int64_t i = 0; i < terms.count; ++i) {
    const auto row = static_cast<std::int32_t>(terms.first + i);
    add_embedding_rows(relative_embeddings_, {&row, 1}, rows + i * config_.hidden_size);
  }
  if (config_.disentangled.norm) layer_norm(pass.compute, relative_norm_, rows, nullptr, terms.count, rows);
}

// x = norm(x + run(x)), or pre-norm x + output_norm(run(norm(x))). run(in, out): out may be in. Norms: null for none (pre-norm).
template <class Run>
void Transformer::sublayer(const Pass& pass, const LayerNorm* norm, const LayerNorm* output_norm, float* x, const Run& run) const {
  const std::int64_t tokens = pass.batch.tokens();
  float* projected = pass.work.projected;
  if (config_.norm_placement == NormPlacement::kPost) {
    run(x, projected);
    layer_norm(pass.compute, *norm, projected, x, tokens, x);
    return;
  }
  if (norm) normalise(pass.compute, config_.norm, *norm, x, tokens, projected);
  run(norm ? projected : x, projected);
  if (output_norm) normalise(pass.compute, config_.norm, *output_norm, projected, tokens, projected);
  pass.compute.kernels.axpy(config_.residual_multiplier, projected, x, tokens * config_.hidden_size);
}

void Transformer::forward_layer(const Pass& pass, int index, float* x) const {
  const TransformerLayer& layer = layer_at(index);
  const std::int64_t hidden = config_.hidden_size;
  const LayerTaps tap{pass.taps, index, pass.batch.tokens()};
  const bool has_attention_norm = config_.input_norms && (index > 0 || config_.first_attention_norm);
  const LayerNorm* attention_norm = has_attention_norm ? &layer.attention_norm : nullptr;
  const LayerNorm* ffn_norm = config_.input_norms ? &layer.ffn_norm : nullptr;
  const bool output = config_.output_norms;
  if (config_.is_parallel()) {
    const LayerNorm& norm = config_.residual == Residual::kParallel ? layer.ffn_norm : layer.attention_norm;
    normalise(pass.compute, config_.norm, norm, x, pass.batch.tokens(), pass.work.parallel);
  }
  sublayer(pass, attention_norm, output ? &layer.attention_output_norm : nullptr, x,
           [&](const float* in, float* out) { attention(pass, index, in, out); });
  tap.rows("attention.output", x, hidden);
  if (config_.cross_attention) {
    sublayer(pass, &layer.cross_norm, nullptr, x, [&](const float* in, float* out) { cross_attention(pass, index, in, out); });
    tap.rows("cross_attention.output", x, hidden);
  }
  sublayer(pass, config_.is_parallel() ? nullptr : ffn_norm, output ? &layer.ffn_output_norm : nullptr, x,
           [&](const float* in, float* out) { feed_forward(pass, index, config_.is_parallel() ? pass.work.parallel : in, out); });
  if (index == 0 && config_.convolution.kernel > 0) {
    layer_norm(pass.compute, convolution_.norm, pass.work.convolution.out, x, pass.batch.tokens(), x);
  }
  tap.rows("output", x, hidden);
}

// After the queries, keys and values are in the workspace.
Transformer::AttentionCall Transformer::attention_call(const Pass& pass, int index) const {
  const Workspace& work = pass.work;
  const std::int64_t queries = config_.query_width(), keys = config_.kv_width(), row = config_.qkv_width();
  const bool local = config_.is_local(index);
  ScoreTerms terms{.scale = score_scale(config_), .softcap = config_.attn_logit_softcapping, .causal = config_.causal};
  if (config_.scale_by_layer) terms.scale /= static_cast<float>(index + 1);
  if (local) terms.window_before = config_.local_window;
  if (local && !config_.causal) terms.window_after = config_.local_window;
  if (distance_bias_.values) terms.bias = &distance_bias_;
  if (config_.t5.each_layer) terms.bias = &layer_at(index).distance_bias;
  if (config_.relative_positions == RelativePositions::kDisentangled) terms.relative = &pass.work.disentangled;
  if (pass.taps) terms.head_mask = pass.taps->head_mask({"attention.probs", index});
  return {terms,
          {.queries = work.qkv,
           .query_stride = row,
           .keys = work.qkv + queries,
           .values = work.qkv + queries + keys,
           .kv_stride = row,
           .seq_start = pass.batch.seq_start,
           .cache = pass.context.cache,
           .layer = index,
           .slots = pass.batch.slots,
           .position_ids = pass.batch.position_ids,
           .key_start = pass.batch.key_start}};
}

// Their norms and rotations, in place.
void Transformer::place_queries_and_keys(const Pass& pass, int index) const {
  const TransformerLayer& layer = layer_at(index);
  const std::int64_t queries = config_.query_width(), row = config_.qkv_width(), tokens = pass.batch.tokens();
  if (config_.query_key_norm) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      float* token = pass.work.qkv + i * row;
      const bool joined = config_.query_key_norm_joined;
      rms_norm(pass.compute, layer.query_norm, token, joined ? 1 : config_.num_attention_heads, token);
      rms_norm(pass.compute, layer.key_norm, token + queries, joined ? 1 : config_.kv_heads(), token + queries);
    }
  }
  if (config_.is_rotary(index)) {
    rotate_heads(pass.compute, rotary_of(index), pass.batch.position_ids, config_.num_attention_heads + config_.kv_heads(), row,
                 pass.work.qkv);
  }
}

// The relative embeddings by a layer's query and key matrices, or by matrices of their own.
void Transformer::project_relative(const Pass& pass, int index) const {
  const Workspace& work = pass.work;
  Linear queries_and_keys = config_.disentangled.own_matrices ? layer_at(index).relative_qk : layer_at(index).qkv;
  queries_and_keys.out = config_.query_width() + config_.kv_width();
  linear(pass.compute, queries_and_keys, work.relative, work.disentangled.count, Activation::kNone, work.linear, work.relative_qk);
}

// out may be x.
void Transformer::attention(const Pass& pass, int index, const float* x, float* out) const {
  const TransformerLayer& layer = layer_at(index);
  const Workspace& work = pass.work;
  const Compute& compute = pass.compute;
  const std::int64_t tokens = pass.batch.tokens();
  const std::int64_t queries = config_.query_width(), keys = config_.kv_width(), row = config_.qkv_width();
  const LayerTaps tap{pass.taps, index, tokens};

  linear(compute, layer.qkv, x, tokens, Activation::kNone, work.linear, work.qkv);
  place_queries_and_keys(pass, index);
  tap.columns("attention.query", work.qkv, row, 0, queries);
  tap.columns("attention.key", work.qkv, row, queries, keys);
  tap.columns("attention.value", work.qkv, row, queries + keys, keys);

  if (config_.relative_positions == RelativePositions::kDisentangled) project_relative(pass, index);
  const auto [terms, input] = attention_call(pass, index);
  wattn::attention(compute, attention_shape(), terms, input, work.attention, work.context, {pass.taps, index, "attention"});
  tap.rows("attention.context", work.context, queries);
  linear(compute, layer.attention_output, work.context, tokens, Activation::kNone, work.linear, out);
}

// out may be x.
void Transformer::cross_attention(const Pass& pass, int index, const float* x, float* out) const {
  const TransformerLayer& layer = layer_at(index);
  const Workspace& work = pass.work;
  const std::int64_t tokens = pass.batch.tokens(), width = config_.query_width();
  const LayerTaps tap{pass.taps, index, tokens};
  linear(pass.compute, layer.cross_query, x, tokens, Activation::kNone, work.linear, work.qkv);
  tap.rows("cross_attention.query", work.qkv, width);
  ScoreTerms terms{.scale = score_scale(config_)};
  if (pass.taps) terms.head_mask = pass.taps->head_mask({"cross_attention.probs", index});
  const AttentionInput input{.queries = work.qkv,
                             .query_stride = width,
                             .seq_start = pass.batch.seq_start,
                             .cache = &pass.context.cross_kv->cache,
                             .layer = index,
                             .slots = pass.batch.sources,
                             .lengths = pass.context.cross_kv->lengths};
  wattn::attention(pass.compute, pass.context.cross_kv->cache.shape, terms, input, work.attention, work.context,
                   {pass.taps, index, "cross_attention"});
  tap.rows("cross_attention.context", work.context, width);
  linear(pass.compute, layer.cross_output, work.context, tokens, Activation::kNone, work.linear, out);
}

// out may be x.
void Transformer::feed_forward(const Pass& pass, int index, const float* x, float* out) const {
  const TransformerLayer& layer = layer_at(index);
  const Workspace& work = pass.work;
  const std::int64_t ffn = config_.intermediate_size;
  const std::int64_t tokens = pass.batch.tokens();
  if (config_.has_experts(index)) {
    return experts_feed_forward(pass.compute, config_, layer, work.experts, work.linear, x, tokens, out);
  }
  const Activation activation = config_.gated() ? Activation::kNone : config_.hidden_act;
  linear(pass.compute, layer.up, x, tokens, activation, work.linear, work.intermediate);
  float* intermediate = work.intermediate;
  if (config_.gated()) {
    intermediate = work.gated;
    for_parts(pass.compute, tokens, 1, 32, [&](std::int64_t begin, std::int64_t end) {
      const float* rows = work.intermediate + begin * 2 * ffn;
      pass.compute.kernels.gate_rows(config_.hidden_act, rows, work.gated + begin * ffn, end - begin, ffn);
    });
  }
  LayerTaps{pass.taps, index, tokens}.rows("intermediate", intermediate, ffn);
  linear(pass.compute, layer.down, intermediate, tokens, Activation::kNone, work.linear, out);
}

KvCache Transformer::take_kv_cache(Arena& arena, std::int64_t slots, std::int64_t length) const {
  return wattn::take_kv_cache(arena, attention_shape(), config_.num_hidden_layers, slots, length);
}

CrossKv Transformer::take_cross_kv(Arena& arena, std::int64_t slots, std::int64_t length) const {
  AttentionShape shape = attention_shape();
  shape.kv_heads = shape.heads;
  return {wattn::take_kv_cache(arena, shape, config_.num_hidden_layers, slots, length),
          std::vector<std::int32_t>(static_cast<std::size_t>(slots))};
}

std::uint64_t Transformer::project_cross_kv_bytes(std::int64_t tokens) const {
  Arena measure;
  measure.take<float>(tokens * 2 * config_.query_width());
  take_linear_scratch(measure, at_least_q8(type_), tokens, config_.hidden_size, 1);
  return measure.used();
}

void Transformer::project_cross_kv(ThreadTeam& team, const float* states, std::int64_t tokens, std::int64_t slot, CrossKv& cross_kv,
                                   Arena& arena, Taps* taps) const {
  const ThreadTeam::Awake awake(team);
  const std::int64_t width = config_.query_width();
  float* keys_values = arena.take<float>(tokens * 2 * width);
  const LinearScratch scratch = take_linear_scratch(arena, at_least_q8(type_), tokens, config_.hidden_size, 1);
  for (int i = 0; i < config_.num_hidden_layers; ++i) {
    linear({*kernels_, team, lora_}, layer_at(i).cross_keys_values, states, tokens, Activation::kNone, scratch, keys_values);
    const LayerTaps tap{taps, i, tokens};
    tap.columns("cross_attention.key", keys_values, 2 * width, 0, width);
    tap.columns("cross_attention.value", keys_values, 2 * width, width, width);
    store_kv(cross_kv.cache, slot, i, 0, {keys_values, keys_values + width, 2 * width, tokens});
  }
  cross_kv.lengths[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(tokens);
}

void Transformer::lm_head(ThreadTeam& team, float* hidden, std::int64_t rows, Arena& arena, float* logits) const {
  const ThreadTeam::Awake awake(team);
  scale_in_place(config_.lm_head_scale, rows * config_.hidden_size, hidden);
  const LinearScratch scratch = take_linear_scratch(arena, at_least_q8(type_), rows, config_.hidden_size, 1);
  linear({*kernels_, team, lora_}, lm_head_, hidden, rows, Activation::kNone, scratch, logits);
  softcap(*kernels_, config_.final_logit_softcapping, rows * config_.vocab_size, logits);
}

std::uint64_t Transformer::lm_head_bytes(std::int64_t rows) const {
  Arena measure;
  take_linear_scratch(measure, at_least_q8(type_), rows, config_.hidden_size, 1);
  return measure.used();
}

void Transformer::final_norm(ThreadTeam& team, float* rows, std::int64_t count) const {
  if (config_.norm_placement == NormPlacement::kPre) normalise({*kernels_, team}, config_.norm, final_norm_, rows, count, rows);
}

void Transformer::pooler(const Batch& batch, const float* hidden, float* pooled) const {
  ThreadTeam alone;
  std::fill_n(pooled, batch.batch() * config_.hidden_size, 0.0f);
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    if (batch.length(i) == 0) continue;
    linear({*kernels_, alone, lora_}, pooler_, hidden + batch.seq_start[i] * config_.hidden_size, 1, Activation::kTanh, {},
           pooled + i * config_.hidden_size);
  }
}

}  // namespace wattn
