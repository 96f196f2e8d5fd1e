"""gguf-decoders/: GGUF files as llama.cpp's converter writes them, and transformers' generate() output with the same weights: T5, Qwen2 in blocks
of every kind, Llama with its scaling as factors of frequencies."""
import json
import shutil

import gguf
import numpy as np
import torch
import transformers

from . import common, seq2seq

FOLDER = common.OUT / "gguf-decoders"
Type = gguf.GGMLQuantizationType
VOCAB, EOS = 96, 1
PROMPTS = [[5, 17, 40, 8], [61, 33, 21, 7, 9, 88, 54, 12, 3, 70, 71, 72], [2]]
BAD = [[i] for i in range(3, 90, 3)]
RUNS = {"greedy": dict(max_new_tokens=20), "beams": dict(max_new_tokens=14, num_beams=3), "penalty": dict(max_new_tokens=14, repetition_penalty=1.3),
        "plain": dict(max_new_tokens=14, num_beams=3, bad_words_ids=BAD), "renormalized": dict(max_new_tokens=14, num_beams=3, bad_words_ids=BAD, renormalize_logits=True)}
LLAMA = {"embed_tokens": "token_embd", "norm": "output_norm", "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "lm_head": "output"}  # fmt: skip
T5 = {"SelfAttention.q": "attn_q", "SelfAttention.k": "attn_k", "SelfAttention.v": "attn_v", "SelfAttention.o": "attn_o",
      "SelfAttention.relative_attention_bias": "attn_rel_b", "EncDecAttention.q": "cross_attn_q", "EncDecAttention.k": "cross_attn_k",
      "EncDecAttention.v": "cross_attn_v", "EncDecAttention.o": "cross_attn_o", "DenseReluDense.wi": "ffn_up", "DenseReluDense.wi_0": "ffn_gate",
      "DenseReluDense.wi_1": "ffn_up", "DenseReluDense.wo": "ffn_down"}  # fmt: skip
# llama.cpp mixes kinds in one file as well. Rows of 256 for the K kinds.
KINDS = {"token_embd": Type.Q6_K, "attn_q": Type.Q4_K, "attn_k": Type.Q6_K, "attn_v": Type.Q8_0, "attn_output": Type.Q4_0, "ffn_gate": Type.Q4_K,
         "ffn_up": Type.Q8_0, "ffn_down": Type.Q4_0}  # fmt: skip
SCALED = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)


def generate(model, prompts, drop):
    """Tokens of every run and prompt; the same in float32 and in float64."""
    out = {}
    for name, options in RUNS.items():
        rows = []
        for dtype in (torch.float64, torch.float32):
            made = []
            for ids in prompts:
                with torch.no_grad():
                    row = model.to(dtype).eval().generate(torch.tensor([ids]), do_sample=False, eos_token_id=EOS, pad_token_id=0, **options)[0].tolist()
                row = row[len(ids) if drop else 1:]
                made.append(row[:row.index(EOS) + 1] if EOS in row else row)
            rows.append(made)
        assert rows[0] == rows[1], name
        out[name] = rows[0]
    return out


