"""tests/goldens/bert-tiny: a random BERT in hub layout, with every intermediate tensor and every pooling."""
import collections
import json
import pathlib
import shutil
import tempfile

import numpy
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from tokenizers import normalizers, pre_tokenizers
from transformers.models.bert import modeling_bert

from . import common

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCAB, HIDDEN, LAYERS, HEADS, FFN, POSITIONS, MAX_TOKENS = 512, 32, 2, 4, 64, 64, 48
PROMPTS = {"query": "query: ", "document": "passage: "}
MODES = ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
POOLED_TEXTS = ["the", "A small boat waits below the old bridge.", "How do birds find their way home in the dark, and who taught them to sing?"]
TEXTS = POOLED_TEXTS + [
    "", "?", "query", "The river runs under the bridge.", "Under the bridge, the river runs!", "We counted 1234 boats in 56 days.",
    "Caf\u00e9 na\u00efve r\u00e9sum\u00e9 \u00c5ngstr\u00f6m", "\u6771\u4eac\u306e\u5ddd and \u5317\u4eac", "\uc11c\uc6b8\uc758 \uac15", "stra\u00dfe \u00f8re \u00e6on",
    "unbelievably readable rereading", "\u0440\u0435\u043a\u0430 \u0438 \u043c\u043e\u0441\u0442", "x" * 120, "\U0001f600 smile", "[MASK] the [SEP] river", "tabs\tand\nlines",
    "one two three four five six seven eight nine ten " * 8, "the " * 46, "the " * 47,
]
TAP_INPUTS = [
    ("single", "the", None),
    ("sentence", "A small boat waits below the old bridge.", None),
    ("pair", "Who sings?", "The birds, unbelievably, 42 times."),
    ("long", "How do birds find their way home in the dark, and who taught them to sing? The wind, the rivers.", None),
]


def corpus():
    """A few hundred short lines of our own, made from parts, so that the trained vocabulary has words, subwords and several scripts."""
    nouns = "river bridge boat bird wind star night home way dark song water stone child garden morning letter road city train".split()
    verbs = "runs waits sings finds counts reads writes opens follows carries answers keeps teaches".split()
    adjectives = "old small dark quiet bright readable unbelievable careful hopeful endless northern".split()
    other = ["\u6771\u4eac \u5317\u4eac \u5ddd \u6c34 \u5c71 \u65e5 \u672c \u4eba", "\uc11c\uc6b8 \uac15 \uc0ac\ub78c \ubb3c", "\u0440\u0435\u043a\u0430 \u043c\u043e\u0441\u0442 \u0438 \u0432\u043e\u0434\u0430",
             "\u03c0\u03bf\u03c4\u03b1\u03bc\u03cc\u03c2 \u03ba\u03b1\u03b9 \u03bd\u03b5\u03c1\u03cc", "stra\u00dfe \u00f8re \u00e6on \u0111\u00e1 \u0142\u00f3d\u017a", "caf\u00e9 na\u00efve r\u00e9sum\u00e9", "\u306e \u306f \u3092 \u30ab\u30ef",
             "query passage search document question answer", "0 1 2 3 4 5 6 7 8 9 10 42 100 1234 2026", ". , ; : ! ? ' \" ( ) - / & % $ # @ * + = < > _ ~ ^ | \\ { } [ ] `"]
    lines = []
    for i, adjective in enumerate(adjectives):
        for j, noun in enumerate(nouns):
            verb = verbs[(i + j) % len(verbs)]
            lines.append(f"the {adjective} {noun} {verb} under a {nouns[(i * 7 + j * 3) % len(nouns)]}, and we read {noun}s again.")
    lines += [f"{a}ly re{v} un{v} {v[:-1]}ing {v[:-1]}er" for a in adjectives for v in verbs]
    return lines + other * 12 + ["how do they find their way home in the dark, and who taught them to sing?", "nobody knows; it may help a little"] * 4


