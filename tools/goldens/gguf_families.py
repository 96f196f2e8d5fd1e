"""gguf-families/: a GGUF file of every family as llama.cpp's converter writes it, and files with the block types that llama-quantize takes for the
Q4_K_M of small models, whose rows are no multiple of 256; and what Python makes of the same weights, dequantized by gguf-py.

Names are gguf-py's (tensor_mapping.py); keys and changes of tensors those of llama.cpp's conversion/*.py."""
import json
import pathlib
import shutil
import tempfile

import gguf
import numpy as np
import tokenizers
import torch
import transformers

from . import common, gguf_decoders, hub_layouts, seq2seq

FOLDER = common.OUT / "gguf-families"
Type = gguf.GGMLQuantizationType
VOCAB, EOS = gguf_decoders.VOCAB, gguf_decoders.EOS
SCALES = {Type.Q4_K: (0, 4, 0.0006), Type.Q6_K: (208, 210, 0.00006)}
USUAL = dict(vocab_size=VOCAB, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=40,
             max_position_embeddings=64, bos_token_id=None, eos_token_id=EOS, pad_token_id=0, attn_implementation="eager")  # fmt: skip
QUANTIZED = dict(USUAL, hidden_size=32, intermediate_size=256, tie_word_embeddings=True)
ALL = dict(USUAL, num_key_value_heads=4)
LONG = dict(rope_type="longrope", rope_theta=500.0, short_factor=[1.0, 1.2, 1.5], long_factor=[1.5, 2.0, 4.0])
# name: (general.architecture, class, config, seed)
DECODERS = {
    "phi2": ("phi2", "Phi", dict(ALL, partial_rotary_factor=0.34), 1),
    "phi2-fused": ("phi2", "Phi", dict(ALL, partial_rotary_factor=0.34), 15),
    "phi3": ("phi3", "Phi3", dict(USUAL, sliding_window=9), 2),
    "phi3-partial": ("phi3", "Phi3", dict(USUAL, partial_rotary_factor=0.67, sliding_window=None), 3),
    "phi3-longrope": ("phi3", "Phi3", dict(USUAL, max_position_embeddings=192, original_max_position_embeddings=64, rope_parameters=LONG, sliding_window=None), 4),
    "stablelm": ("stablelm", "StableLm", dict(USUAL, partial_rotary_factor=0.34, use_qkv_bias=True), 5),
    "stablelm-parallel": ("stablelm", "StableLm", dict(USUAL, partial_rotary_factor=0.67, use_parallel_residual=True), 6),
    "gptneox": ("gptneox", "GPTNeoX", dict(ALL, rotary_pct=0.34), 7),
    "gptneox-one-norm": ("gptneox", "GPTNeoX", dict(ALL, rotary_pct=0.67, use_parallel_residual=False), 8),
    "olmo2": ("olmo2", "Olmo2", dict(USUAL), 9),
    "smollm3": ("smollm3", "SmolLM3", dict(USUAL, num_hidden_layers=4, tie_word_embeddings=True), 10),
    "granite": ("granite", "Granite", dict(USUAL, embedding_multiplier=3.0, attention_multiplier=0.25, residual_multiplier=0.75, logits_scaling=1.5, attention_bias=True), 11),
    "arcee": ("arcee", "Arcee", dict(USUAL), 31),
    "bloom": ("bloom", "Bloom", dict(vocab_size=VOCAB, hidden_size=24, n_layer=2, n_head=4, bos_token_id=None, eos_token_id=EOS, pad_token_id=0), 32),
    "cohere": ("command-r", "Cohere", dict(USUAL, logit_scale=0.7), 33),
    "cohere2": ("cohere2", "Cohere2", dict(USUAL, num_hidden_layers=4, sliding_window=7, logit_scale=0.7), 34),
    "ernie4_5": ("ernie4_5", "Ernie4_5", dict(USUAL, head_dim=10, tie_word_embeddings=True), 35),
    "exaone": ("exaone", "Llama", dict(USUAL), 36),
    "hunyuan": ("hunyuan-dense", "HunYuanDenseV1", dict(USUAL, head_dim=10), 37),
    "minicpm": ("minicpm", "Granite", dict(USUAL, embedding_multiplier=3.0, attention_multiplier=6 ** -0.5, residual_multiplier=0.75, logits_scaling=1.5), 38),
    "olmo": ("olmo", "Olmo", dict(USUAL), 39),
    "starcoder2": ("starcoder2", "Starcoder2", dict(USUAL), 40),
    "smollm2-q4_k_m": ("llama", "Llama", QUANTIZED, 12),
    "qwen2.5-q4_k_m": ("qwen2", "Qwen2", QUANTIZED, 13),
    "gemma3-q4_k_m": ("gemma3", "Gemma3", dict(QUANTIZED, num_hidden_layers=6, head_dim=16, sliding_window=7, query_pre_attn_scalar=16), 14),
}  # fmt: skip
TEXTS = ["the old boat waits below the bridge.", "a bird sings", "", "how do the small birds find their way home in the dark, and who taught them to sing?"]
PERMUTED = ("llama", "smollm3", "granite", "arcee", "minicpm", "olmo")


