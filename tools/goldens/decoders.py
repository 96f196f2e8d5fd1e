"""decoders/: a tiny random model of every decoder architecture: logits, hidden states, attentions, and generate()'s output."""
import json
import re
import shutil

import gguf
import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, processors
from transformers import LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

from . import common

LETTERS = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM0123456789.,!?\n\u00e9"
VOCAB = 3 + len(LETTERS)
BOS, EOS = 1, 2
USUAL = dict(vocab_size=VOCAB, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=40, max_position_embeddings=96, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=0)
LLAMA3 = dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
LLAMA, QWEN2, QWEN3 = transformers.LlamaForCausalLM, transformers.Qwen2ForCausalLM, transformers.Qwen3ForCausalLM
CASES = {
    "gpt2": (transformers.GPT2LMHeadModel, transformers.GPT2Config(vocab_size=VOCAB, n_embd=24, n_layer=2, n_head=4, n_positions=96,
                                                                   bos_token_id=BOS, eos_token_id=EOS)),
    "llama": (LLAMA, LlamaConfig(**USUAL, rope_parameters=LLAMA3, attention_bias=True, mlp_bias=True)),
    "llama-linear": (LLAMA, LlamaConfig(**{**USUAL, "num_key_value_heads": 1},
                                        rope_parameters=dict(rope_type="linear", rope_theta=1000.0, factor=2.0))),
    "smollm": (LLAMA, LlamaConfig(**{**USUAL, "num_attention_heads": 3, "num_key_value_heads": 3}, tie_word_embeddings=True)),
    "qwen2": (QWEN2, Qwen2Config(**USUAL, tie_word_embeddings=True, use_sliding_window=True, sliding_window=7, max_window_layers=1)),
    "qwen3": (QWEN3, Qwen3Config(**USUAL, head_dim=10)),
    "mistral": (transformers.MistralForCausalLM, MistralConfig(**USUAL, sliding_window=5)),
    "gemma": (transformers.GemmaForCausalLM, transformers.GemmaConfig(**USUAL, head_dim=10)),
    "gemma2": (transformers.Gemma2ForCausalLM, transformers.Gemma2Config(**USUAL, head_dim=10, query_pre_attn_scalar=20, sliding_window=7,
                                                                         attn_logit_softcapping=5.0, final_logit_softcapping=8.0)),
    # The sixth layer is the first one that attends to everything.
    "gemma3": (transformers.Gemma3ForCausalLM, transformers.Gemma3TextConfig(**{**USUAL, "num_hidden_layers": 6}, head_dim=10, sliding_window=7)),
}
INPUTS = [[BOS, 7, 19, 4, 30, 11], [BOS] + [(7 * i * i + 3 * i) % 53 + 4 for i in range(29)] + [3]]
# Options of generate(), each beside max_new_tokens.
SEARCHES = [dict(), dict(repetition_penalty=1.3), dict(no_repeat_ngram_size=2), dict(min_new_tokens=18),
            dict(num_beams=4), dict(num_beams=3, num_return_sequences=3, length_penalty=2.0),
            dict(num_beams=3, early_stopping=True), dict(num_beams=3, early_stopping="never", length_penalty=-0.5),
            dict(num_beams=2, no_repeat_ngram_size=2, repetition_penalty=1.2), dict(bad_words_ids=[[9], [5, 8]]),
            dict(num_beams=3, eos_token_id=[2, 9, 20]), dict(forced_eos_token_id=2)]
TEMPLATE = ("{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
            "{% if add_generation_prompt %}assistant: {% endif %}")


def make_tokenizer(folder):
    """Characters, each a token."""
    words = ["<unk>", "<s>", "</s>"] + list(LETTERS)
    tokenizer = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[], unk_token="<unk>"))
    tokenizer.add_special_tokens(words[:3])
    tokenizer.decoder = decoders.Fuse()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BOS)])
    tokenizer.save(str(folder / "tokenizer.json"))
    common.write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>",
                                                         "eos_token": "</s>", "chat_template": TEMPLATE})


