"""seq2seq/: a tiny random model of every encoder-decoder architecture with its internals, and generate()'s output for some sources."""
import json
import shutil

import tokenizers
import torch
import transformers
from safetensors.torch import save_file

from . import common

FOLDER = common.OUT / "seq2seq"
VOCAB, WIDTH, HEADS, FFN, POSITIONS = 96, 24, 3, 40, 48
TEXTS = ["the old boat waits below the bridge.", "a bird sings", "how do the small birds find their way home in the dark, and who taught them to sing?"]
DECODER = [5, 17, 40, 8, 61, 33, 21]  # after decoder_start_token_id: what the tensors are of
BART = dict(vocab_size=VOCAB, d_model=WIDTH, encoder_layers=2, decoder_layers=3, encoder_attention_heads=HEADS, decoder_attention_heads=2,
            encoder_ffn_dim=FFN, decoder_ffn_dim=32, max_position_embeddings=POSITIONS, pad_token_id=0, bos_token_id=2, eos_token_id=1,
            decoder_start_token_id=1, forced_eos_token_id=1)
T5 = dict(vocab_size=VOCAB, d_model=WIDTH, d_kv=6, d_ff=FFN, num_layers=3, num_decoder_layers=2, num_heads=HEADS, pad_token_id=0, eos_token_id=1,
          relative_attention_num_buckets=8, relative_attention_max_distance=20, decoder_start_token_id=0, n_positions=POSITIONS)