def train_vocabulary():
    """WordPiece by merging the commonest pair, ties in alphabetical order (the library's own trainer breaks ties by chance)."""
    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    counts = collections.Counter(word for line in corpus() for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(line)))
    words = {word: [word[0]] + ["##" + c for c in word[1:]] for word in sorted(counts)}
    vocab = SPECIALS + sorted({piece for pieces in words.values() for piece in pieces})
    while len(vocab) < VOCAB:
        pairs = collections.Counter()
        for word, pieces in words.items():
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] += counts[word]
        left, right = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merged = left + right[2:]
        if merged not in vocab:
            vocab.append(merged)
        for pieces in words.values():
            i = 0
            while i + 1 < len(pieces):
                if (pieces[i], pieces[i + 1]) == (left, right):
                    pieces[i:i + 2] = [merged]
                i += 1
    return {piece: i for i, piece in enumerate(vocab)}


def tokenizer():
    return transformers.BertTokenizer(vocab=train_vocabulary(), model_max_length=POSITIONS)


def random_model(vocab_size):
    config = transformers.BertConfig(vocab_size=vocab_size, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                                     intermediate_size=FFN, max_position_embeddings=POSITIONS)
    model = transformers.BertModel(config)
    rng = numpy.random.default_rng(2)
    with torch.no_grad():
        for name, weight in sorted(model.state_dict().items()):
            shape = tuple(weight.shape)
            noise = rng.standard_normal(shape)
            if "LayerNorm.weight" in name:
                values = 1 + 0.25 * noise
            elif "embeddings" in name and len(shape) == 2:
                values = 0.5 * noise
            elif len(shape) == 2:
                gain = 1.4 if ".query." in name or ".key." in name else 1.2
                values = gain / shape[1] ** 0.5 * noise
            else:
                values = 0.2 * noise
            weight.copy_(torch.from_numpy(values.astype(numpy.float32)))
    return model.eval()