def finish(writer, tokens, kind, pre=None):
    writer.add_tokenizer_model(kind)
    if pre:
        writer.add_tokenizer_pre(pre)
        writer.add_token_merges([])
    writer.add_token_list([piece for piece, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([type_ for _, _, type_ in tokens])
    writer.add_eos_token_id(EOS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantised(rng, value, kind):
    """(bytes, what they mean): gguf-py writes no K kinds, so theirs are random bytes with sane scales."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    if kind not in (Type.Q4_K, Type.Q6_K):
        data = gguf.quants.quantize(value, kind)
        return data, gguf.quants.dequantize(data, kind)
    data = rng.integers(0, 256, (value.size // block, size), dtype=np.uint8)
    scales = slice(0, 4) if kind == Type.Q4_K else slice(208, 210)
    size_of = 0.0006 if kind == Type.Q4_K else 0.00006
    data[:, scales] = rng.normal(0, size_of, (len(data), (scales.stop - scales.start) // 2)).astype(np.float16).view(np.uint8)
    data = data.reshape(value.shape[0], -1)
    return data, gguf.quants.dequantize(data, kind)


def decoder(name, architecture, config, kinds, factors=None):
    """A Llama-like model: random weights, quantised as kinds says, and in the model what that means."""
    rng = np.random.default_rng(11)
    model = transformers.AutoModelForCausalLM.from_config(config)
    seq2seq.randomize(model, 31)
    writer = gguf.GGUFWriter(FOLDER / f"{name}.gguf", architecture)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_key_length(config.hidden_size // config.num_attention_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    for key, weight in model.state_dict().items():
        stem, _, ending = key.removeprefix("model.").rpartition(".")
        if stem == "lm_head" and config.tie_word_embeddings:
            continue
        layer, rest = (stem.split(".", 2)[1:] if stem.startswith("layers.") else (None, stem))
        role = LLAMA[rest]
        stem = f"blk.{layer}.{role}" if layer else role
        value = weight.float().numpy()
        if weight.dim() == 2 and kinds:
            data, means = quantised(rng, value, kinds[role])
            weight.data.copy_(torch.from_numpy(means.copy()))
            writer.add_tensor(f"{stem}.{ending}", data, raw_dtype=kinds[role])
            continue
        if architecture == "llama" and role in ("attn_q", "attn_k"):
            heads = config.num_attention_heads if role == "attn_q" else config.num_key_value_heads
            value = value.reshape(heads, 2, -1, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)
        writer.add_tensor(f"{stem}.{ending}", value.copy())
    if factors is not None:
        writer.add_tensor("rope_freqs.weight", factors)
    finish(writer, [(f"t{i}", 0.0, gguf.TokenType.NORMAL) for i in range(VOCAB)], "gpt2", "qwen2" if architecture == "qwen2" else "llama-bpe")
    return generate(model, PROMPTS, drop=True)


def llama3_factors(head_dim):
    """As llama.cpp's converter computes them."""
    low, high = SCALED["original_max_position_embeddings"] / SCALED["low_freq_factor"], SCALED["original_max_position_embeddings"] / SCALED["high_freq_factor"]
    out = []
    for j in range(0, head_dim, 2):
        wave = 2 * np.pi * SCALED["rope_theta"] ** (j / head_dim)
        smooth = (SCALED["original_max_position_embeddings"] / wave - SCALED["low_freq_factor"]) / (SCALED["high_freq_factor"] - SCALED["low_freq_factor"])
        out.append(1 if wave < high else SCALED["factor"] if wave > low else 1 / ((1 - smooth) / SCALED["factor"] + smooth))
    return np.array(out, np.float32)


def t5(name, words):
    config = transformers.T5Config(**dict(seq2seq.T5, relative_attention_max_distance=128, **words))
    config._attn_implementation = "eager"
    model = transformers.T5ForConditionalGeneration(config)
    tied = words.get("tie_word_embeddings", True)  # which the config forgets
    if not tied:
        model.lm_head = torch.nn.Linear(config.d_model, VOCAB, bias=False)
        model._tied_weights_keys = {}
    seq2seq.randomize(model, 41)
    writer = gguf.GGUFWriter(FOLDER / f"{name}.gguf", "t5")
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.d_model)
    writer.add_feed_forward_length(config.d_ff)
    writer.add_block_count(config.num_layers)
    writer.add_decoder_block_count(config.num_decoder_layers)
    writer.add_head_count(config.num_heads)
    writer.add_key_length(config.d_kv)
    writer.add_value_length(config.d_kv)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_relative_attn_buckets_count(config.relative_attention_num_buckets)
    writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
    writer.add_decoder_start_token_id(config.decoder_start_token_id)
    for key, weight in model.state_dict().items():
        stem, _, ending = key.rpartition(".")
        if "embed_tokens" in stem or (stem == "lm_head" and tied):
            continue
        parts = stem.split(".")
        if stem in ("shared", "lm_head"):
            to = {"shared": "token_embd", "lm_head": "output"}[stem]
        elif parts[1] == "final_layer_norm":
            to = parts[0][:3] + ".output_norm"
        else:
            norms = ["attn_norm", "cross_attn_norm", "ffn_norm"] if parts[0] == "decoder" else ["attn_norm", "ffn_norm"]
            role = norms[int(parts[4])] if parts[5] == "layer_norm" else T5[".".join(parts[5:])]
            to = f"{parts[0][:3]}.blk.{parts[2]}.{role}"
        value = weight.float().numpy()
        half = value.astype(np.float16)
        if value.ndim == 2 and "attn_rel_b" not in to:
            weight.data.copy_(torch.from_numpy(half.astype(np.float32)))
            value = half
        writer.add_tensor(f"{to}.{ending}", value.copy())
    tokenizer = seq2seq.make_tokenizer()
    vocab = json.loads(tokenizer.to_str())["model"]["vocab"]
    kinds = {"<pad>": gguf.TokenType.CONTROL, "</s>": gguf.TokenType.CONTROL, "<s>": gguf.TokenType.CONTROL, "<unk>": gguf.TokenType.UNKNOWN}
    tokens = [(piece, score, kinds.get(piece, gguf.TokenType.NORMAL)) for piece, score in vocab]
    tokens += [(f"[PAD{i}]", -1000.0, gguf.TokenType.UNUSED) for i in range(len(tokens), VOCAB)]
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(True)
    finish(writer, tokens, "t5")
    sources = [tokenizer.encode(text).ids for text in seq2seq.TEXTS]
    rows = generate(model, sources, drop=False)
    return {"texts": seq2seq.TEXTS, "sources": sources, "tokens": rows}


def make(_options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    FOLDER.mkdir(parents=True)
    usual = dict(vocab_size=VOCAB, num_hidden_layers=2, num_key_value_heads=1, intermediate_size=32, max_position_embeddings=64, rms_norm_eps=1e-6,
                 tie_word_embeddings=True, attn_implementation="eager", bos_token_id=None, eos_token_id=EOS, pad_token_id=0)  # fmt: skip
    wide = transformers.Qwen2Config(**usual, hidden_size=256, num_attention_heads=8)
    scaled = transformers.LlamaConfig(**dict(usual, num_key_value_heads=2, tie_word_embeddings=False), hidden_size=32, num_attention_heads=4, rope_parameters=SCALED)
    expected = {
        "prompts": PROMPTS, "runs": RUNS,
        "decoders": {"qwen2": decoder("qwen2", "qwen2", wide, KINDS), "llama": decoder("llama", "llama", scaled, None, llama3_factors(8))},
        "seq2seq": {"t5": t5("t5", {}), "flan-t5": t5("flan-t5", dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False))},
    }  # fmt: skip
    common.write_json(FOLDER / "expected.json", expected, depth=4)
    common.update_manifest("gguf-decoders", common.versions("torch", "transformers", "numpy", "tokenizers", "gguf"))