# name: (class, config)
CASES = {
    "t5": ("T5", T5),
    "flan-t5": ("T5", dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    "bart": ("Bart", dict(BART, forced_bos_token_id=2)),
    "marian": ("Marian", dict(BART, scale_embedding=True, activation_function="swish", decoder_start_token_id=0, bad_words_ids=[[0]],
                              static_position_embeddings=True)),
}
# What generate() is asked for; every model has its own of generation_config.json besides.
RUNS = {
    "greedy": dict(max_new_tokens=14),
    "greedy_no_repeat": dict(max_new_tokens=14, no_repeat_ngram_size=2, repetition_penalty=1.3),
    "min_new": dict(max_new_tokens=9, min_new_tokens=6),
    "beams": dict(max_new_tokens=12, num_beams=3),
    "beams_early": dict(max_new_tokens=12, num_beams=4, num_return_sequences=2, length_penalty=1.6, early_stopping=True),
    "beams_short": dict(max_new_tokens=10, num_beams=2, length_penalty=-0.5, no_repeat_ngram_size=3),
}


def make_tokenizer():
    """A tokenizer of pieces for all cases, which ends its texts with </s> as T5, and Marian's do."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    special = ["<pad>", "</s>", "<s>", "<unk>"]
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=VOCAB, special_tokens=special, unk_token="<unk>", show_progress=False)
    words = [text for text in TEXTS for _ in range(3)] + ["translate summarize boats birds bridges sang waited homes dark below"]
    tokenizer.train_from_iterator(words, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    assert tokenizer.get_vocab_size() <= VOCAB
    return tokenizer


def randomize(model, seed):
    """Weights that make attentions sharp and sequences that do not stand still."""
    generator = torch.Generator().manual_seed(seed)
    seen = set()
    for name, weight in list(model.named_parameters()) + [(n, b) for n, b in model.named_buffers() if n == "final_logits_bias"]:
        if id(weight) in seen or "embed_positions" in name and not weight.requires_grad:
            continue
        seen.add(id(weight))
        noise = torch.randn(weight.shape, generator=generator)
        if name == "final_logits_bias":
            weight.data = 0.3 * noise
        elif weight.dim() == 1:
            weight.data = (1 if "norm" in name.lower() and name.endswith("weight") else 0) + 0.2 * noise
        elif "shared" in name or "embed" in name or "relative" in name:
            weight.data = noise
        else:
            weight.data = noise * 1.2 / weight.shape[1] ** 0.5


def run(model, dtype, ids, decoder_ids):
    model = model.to(dtype).eval()
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([decoder_ids]), output_hidden_states=True, output_attentions=True,
                    use_cache=False)
    found = {"logits": out.logits[0], "encoder_last_hidden_state": out.encoder_last_hidden_state[0]}
    for name in ("encoder_hidden_states", "decoder_hidden_states", "encoder_attentions", "decoder_attentions", "cross_attentions"):
        found.update({f"{name}.{i}": x[0] for i, x in enumerate(getattr(out, name)) if x.dim() < 5 and not (name == "encoder_attentions" and hasattr(model.config, "attention_window"))})  # LongT5's are of blocks, LED's of windows
    return {name: x.double() for name, x in found.items()}


def generate(model, dtype, ids, options):
    model = model.to(dtype).eval()
    with torch.no_grad():
        out = model.generate(torch.tensor([ids]), do_sample=False, **options)
    rows = [row[1:].tolist() for row in out]  # without decoder_start_token_id
    for i, row in enumerate(rows):  # padding behind the end
        if 1 in row:
            rows[i] = row[:row.index(1) + 1]
    return rows


def save_model(folder, kind, words, seed):
    """A random model of that kind, saved in folder."""
    folder.mkdir(parents=True)
    config = getattr(transformers, f"{kind}Config")(**words)
    config.architectures = ["T5ForConditionalGeneration" if kind == "T5" else "BartForConditionalGeneration" if kind == "Bart" else "MarianMTModel"]
    config._attn_implementation = "eager"
    model = getattr(transformers, config.architectures[0])(config)
    if words.get("tie_word_embeddings") is False:
        model.lm_head = torch.nn.Linear(words["d_model"], VOCAB, bias=False)
        model._tied_weights_keys = {}
    randomize(model, seed)
    state = {key: value.clone() for key, value in model.state_dict().items() if "embed_tokens" not in key and (key != "lm_head.weight" or "tie_word_embeddings" in words)
             and not (kind == "Marian" and "embed_positions" in key)}
    if kind == "Marian":
        state["model.shared.weight"] = model.model.shared.weight.detach().clone() if hasattr(model.model, "shared") else model.get_input_embeddings().weight.detach().clone()
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    saved = json.loads(config.to_json_string(use_diff=False))
    usual = {"architectures", "model_type", "is_encoder_decoder", "activation_function", "feed_forward_proj", "layer_norm_epsilon", "scale_embedding", *words}
    common.write_json(folder / "config.json", {**{key: saved[key] for key in sorted(usual) if key in saved}, **words})
    own = {key: words[key] for key in ("decoder_start_token_id", "eos_token_id", "pad_token_id", "bos_token_id", "forced_eos_token_id", "forced_bos_token_id",
                                       "bad_words_ids") if key in words}
    common.write_json(folder / "generation_config.json", own)
    model.generation_config = transformers.GenerationConfig(**own)
    return model


def save_case(folder, kind, words, tokenizer, seed, make_model=save_model):
    model = make_model(folder, kind, words, seed)
    data, inputs, offset = [], [], 0
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        decoder_ids = [words["decoder_start_token_id"], *DECODER]
        exact, single = (run(model, dtype, ids, decoder_ids) if len(inputs) < 2 else {} for dtype in (torch.float64, torch.float32))
        tensors = {}
        for key, value in exact.items():
            diff = float((value - single[key]).abs().max())
            tensors[key] = {"offset": offset, "shape": list(value.shape), "max_abs": round(float(value.abs().max()), 4), "f32_diff": float(f"{diff:.3g}")}
            data.append(value.to(torch.float32).contiguous().numpy().astype("<f4").tobytes())
            offset += value.numel()
        generated = {}
        for run_name, options in RUNS.items():
            rows = generate(model, torch.float64, ids, options)
            assert rows == generate(model, torch.float32, ids, options), (name, run_name)
            generated[run_name] = {"tokens": rows, "texts": [tokenizer.decode(row, skip_special_tokens=True) for row in rows]}
        inputs.append({"text": text, "input_ids": ids, "decoder_input_ids": decoder_ids, "tensors": tensors, "generated": generated})
    tokenizer.save(str(folder / "tokenizer.json"))
    common.write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": POSITIONS, "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"})
    common.write_json(folder / "expected.json", {"runs": RUNS, "inputs": inputs}, depth=4)
    common.write_bytes(folder / "expected.f32", b"".join(data))


def make(_options):
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    tokenizer = make_tokenizer()
    for i, (name, (kind, words)) in enumerate(CASES.items()):
        save_case(FOLDER / name, kind, words, tokenizer, 20 + i)
    common.write_json(FOLDER / "cases.json", list(CASES))
    common.update_manifest("seq2seq", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy"))
