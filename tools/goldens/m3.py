"""m3/: a tiny model with the files of bge-m3: that of sentence-transformers for vectors of texts, and the two layers of FlagEmbedding beside it. What they
give is computed here as FlagEmbedding's inference/embedder/encoder_only/m3.py does (arXiv 2402.03216)."""
import pathlib
import tempfile

import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

from . import common, tiny

HIDDEN, WIDTH, TOKENS = 24, 16, 60
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
TEXTS = ["Who sings?", "The birds sing, and an old boat waits.", "e", "ee bee", "the bee <s> sees</s> <unk> it", "", tiny.SENTENCE]


def save(folder):
    words = tiny.make_tokenizer(SPECIALS, "<s> $A </s>", "<s> $A </s> </s> $B </s>", bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
                                pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", model_max_length=TOKENS)
    model = transformers.XLMRobertaModel(transformers.XLMRobertaConfig(
        vocab_size=len(words), hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, max_position_embeddings=80,
        pad_token_id=1, bos_token_id=0, eos_token_id=2), add_pooling_layer=False)
    tiny.randomize(model, 90)
    with tempfile.TemporaryDirectory() as place:
        tiny.save(pathlib.Path(place), model, words)
        SentenceTransformer(modules=[Transformer(place), Pooling(HIDDEN, "cls"), Normalize()], device="cpu").save_pretrained(str(folder), create_model_card=False)
    layers = {"sparse_linear": torch.nn.Linear(HIDDEN, 1), "colbert_linear": torch.nn.Linear(HIDDEN, WIDTH)}
    generator = torch.Generator().manual_seed(91)
    for name, layer in layers.items():
        for weight in layer.parameters():
            weight.data = torch.randn(weight.shape, generator=generator) * 0.5
        torch.save(layer.state_dict(), folder / f"{name}.pt")
    return layers


def vectors(folder, layers, dtype):
    model = SentenceTransformer(str(folder), device="cpu").to(dtype)
    words, encoder = model.tokenizer, model[0].auto_model
    unused = {words.convert_tokens_to_ids(words.special_tokens_map[name]) for name in ("cls_token", "eos_token", "pad_token", "unk_token")}
    sparse, colbert = (layers[name].to(dtype) for name in ("sparse_linear", "colbert_linear"))
    out = []
    for text in TEXTS:
        inputs = words(text, truncation=True, max_length=TOKENS, return_tensors="pt")
        ids = inputs["input_ids"][0].tolist()
        with torch.no_grad():
            states = encoder(**inputs).last_hidden_state[0]
            weights = torch.relu(sparse(states))[:, 0]
            rows = torch.nn.functional.normalize(colbert(states[1:]), dim=-1)
        lexical = {}
        for id, weight in zip(ids, weights.tolist()):
            if id not in unused and weight > lexical.get(id, 0):
                lexical[id] = weight
        dense = torch.tensor(model.encode([text], show_progress_bar=False)[0])
        out.append({"ids": ids, "dense": dense, "rows": rows, "sparse": dict(sorted(lexical.items()))})
    return out


def make(_options):
    folder = tiny.begin("m3")
    layers = save(folder)
    exact, single = (vectors(folder, layers, dtype) for dtype in (torch.float64, torch.float32))
    rows = []
    for a, b in zip(exact, single):
        assert list(a["sparse"]) == list(b["sparse"])
        diff = max(tiny.diff(a[key], b[key]) for key in ("dense", "rows"))
        diff = max([diff] + [abs(x - y) for x, y in zip(a["sparse"].values(), b["sparse"].values())])
        rows.append({"ids": a["ids"], "dense": tiny.floats(a["dense"]), "rows": tiny.floats(a["rows"]), "indices": list(a["sparse"]),
                     "values": tiny.floats(torch.tensor(list(a["sparse"].values()))), "f32_diff": float(f"{diff:.3g}")})
    score = lambda q, p: float((q @ p.T).max(-1).values.sum() / len(q))
    scores = [[score(q["rows"], p["rows"]) for p in exact] for q in exact]
    common.write_json(folder / "expected.json", {"texts": TEXTS, "width": WIDTH, "vectors": rows, "scores": scores}, depth=2)
    common.update_manifest("m3", common.versions("torch", "transformers", "sentence-transformers"))