def run(model, dtype, ids):
    model = model.to(dtype).eval()
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), output_hidden_states=True, output_attentions=True)
    tensors = {"logits": out.logits[0]}
    tensors.update({f"hidden_states.{i}": x[0] for i, x in enumerate(out.hidden_states)})
    kinds = getattr(model.config.get_text_config(), "layer_types", None) or ["full_attention"] * len(out.attentions)
    with_attention = [i for i, kind in enumerate(kinds) if kind not in ("conv", "linear_attention")]
    tensors.update({f"attentions.{i}": x[0] for i, x in zip(with_attention, out.attentions, strict=True)})
    return tensors


def search(model, ids, options, max_new_tokens):
    """The sequences generate() returns for ids, in f64 and in f32."""
    made = []
    for dtype in (torch.float64, torch.float32):
        with torch.no_grad():
            out = model.to(dtype).generate(torch.tensor([ids]), do_sample=False, max_new_tokens=max_new_tokens,
                                           **{"eos_token_id": EOS, "pad_token_id": 0, **options})
        ends = options.get("eos_token_id", EOS)
        ends = ends if isinstance(ends, list) else [ends]
        rows = [row[len(ids):] for row in out.tolist()]
        # What follows the end of a sequence only fills the table.
        made.append([row[:min([row.index(end) + 1 for end in ends if end in row], default=None)] for row in rows])
    return made


def searches(model, calls, given=INPUTS):
    """What generate() makes, as far as rounding does not decide it: f32 and f64 agree."""
    rows = []
    for ids in given:
        for options in calls:
            exact, single = search(model, ids, options, 24)
            if exact == single:
                rows.append({"input_ids": ids, "options": options, "tokens": single})
    return rows


def save_model(folder, kind, config):
    """A random model of that kind, saved in folder with a tokenizer."""
    config._attn_implementation = "eager"
    model = kind(config)
    for name, weight in model.named_parameters():
        # Far from uniform, so that tokens are chosen clearly and sequences end now and then.
        spread = 0.3 if weight.dim() > 1 else 0.2
        mean = 1.0 if "norm" in name or ".ln_" in name and name.endswith("weight") else 0.0
        # States that keep most of what they have read.
        torch.nn.init.normal_(weight, mean=-2.0 if name.endswith("A_log") else mean, std=spread)
    model.get_input_embeddings().weight.data *= 3
    folder.mkdir(parents=True)
    model.generation_config = transformers.GenerationConfig(bos_token_id=BOS, eos_token_id=EOS, pad_token_id=0)
    model.save_pretrained(folder)
    words = json.loads((folder / "config.json").read_text())
    common.write_json(folder / "config.json", words)
    make_tokenizer(folder)
    return model


def save_case(folder, kind, config, calls=SEARCHES, given=INPUTS):
    model = save_model(folder, kind, config)
    data, inputs, offset = [], [], 0
    for ids in given:
        exact, single = run(model, torch.float64, ids), run(model, torch.float32, ids)
        tensors = {}
        for name, value in exact.items():
            diff = float((value.double() - single[name].double()).abs().max())
            tensors[name] = {"offset": offset, "shape": list(value.shape), "max_abs": round(float(value.abs().max()), 4),
                             "f32_diff": float(f"{diff:.3g}")}
            data.append(value.to(torch.float32).contiguous().numpy().astype("<f4").tobytes())
            offset += value.numel()
        inputs.append({"input_ids": ids, "tensors": tensors})
    rows = searches(model, calls, given)
    print(folder.name, len(rows), "of", len(given) * len(calls), "searches,",
          sum(len(tokens) < 24 for row in rows for tokens in row["tokens"]), "sequences that end early")
    common.write_json(folder / "expected.json", {"inputs": inputs, "searches": rows}, depth=4)
    common.write_bytes(folder / "expected.f32", b"".join(data))


