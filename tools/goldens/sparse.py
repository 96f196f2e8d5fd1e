"""sparse/: tiny SPLADE models as sentence-transformers' SparseEncoder saves them, one of which encodes queries without a model."""
import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling

from . import common, tiny

HIDDEN, TOKENS = 24, 60
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TEXTS = ["Who sings?", "", "The birds sing, and an old boat waits.", "e", "ee bee", "caf\u00e9 \u6771\u4eac [MASK]", tiny.SENTENCE]
# Changes of 1_SpladePooling/config.json and of config_sentence_transformers.json.
CASES = {
    "as saved": ({}, {}),
    "sum": ({"pooling_strategy": "sum"}, {}),
    "log of the log": ({"activation_function": "log1p_relu"}, {}),
    "both, the largest seven": ({"pooling_strategy": "sum", "activation_function": "log1p_relu"}, {"max_active_dims": 7}),
    "prompts": ({}, {"prompts": {"query": "ask: ", "passage": "doc: ", "other": "x"}, "default_prompt_name": "other"}),
}
POOLING = "1_SpladePooling/config.json"
SETTINGS = "config_sentence_transformers.json"


def tokenizer():
    return tiny.make_tokenizer(SPECIALS, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", pad_token="[PAD]", unk_token="[UNK]",
                               cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", model_max_length=TOKENS)


def transformer(seed):
    words = tokenizer()
    model = transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=len(words), hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, max_position_embeddings=90))
    tiny.randomize(model, seed)
    model.tie_weights()
    with tempfile.TemporaryDirectory() as place:
        tiny.save(pathlib.Path(place), model, words)
        return Transformer(place, transformer_task="fill-mask")


def save(folder, modules):
    SparseEncoder(modules=modules, device="cpu").save_pretrained(str(folder), create_model_card=False)
    for file in folder.rglob("*.json"):
        if "tokenizer" not in file.name:
            common.write_json(file, json.loads(file.read_text()))


def rows_of(vectors):
    out = []
    for vector in vectors:
        vector = vector.coalesce() if vector.is_sparse else vector.to_sparse().coalesce()
        out.append({"indices": vector.indices()[0].tolist(), "values": tiny.floats(vector.values())})
    return out


def case(name, folder, pooling, settings):
    runs = {}
    for dtype in (torch.float64, torch.float32):
        model = SparseEncoder(str(folder), device="cpu", model_kwargs={"dtype": dtype}).to(dtype).eval()
        calls = {how: [getattr(model, how)([text], show_progress_bar=False)[0] for text in TEXTS]
                 for how in ("encode", "encode_query", "encode_document")}
        runs[dtype] = model, calls
    (model, exact), (_, single) = runs[torch.float64], runs[torch.float32]
    diff = max(tiny.diff(a.to_dense(), b.to_dense()) for how in exact for a, b in zip(exact[how], single[how]))
    queries, documents = torch.stack(exact["encode_query"]), torch.stack(exact["encode_document"])
    return {"name": name, "pooling": pooling, "settings": settings, "f32_diff": diff,
            "calls": {how: rows_of(vectors) for how, vectors in exact.items()},
            "similarity": [[float(x) for x in row] for row in model.similarity(queries, documents).to_dense()],
            "decoded": [[[token, float(weight)] for token, weight in model.decode(vector.float(), top_k=3)] for vector in exact["encode"]]}


def cases_of(folder, changes):
    out = []
    for name, (pooling, settings) in changes.items():
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(folder, place, dirs_exist_ok=True)
            for file, change in ((POOLING, pooling), (SETTINGS, settings)):
                path = pathlib.Path(place) / file
                if path.exists():
                    common.write_json(path, {**json.loads(path.read_text()), **change})
            out.append(case(name, place, pooling, settings))
    return out


def make(_options):
    folder = tiny.begin("sparse")
    save(folder / "splade", [transformer(1), SpladePooling("max")])
    words = tokenizer()
    weights = torch.rand(len(words), generator=torch.Generator().manual_seed(4)) * 3
    weights[:8] = 0
    save(folder / "router", [Router.for_query_document(query_modules=[SparseStaticEmbedding(words, weight=weights, frozen=True)],
                                                       document_modules=[transformer(2), SpladePooling("max")])])
    cases = {"splade": cases_of(folder / "splade", CASES), "router": cases_of(folder / "router", {"as saved": ({}, {})})}
    common.write_json(folder / "expected.json", {"texts": TEXTS, "models": cases}, depth=4)
    common.update_manifest("sparse", common.versions("torch", "transformers", "sentence-transformers"))
