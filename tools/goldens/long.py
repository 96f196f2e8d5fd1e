"""long/: a tiny random model of every architecture with 130 positions, and inputs longer than two query blocks of attention."""
import shutil

import torch
import transformers

from . import architectures, common, decoders, seq2seq

FOLDER = common.OUT / "long"
LENGTHS = (130, 1, 47, 48, 49, 113)  # attention processes queries in blocks of 48
HIDDEN, HEADS, FFN, POSITIONS = 32, 4, 48, 132  # RoBERTa counts positions from 2
ROWS = (0, 1, 46, 47, 48, 49, 94, 95, 96, 97, 128, 129)  # both sides of each block boundary
ATTENTION_ROWS = (47, 48, 95, 96, 129)
USUAL = dict(vocab_size=100, hidden_size=HIDDEN, num_attention_heads=HEADS, intermediate_size=FFN, max_position_embeddings=POSITIONS)
DISTIL = dict(vocab_size=100, dim=HIDDEN, n_heads=HEADS, hidden_dim=FFN, max_position_embeddings=POSITIONS)
# Changes to the case of that name in architectures/. Architectures that differ only in names are left out.
ENCODERS = {
    "distilbert": DISTIL, "roberta": USUAL, "electra": USUAL, "albert": USUAL, "mpnet": USUAL, "nomic-bert": USUAL, "gte": USUAL,
    "modernbert": dict(USUAL, local_attention=38),
    "jina-bert": USUAL,
    "deberta-v3": dict(USUAL, position_buckets=16),
    "deberta-v2": USUAL,
}
LLAMA3 = dict(decoders.LLAMA3, original_max_position_embeddings=40)
DECODERS = {
    "gpt2": dict(n_embd=HIDDEN, n_head=HEADS, n_inner=FFN, n_positions=POSITIONS),
    "llama": dict(rope_parameters=LLAMA3),
    "llama-linear": {},
    "qwen2": dict(sliding_window=50),
    "qwen3": {},
    "mistral": dict(sliding_window=37),
    "gemma2": dict(sliding_window=50),
    "gemma3": dict(num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"], sliding_window=37),
}
SEARCHES = [dict(), dict(num_beams=3), dict(no_repeat_ngram_size=2)]
NEW_TOKENS, PROMPT = 16, 113
T5 = dict(num_layers=2, d_ff=24, relative_attention_num_buckets=16, relative_attention_max_distance=60, n_positions=POSITIONS)
BART = dict(decoder_layers=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=POSITIONS)
SEQ2SEQ = {"t5": T5, "flan-t5": T5, "bart": BART, "marian": BART}
RUNS = {"greedy": dict(max_new_tokens=10), "beams": dict(max_new_tokens=10, num_beams=3)}


def make_ids(length, vocab):
    """Ids from 3 on, so no special tokens."""
    return [(7 * i * i + 3 * i + length) % (vocab - 3) + 3 for i in range(length)]


class Tensors:
    """Collects expected.f32. Most tensors are stored in part: the rows (of the last axis but one) that about["rows"] lists."""

    def __init__(self):
        self.data, self.offset = [], 0

    def add(self, exact, single, rows):
        diff = float((exact.double() - single.double()).abs().max())
        about = {"offset": self.offset, "max_abs": round(float(exact.abs().max()), 4), "f32_diff": float(f"{diff:.3g}")}
        if rows is not None:
            about["rows"] = [row for row in rows if row < exact.shape[-2]]
            exact = exact[..., about["rows"], :]
        about["shape"] = list(exact.shape)
        self.data.append(exact.to(torch.float32).contiguous().numpy().astype("<f4").tobytes())
        self.offset += exact.numel()
        return about

    def add_all(self, exact, single, last):
        """last: the tensors stored for every input; the first of them is stored whole for the longest input. All others are stored for that input only."""
        longest = max(x.shape[-2] for x in exact.values() if x.dim() > 1) == LENGTHS[0]
        about = {}
        for name, value in exact.items():
            if not longest and name not in last:
                continue
            rows = ATTENTION_ROWS if "attentions" in name else ROWS
            whole = value.dim() < 2 or longest and name == last[0]
            about[name] = self.add(value, single[name], None if whole else rows)
        return about

    def save(self, folder):
        common.write_bytes(folder / "expected.f32", b"".join(self.data))


def save_encoder(folder, kind, config, extra):
    model = architectures.save_model(folder, kind, config, extra)
    tensors, inputs = Tensors(), []
    layers = config.get("num_hidden_layers", config.get("n_layers"))
    for length in LENGTHS:
        ids = make_ids(length, 100)
        ids[length // 2] = 1  # RoBERTa's padding, which takes no position
        types = [int(3 * i >= length) for i in range(length)]
        exact, single = (architectures.run(model, dtype, ids, types) for dtype in (torch.float64, torch.float32))
        inputs.append({"input_ids": ids, "token_type_ids": types, "tensors": tensors.add_all(exact, single, [f"hidden_states.{layers}", "pooler_output"])})
    common.write_json(folder / "expected.json", {"inputs": inputs}, depth=4)
    tensors.save(folder)


def save_decoder(name, folder, kind, config):
    model = decoders.save_model(folder, kind, config)
    tensors, inputs = Tensors(), []
    for length in LENGTHS:
        ids = make_ids(length, decoders.VOCAB)
        exact, single = (decoders.run(model, dtype, ids) for dtype in (torch.float64, torch.float32))
        inputs.append({"input_ids": ids, "tensors": tensors.add_all(exact, single, ["hidden_states.2", "logits"])})
    rows = []
    for options in SEARCHES:
        ids = [decoders.BOS, *make_ids(PROMPT - 1, decoders.VOCAB)]
        exact, single = decoders.search(model, ids, options, NEW_TOKENS)
        assert exact == single, (name, options)
        rows.append({"input_ids": ids, "options": options, "max_new_tokens": NEW_TOKENS, "tokens": exact})
    common.write_json(folder / "expected.json", {"inputs": inputs, "searches": rows}, depth=4)
    tensors.save(folder)


def save_seq2seq(name, folder, kind, words, seed):
    model = seq2seq.save_model(folder, kind, words, seed)
    tensors, inputs = Tensors(), []
    last = ["encoder_last_hidden_state", "decoder_hidden_states.2", "logits"]
    for length in LENGTHS:
        ids, decoder_ids = make_ids(length, seq2seq.VOCAB), [words["decoder_start_token_id"], *make_ids(length - 1, seq2seq.VOCAB)]
        exact, single = (seq2seq.run(model, dtype, ids, decoder_ids) for dtype in (torch.float64, torch.float32))
        exact = {key: value for key, value in exact.items() if not key.endswith("attentions.1")}  # keeps the folder small
        generated = {}
        for run_name, options in RUNS.items():
            rows = seq2seq.generate(model, torch.float64, ids, options)
            assert rows == seq2seq.generate(model, torch.float32, ids, options), (name, run_name)
            generated[run_name] = {"tokens": rows}
        inputs.append({"input_ids": ids, "decoder_input_ids": decoder_ids, "tensors": tensors.add_all(exact, single, last), "generated": generated})
    for file in ("tokenizer.json", "tokenizer_config.json"):
        common.write_bytes(folder / file, (seq2seq.FOLDER / name / file).read_bytes())
    common.write_json(folder / "expected.json", {"runs": RUNS, "inputs": inputs}, depth=4)
    tensors.save(folder)


def make(_options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    encoders = {"bert": ("Bert", USUAL), **architectures.CASES}
    for name, changes in {"bert": {"num_hidden_layers": 2}, **ENCODERS}.items():
        kind, config, *extra = encoders[name]
        save_encoder(FOLDER / "encoders" / name, kind, {**config, **changes}, extra[0] if extra else {})
    common.write_json(FOLDER / "encoders" / "cases.json", ["bert", *ENCODERS])
    usual = dict(hidden_size=HIDDEN, intermediate_size=FFN, max_position_embeddings=POSITIONS)
    for name, changes in DECODERS.items():
        kind, config = decoders.CASES[name]
        words = {**config.to_dict(), **(usual if name != "gpt2" else {}), **changes}
        save_decoder(name, FOLDER / "decoders" / name, kind, type(config)(**words))
    common.write_json(FOLDER / "decoders" / "cases.json", list(DECODERS))
    for i, (name, changes) in enumerate(SEQ2SEQ.items()):
        kind, words = seq2seq.CASES[name]
        save_seq2seq(name, FOLDER / "seq2seq" / name, kind, {**words, **changes}, 40 + i)
    common.write_json(FOLDER / "seq2seq" / "cases.json", list(SEQ2SEQ))
    common.update_manifest("long", common.versions("torch", "transformers", "safetensors", "numpy", "tokenizers"))