def q4_k_m(name, shape, layers):
    """The type that llama-quantize chooses for Q4_K_M (src/llama-quant.cpp), with its fall-back for rows that are no multiple of 256."""
    if len(shape) < 2 or name.startswith(("position_embd", "token_types")):
        return Type.F32
    layer = int(name.split(".")[1]) if name.startswith("blk.") else 0
    more_bits = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
    kind = Type.Q6_K if name.startswith(("token_embd", "output")) or (("attn_v" in name or "ffn_down" in name) and more_bits) else Type.Q4_K
    return kind if shape[-1] % 256 == 0 else {Type.Q4_K: Type.Q5_0, Type.Q6_K: Type.Q8_0}[kind]


def quantized(rng, value, kind):
    """(bytes, what they mean): gguf-py writes no K types, so theirs are random bytes with sane scales."""
    if kind in SCALES:
        begin, end, size = SCALES[kind]
        length, block = gguf.GGML_QUANT_SIZES[kind]
        data = rng.integers(0, 256, (value.size // length, block), dtype=np.uint8)
        data[:, begin:end] = rng.normal(0, size, (len(data), (end - begin) // 2)).astype(np.float16).view(np.uint8)
        data = data.reshape(value.shape[0], -1)
    else:
        data = gguf.quants.quantize(value, kind)
    return data, gguf.quants.dequantize(data, kind).astype(np.float32).reshape(value.shape)


def changed(architecture, config, key, value):
    """The parts of a tensor as the converter writes them: [(name to look up, values)]."""
    heads = config.get("n_head") or config["num_attention_heads"]
    if architecture in PERMUTED and (".q_proj." in key or ".k_proj." in key):
        heads = heads if ".q_proj." in key else config["num_key_value_heads"]
        value = value.reshape(heads, 2, -1, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)
    if architecture in ("gptneox", "bloom") and "query_key_value" in key:
        value = value.reshape(heads, 3, -1, *value.shape[1:]).swapaxes(0, 1).reshape(value.shape)
    if architecture == "gemma3" and key.endswith("norm.weight"):
        value = value + 1
    if ".mlp.experts.mlp.w" in key:
        value = value.reshape(config["num_experts"], -1, value.shape[-1])
        return key + ".weight", value.swapaxes(1, 2) if key.endswith("w2") else value
    return key, value


def write_tensors(writer, architecture, config, model, layers, is_q4_k_m, fused=False):
    """Puts into the model what the file means, too. fused: one matrix for query, key and value, as in the first files of Phi 2."""
    parts = {".weight": [], ".bias": []}
    rng = np.random.default_rng(5)
    kind_of = {text: kind for kind, text in gguf.MODEL_ARCH_NAMES.items()}[architecture]
    names = gguf.get_tensor_name_map(kind_of, layers)
    for key, weight in model.state_dict().items():
        if (key == "lm_head.weight" and config.get("tie_word_embeddings")) or key.startswith("pooler.") or key.endswith((".experts.bias", "inv_freq")):
            continue
        value = weight.float().numpy()
        stem = key.removeprefix("transformer.") if architecture == "bloom" else key
        name = names.get_name(changed(architecture, config, stem, value)[0], (".weight", ".bias"))
        assert name, key
        kind = q4_k_m(name, value.shape, layers) if is_q4_k_m else Type.F16 if value.ndim == 2 and not name.startswith("token_types") else Type.F32
        # By rows: what the converter permutes are whole rows.
        data, means = quantized(rng, value, kind)
        weight.data.copy_(torch.from_numpy(means.copy()))
        if kind in (Type.F32, Type.F16):
            _, data = changed(architecture, config, key, means)
            if fused and name.split(".")[2:3] in (["attn_q"], ["attn_k"], ["attn_v"]):
                some = parts["." + name.split(".")[-1]]
                some.append(data)
                if "attn_v" not in name:
                    continue
                name, data = name.replace("attn_v", "attn_qkv"), np.concatenate(some)
                some.clear()
            writer.add_tensor(name, np.ascontiguousarray(data.astype(np.float16 if kind == Type.F16 else np.float32)))
        else:
            writer.add_tensor(name, np.ascontiguousarray(changed(architecture, config, key, data)[1]), raw_dtype=kind)
        if kind == Type.Q4_K or kind == Type.Q6_K:
            assert "ffn_down" in name, name


def head_keys(writer, config, layers):
    writer.add_context_length(config.get("max_position_embeddings", 2048))
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config.get("intermediate_size", 4 * config["hidden_size"]))
    writer.add_block_count(layers)
    writer.add_head_count(config.get("n_head") or config["num_attention_heads"])


def decoder_keys(writer, architecture, config):
    head_keys(writer, config.to_dict(), config.num_hidden_layers)
    if architecture == "bloom":
        writer.add_head_count_kv(config.n_head)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        return
    rope = config.rope_parameters
    rope = rope.get("full_attention", rope)
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if architecture != "gptneox":
        writer.add_head_count_kv(config.num_key_value_heads)
    if architecture in ("command-r", "cohere2", "olmo", "starcoder2"):
        writer.add_layer_norm_eps(getattr(config, "norm_epsilon", None) or getattr(config, "layer_norm_eps", 1e-5))
        writer.add_rope_freq_base(rope["rope_theta"])
    elif architecture in ("phi2", "stablelm", "gptneox"):
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_rope_dimension_count(int(rope["partial_rotary_factor"] * size))
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_freq_base(rope["rope_theta"])
    if architecture in ("stablelm", "gptneox"):
        writer.add_parallel_residual(config.use_parallel_residual)
    if architecture in ("llama", "smollm3", "granite"):
        writer.add_rope_dimension_count(size)
    if architecture in ("command-r", "cohere2"):
        writer.add_logit_scale(config.logit_scale)
    if architecture == "cohere2":
        writer.add_sliding_window(config.sliding_window)
    if architecture in ("ernie4_5", "hunyuan-dense"):
        writer.add_key_length(size)
        writer.add_value_length(size)
    if architecture == "gemma3":
        writer.add_key_length(size)
        writer.add_value_length(size)
        writer.add_sliding_window(config.sliding_window)
    if architecture == "granite":
        writer.add_attention_scale(config.attention_multiplier)
    if architecture in ("granite", "minicpm"):
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    if architecture == "phi3":
        original = rope.get("original_max_position_embeddings", config.max_position_embeddings)
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_dimension_count(int(rope.get("partial_rotary_factor", 1.0) * config.hidden_size) // config.num_attention_heads)
        writer.add_sliding_window(config.sliding_window or 0)
        if "short_factor" in rope:
            writer.add_rope_scaling_attn_factors((1 + np.log(config.max_position_embeddings / original) / np.log(original)) ** 0.5)
            writer.add_tensor("rope_factors_long.weight", np.array(rope["long_factor"], np.float32))
            writer.add_tensor("rope_factors_short.weight", np.array(rope["short_factor"], np.float32))


def decoder(name, architecture, kind, words, seed):
    classes = {"Gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM")}
    config_name, model_name = classes.get(kind, (f"{kind}Config", f"{kind}ForCausalLM"))
    config = getattr(transformers, config_name)(**words)
    model = getattr(transformers, model_name)._from_config(config, attn_implementation="eager")
    seq2seq.randomize(model, seed)
    writer = gguf.GGUFWriter(FOLDER / f"{name}.gguf", architecture)
    decoder_keys(writer, architecture, config)
    write_tensors(writer, architecture, config.to_dict(), model, config.num_hidden_layers, name.endswith("q4_k_m"), name.endswith("fused"))
    gguf_decoders.finish(writer, [(f"t{i}", 0.0, gguf.TokenType.NORMAL) for i in range(VOCAB)], "gpt2", "qwen2")
    return gguf_decoders.generate(model, gguf_decoders.PROMPTS, drop=True)


def xlm_tokenizer():
    """XLM-RoBERTa's: pieces, <s> $A </s>, and two separators between the texts of a pair."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=VOCAB - 1, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator([text for text in TEXTS for _ in range(3)] + ["translate summarize boats birds bridges sang waited homes"], trainer)
    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer


def add_xlm_tokenizer(writer, tokenizer):
    model = json.loads(tokenizer.to_str())["model"]
    control, unknown = gguf.TokenType.CONTROL, gguf.TokenType.UNKNOWN
    tokens = [(piece, score, control if i < 3 else unknown if i == 3 else gguf.TokenType.NORMAL) for i, (piece, score) in enumerate(model["vocab"])]
    tokens += [("<mask>", 0.0, control)]
    tokens += [(f"[PAD{i}]", -1000.0, gguf.TokenType.UNUSED) for i in range(len(tokens), VOCAB)]
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([piece for piece, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    for token, number in (("bos", 0), ("eos", 2), ("unknown", 3), ("seperator", 2), ("padding", 1), ("cls", 0), ("mask", len(model["vocab"]))):
        writer.add_uint32(f"tokenizer.ggml.{token}_token_id", number)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    writer.add_add_sep_token(True)


def add_word_pieces(writer):
    """All letters, so that every text has tokens."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,?"] + ["##" + letter for letter in "abcdefghijklmnopqrstuvwxyz"] + ["the", "##ing", "bird"]
    writer.add_tokenizer_model("bert")
    writer.add_token_list([word if word[0] == "[" else word[2:] if word[:2] == "##" else "\u2581" + word for word in words])
    writer.add_token_types([gguf.TokenType.CONTROL if word[0] == "[" else gguf.TokenType.NORMAL for word in words])
    with tempfile.TemporaryDirectory() as place:
        pathlib.Path(place, "vocab.txt").write_text("\n".join(words) + "\n")
        return transformers.BertTokenizer.from_pretrained(place)._tokenizer


class Moe(hub_layouts.NomicMoe):
    """The last hidden state, as BertModel gives it."""

    def last(self, ids):
        return self(torch.tensor([ids]), None)[0][-1][0]


def encoder(name, architecture, pooling, model, config, tokenizer_of):
    writer = gguf.GGUFWriter(FOLDER / f"{name}.gguf", architecture)
    head_keys(writer, config, config["num_hidden_layers"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(pooling)
    if architecture == "nomic-bert-moe":
        writer.add_rope_freq_base(config["rotary_emb_base"])
        writer.add_expert_count(config["num_experts"])
        writer.add_expert_used_count(config["moe_top_k"])
        writer.add_moe_every_n_layers(config["moe_every_n_layers"])
    tokenizer = tokenizer_of(writer)
    offset = config.get("position_offset", 0)
    write_tensors(writer, architecture, config, model, config["num_hidden_layers"], name.endswith("q4_k_m"))
    if offset:  # the converter leaves out the rows up to the padding token's
        info = writer.tensors[0]["position_embd.weight"]
        info.tensor = np.ascontiguousarray(info.tensor[offset:])
        info.shape, info.nbytes = info.tensor.shape, info.tensor.nbytes
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    pairs = [[TEXTS[0], TEXTS[1]], [TEXTS[1], TEXTS[3]]]
    found = {"texts": TEXTS, "ids": [tokenizer.encode(text).ids for text in TEXTS], "pairs": pairs, "pair_ids": [tokenizer.encode(*pair).ids for pair in pairs]}
    model = model.double().eval()
    vectors = []
    with torch.no_grad():
        for ids in found["ids"]:
            states = model.last(ids) if isinstance(model, Moe) else model(input_ids=torch.tensor([ids])).last_hidden_state[0]
            vector = states[0] if pooling == gguf.PoolingType.CLS else states.mean(0)
            vectors.append([float(f"{x:.9g}") for x in vector / vector.norm()])
    return {**found, "vectors": vectors}


def encoders():
    xlm = xlm_tokenizer()

    def with_xlm(writer):
        add_xlm_tokenizer(writer, xlm)
        return xlm

    bert = dict(vocab_size=63, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256, max_position_embeddings=96, layer_norm_eps=1e-12)
    words = dict(bert, vocab_size=VOCAB, hidden_size=24, intermediate_size=40, max_position_embeddings=98, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)
    moe = {"n_embd": 24, "n_layer": 4, "n_head": 4, "n_inner": 40, "n_positions": 96, "vocab_size": VOCAB, "type_vocab_size": 1, "layer_norm_epsilon": 1e-5,
           "rotary_emb_base": 10000, "num_experts": 5, "moe_top_k": 2, "moe_every_n_layers": 2, "hidden_size": 24, "num_hidden_layers": 4,
           "num_attention_heads": 4, "intermediate_size": 40, "max_position_embeddings": 96, "layer_norm_eps": 1e-5}  # fmt: skip
    made = {}

    def add(name, architecture, pooling, model, config, tokenizer_of, seed):
        seq2seq.randomize(model, seed)
        for key, weight in model.named_parameters():
            if key.endswith("experts.bias"):
                weight.data.zero_()  # llama.cpp leaves it out
        made[name] = encoder(name, architecture, pooling, model, config, tokenizer_of)

    usual = dict(attn_implementation="eager", add_pooling_layer=False)
    mean, cls = gguf.PoolingType.MEAN, gguf.PoolingType.CLS
    add("xlm-roberta", "bert", cls, transformers.XLMRobertaModel._from_config(transformers.XLMRobertaConfig(**words), **usual),
        {**words, "max_position_embeddings": 96, "position_offset": 2}, with_xlm, 21)  # fmt: skip
    add("nomic-moe", "nomic-bert-moe", mean, Moe(moe), moe, with_xlm, 22)
    for name, pooling, seed in (("minilm-q4_k_m", mean, 23), ("bge-small-q4_k_m", cls, 24)):
        add(name, "bert", pooling, transformers.BertModel._from_config(transformers.BertConfig(**bert), **usual), bert, add_word_pieces, seed)
    return made


def make(_options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    FOLDER.mkdir(parents=True)
    decoders = {name: decoder(name, *case) for name, case in DECODERS.items()}
    types = {name: name if name in ("exaone", "minicpm") else getattr(transformers, {"Gemma3": "Gemma3Text"}.get(case[1], case[1]) + "Config").model_type for name, case in DECODERS.items()}
    types.update({"xlm-roberta": "xlm-roberta", "nomic-moe": "nomic_bert", "minilm-q4_k_m": "bert", "bge-small-q4_k_m": "bert"})
    expected = {"model_types": types, "prompts": gguf_decoders.PROMPTS, "runs": gguf_decoders.RUNS, "decoders": decoders, "encoders": encoders()}
    common.write_json(FOLDER / "expected.json", expected, depth=4)
    common.update_manifest("gguf-families", common.versions("torch", "transformers", "numpy", "tokenizers", "gguf"))