GGUF_NAMES = {
    "gpt2": {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm", "attn.c_attn": "attn_qkv",
             "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
    "llama": {"embed_tokens": "token_embd", "norm": "output_norm", "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q",
              "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.q_norm": "attn_q_norm",
              "self_attn.k_norm": "attn_k_norm", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
              "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "lm_head": "output"},
}
GGUF_NAMES["gemma"] = GGUF_NAMES["llama"]
GGUF_NAMES["gemma3"] = {**GGUF_NAMES["llama"], "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                        "post_feedforward_layernorm": "post_ffw_norm"}


def save_gguf(folder, architecture):
    """model.gguf: the same weights as llama.cpp's converter lays them."""
    config = json.loads((folder / "config.json").read_text())
    get = lambda *names: next(config[name] for name in names if config.get(name) is not None)
    writer = gguf.GGUFWriter(str(folder / "model.gguf"), architecture)
    heads = get("n_head", "num_attention_heads")
    writer.add_context_length(get("n_positions", "max_position_embeddings"))
    writer.add_embedding_length(get("n_embd", "hidden_size"))
    writer.add_block_count(get("n_layer", "num_hidden_layers"))
    writer.add_head_count(heads)
    if architecture == "gpt2":
        writer.add_feed_forward_length(4 * config["n_embd"])
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    else:
        writer.add_feed_forward_length(config["intermediate_size"])
        writer.add_head_count_kv(config["num_key_value_heads"])
        writer.add_key_length(config["head_dim"])
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
        rope = config["rope_parameters"]
        writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
    if architecture == "gemma3":
        writer.add_sliding_window(config["sliding_window"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([f"t{i}" for i in range(VOCAB)])
    writer.add_token_merges([])
    writer.add_eos_token_id(EOS)
    names = GGUF_NAMES.get(architecture, GGUF_NAMES["llama"])
    for name, tensor in load_file(folder / "model.safetensors").items():
        stem, _, ending = name.removeprefix("transformer.").removeprefix("model.").rpartition(".")
        found = re.fullmatch(r"(?:h|layers)\.(\d+)\.(.*)", stem)
        stem = f"blk.{found[1]}.{names[found[2]]}" if found else names[stem]
        value = tensor.numpy()
        if architecture == "gpt2" and ending == "weight" and re.search("attn_qkv|attn_output|ffn", stem) and value.ndim == 2:
            value = value.T
        if architecture == "llama" and re.search(r"attn_[qk]$", stem):
            count = heads if stem.endswith("q") else config["num_key_value_heads"]
            value = value.reshape(count, 2, -1, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)
        if architecture.startswith("gemma") and stem.endswith("norm"):
            value = value + 1
        writer.add_tensor(f"{stem}.{ending}", value.copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


REAL_PROMPTS = ["", "Once upon a time", "Lily and Tom went to the park.", "The cat"]
REAL_SEARCHES = [dict(), dict(num_beams=4), dict(num_beams=3, num_return_sequences=2, no_repeat_ngram_size=3),
                 dict(repetition_penalty=1.2), dict(num_beams=2, early_stopping=True, length_penalty=0.5)]


def save_real(folder):
    """stories260K.json: what generate() makes with a checkpoint that was really trained (not here; tests skip without it)."""
    model_folder = common.DATA / "weights" / "stories260K-llama"
    model = LLAMA.from_pretrained(model_folder).eval()
    tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    rows = []
    for prompt in REAL_PROMPTS:
        ids = [BOS] + tokenizer.encode(prompt, add_special_tokens=False).ids
        for options in REAL_SEARCHES:
            with torch.no_grad():
                out = model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=48, eos_token_id=EOS, pad_token_id=0, **options)
            tokens = [row[len(ids):] for row in out.tolist()]
            tokens = [row[:row.index(EOS) + 1] if EOS in row else row for row in tokens]
            rows.append({"prompt": prompt, "input_ids": ids, "options": options, "tokens": tokens})
    common.write_json(folder / "stories260K.json", rows, depth=1)


def make(_options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    folder = common.OUT / "decoders"
    if folder.exists():
        shutil.rmtree(folder)
    for name, (kind, config) in CASES.items():
        save_case(folder / name, kind, config)
    for name, architecture in (("gpt2", "gpt2"), ("smollm", "llama"), ("qwen3", "qwen3"), ("gemma", "gemma"), ("gemma3", "gemma3")):
        save_gguf(folder / name, architecture)
    common.write_json(folder / "cases.json", list(CASES))
    if (common.DATA / "weights" / "stories260K-llama").exists():
        save_real(folder)
    common.update_manifest("decoders", common.versions("torch", "transformers", "safetensors", "numpy", "tokenizers", "gguf"))