def save_models(folder):
    tok = tokenizer()
    model = random_model(len(tok))
    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)
        tok.save_pretrained(plain)
        body = Transformer(plain, max_seq_length=MAX_TOKENS)
        sentence = SentenceTransformer(modules=[body, Pooling(HIDDEN, pooling_mode="mean"), Normalize()], prompts=PROMPTS, device="cpu")
        sentence.save_pretrained(str(folder / "model"), create_model_card=False)
    for dtype in ("float16", "bfloat16"):
        short = dtype.replace("float", "f")
        half = random_model(len(tok)).to(getattr(torch, dtype))
        half.save_pretrained(folder / f"model-{short}")
    half = random_model(len(tok)).to(torch.float16)
    half.save_pretrained(folder / "model-sharded", max_shard_size="30KB")
    assert len(list((folder / "model-sharded").glob("*.safetensors"))) >= 2
    whole, shards = load_file(folder / "model-f16" / "model.safetensors"), {}
    for shard in (folder / "model-sharded").glob("*.safetensors"):
        shards.update(load_file(shard))
    assert whole.keys() == shards.keys() and all(torch.equal(whole[k], shards[k]) for k in whole)
    assert json.loads((folder / "model" / "config.json").read_text())["vocab_size"] == len(tok)
    # The files as repositories made before 2026 carry them: the same model in the older words.
    old = folder / "legacy"
    names = ["Transformer", "Pooling", "Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    common.write_json(old / "modules.json", [{"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{n}"}
                                             for i, (n, p) in enumerate(zip(names, paths))])
    legacy_mode = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
                   "weightedmean": "weightedmean_tokens", "lasttoken": "lasttoken"}
    common.write_json(old / "1_Pooling" / "config.json", {"word_embedding_dimension": HIDDEN,
                      **{f"pooling_mode_{v}": k == "mean" for k, v in legacy_mode.items()}, "include_prompt": True})
    common.write_json(old / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS, "do_lower_case": False})
    common.write_json(old / "config_sentence_transformers.json", {
        "__version__": {"sentence_transformers": "3.0.0", "transformers": "4.41.0", "pytorch": "2.3.0"},
        "prompts": PROMPTS, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    common.write_json(old / "special_tokens_map.json", {"cls_token": "[CLS]", "mask_token": "[MASK]", "pad_token": "[PAD]",
                                                        "sep_token": "[SEP]", "unk_token": "[UNK]"})
    common.write_json(old / "tokenizer_config.json", {"do_lower_case": True, "unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]",
                      "cls_token": "[CLS]", "mask_token": "[MASK]", "tokenize_chinese_chars": True, "strip_accents": None,
                      "model_max_length": POSITIONS, "tokenizer_class": "BertTokenizer"})
    by_id = sorted(tok.get_vocab().items(), key=lambda item: item[1])
    common.write_bytes(old / "vocab.txt", "".join(word + "\n" for word, _ in by_id).encode("utf-8"))
    return tok


class Taps:
    """Records every intermediate tensor of one forward pass of BertModel, under the names that wattn's own tap hook uses."""

    def __init__(self, model):
        self.found, self.hooks, self.layer = {}, [], -1
        self.put(model.embeddings, "embeddings.output")
        for i, layer in enumerate(model.encoder.layer):
            name = f"layer.{i}"
            self.hooks.append(layer.register_forward_pre_hook(lambda *_, i=i: setattr(self, "layer", i)))
            for role in ("query", "key", "value"):
                self.put(getattr(layer.attention.self, role), f"{name}.attention.{role}")
            self.put(layer.attention.output, f"{name}.attention.output")
            self.put(layer.intermediate, f"{name}.intermediate")
            self.put(layer.output, f"{name}.output")
        self.put(model.pooler, "pooler_output")

    def put(self, module, name):
        def hook(_module, _inputs, output):
            self.found[name] = output[0].clone()
        self.hooks.append(module.register_forward_hook(hook))

    def attention(self, module, query, key, value, attention_mask, scaling=None, **kwargs):
        """modeling_bert.eager_attention_forward, watched."""
        context, probs = self.original(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
        name = f"layer.{self.layer}.attention"
        self.found[f"{name}.scores"] = (torch.matmul(query, key.transpose(2, 3)) * scaling)[0].clone()
        self.found[f"{name}.probs"] = probs[0].clone()
        self.found[f"{name}.context"] = context[0].reshape(context.shape[1], -1).clone()
        return context, probs

    def __enter__(self):
        self.original = modeling_bert.eager_attention_forward
        modeling_bert.eager_attention_forward = self.attention
        return self

    def __exit__(self, *_):
        modeling_bert.eager_attention_forward = self.original
        for hook in self.hooks:
            hook.remove()


def tap_names():
    names = ["embeddings.output"]
    for i in range(LAYERS):
        names += [f"layer.{i}.attention.{x}" for x in ("query", "key", "value", "scores", "probs", "context", "output")]
        names += [f"layer.{i}.intermediate", f"layer.{i}.output"]
    return names + ["pooler_output"]


def run_taps(folder, dtype, batch):
    model = transformers.BertModel.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()
    with torch.no_grad(), Taps(model) as taps:
        model(**batch)
    return taps.found


def save_taps(folder, tok):
    inputs = []
    for name, text, pair in TAP_INPUTS:
        batch = tok(text, pair, return_tensors="pt", truncation=True, max_length=MAX_TOKENS)
        exact, single = run_taps(folder / "model", torch.float64, batch), run_taps(folder / "model", torch.float32, batch)
        data, taps = [], {}
        offset = 0
        for tap in tap_names():
            rounded = exact[tap].to(torch.float32)
            taps[tap] = {"offset": offset, "shape": list(rounded.shape), "max_abs": round(float(exact[tap].abs().max()), 4),
                         "f32_diff": float(f"{float((exact[tap] - single[tap].double()).abs().max()):.3g}")}
            data.append(rounded.contiguous().numpy().astype("<f4").tobytes())
            offset += rounded.numel()
        common.write_bytes(folder / f"taps-{name}.f32", b"".join(data))
        ids = batch["input_ids"][0].tolist()
        inputs.append({"name": name, "text": text, "text_pair": pair, "input_ids": ids, "token_type_ids": batch["token_type_ids"][0].tolist(),
                       "tokens": tok.convert_ids_to_tokens(ids), "file": f"taps-{name}.f32", "taps": taps})
    common.write_json(folder / "taps.json", {"config": {"layers": LAYERS, "heads": HEADS, "hidden": HIDDEN, "ffn": FFN},
                                             "tap_order": tap_names(), "inputs": inputs}, depth=5)


def floats(array):
    """Rows of shortest decimals that name one float32 each."""
    rows = numpy.asarray(array, dtype=numpy.float64).astype(numpy.float32)
    return [[float(str(x)) for x in row] for row in rows]


def load_sentence(folder, dtype, modes="mean", include_prompt=True, normalize=False):
    body = Transformer(str(folder), max_seq_length=MAX_TOKENS, model_kwargs={"dtype": dtype})
    modules = [body, Pooling(HIDDEN, pooling_mode=modes, include_prompt=include_prompt)] + ([Normalize()] if normalize else [])
    return SentenceTransformer(modules=modules, prompts=PROMPTS, device="cpu").eval()


def encode(model, texts, **options):
    """One text at a time, so that padding takes no part."""
    return numpy.concatenate([model.encode([text], convert_to_numpy=True, show_progress_bar=False, **options) for text in texts])


def save_poolings(folder):
    cases, worst = [], 0.0
    combos = list(MODES) + [("cls", "mean"), ("mean", "max", "lasttoken")]
    for modes in combos:
        for prompt, include in ((None, True), ("query", True), ("query", False)):
            for normalize in (False, True):
                if normalize and prompt:
                    continue
                vectors = encode(load_sentence(folder / "model", torch.float64, modes, include, normalize), POOLED_TEXTS, prompt_name=prompt)
                again = encode(load_sentence(folder / "model", torch.float32, modes, include, normalize), POOLED_TEXTS, prompt_name=prompt)
                diff = float(numpy.abs(vectors - again.astype(numpy.float64)).max())
                worst = max(worst, diff)
                cases.append({"pooling_mode": modes if isinstance(modes, str) else list(modes), "prompt_name": prompt, "include_prompt": include,
                              "normalize": normalize, "f32_diff": float(f"{diff:.3g}"), "vectors": floats(vectors)})
    common.write_json(folder / "poolings.json", {"texts": POOLED_TEXTS, "prompts": PROMPTS, "cases": cases}, depth=4)
    return worst


def save_embeddings(folder, tok):
    reference = SentenceTransformer(str(folder / "model"), device="cpu")
    assert reference.max_seq_length == MAX_TOKENS and reference.prompts["query"] == PROMPTS["query"]
    single = encode(reference, TEXTS)
    batched = reference.encode(TEXTS, batch_size=8, convert_to_numpy=True, show_progress_bar=False)
    with tempfile.TemporaryDirectory() as both:
        shutil.copytree(folder / "model", both, dirs_exist_ok=True)
        shutil.copytree(folder / "legacy", both, dirs_exist_ok=True)
        old = SentenceTransformer(both, device="cpu")
        assert old.max_seq_length == MAX_TOKENS and numpy.array_equal(encode(old, TEXTS), single)
        assert numpy.array_equal(encode(old, TEXTS, prompt_name="query"), encode(reference, TEXTS, prompt_name="query"))
    exact = encode(reference.double(), TEXTS)
    rows = []
    for text, vector in zip(TEXTS, floats(exact)):
        ids = tok(text, truncation=True, max_length=MAX_TOKENS)["input_ids"]
        rows.append({"text": text, "tokens_before_truncation": len(tok(text)["input_ids"]), "input_ids": ids, "vector": vector})
    halves = {short: floats(encode(load_half(folder, short), POOLED_TEXTS)) for short in ("f16", "bf16")}
    diff = lambda a, b: float(f"{numpy.abs(a.astype(numpy.float64) - b).max():.3g}")
    summary = {"torch_f32_to_exact": diff(single, exact), "torch_f32_batched_to_exact": diff(batched, exact),
               "torch_f32_batched_to_single": diff(batched, single)}
    common.write_json(folder / "embeddings.json", {"max_seq_length": MAX_TOKENS, **summary, "rows": rows,
                                                   "half_precision_weights": {"texts": POOLED_TEXTS, **halves}}, depth=2)
    return summary


def load_half(folder, short):
    """The rounded weights computed with in float64, with the tokenizer of the full model."""
    with tempfile.TemporaryDirectory() as both:
        shutil.copytree(folder / "model", both, dirs_exist_ok=True)
        shutil.copytree(folder / f"model-{short}", both, dirs_exist_ok=True)
        return load_sentence(pathlib.Path(both), torch.float64, normalize=True)


def make(options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    folder = common.OUT / "bert-tiny"
    if folder.exists():
        shutil.rmtree(folder)
    tok = save_models(folder)
    save_taps(folder, tok)
    print("poolings, worst f32 difference:", save_poolings(folder))
    print("embeddings:", save_embeddings(folder, tok))
    common.update_manifest("bert-tiny", {**common.versions("torch", "transformers", "tokenizers", "sentence-transformers", "safetensors", "numpy"),
                                         "cpu": torch.backends.cpu.get_cpu_capability()})
