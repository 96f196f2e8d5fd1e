"""ranking/ranking.json: the results of sentence-transformers' CrossEncoder for queries and documents with the tiny ranker of tasks/, with the
activation that config_sentence_transformers.json or config.json names with its new keys, its old keys, or not at all."""
import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from safetensors.torch import load_file
from sentence_transformers import CrossEncoder

from . import common, tasks

CONFIGS = {
    "of itself": {},
    "raw": {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "5.0.0"}},
    "sigmoid": {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid", "version": "5.0.0"}},
    "raw, in the old words": {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},
}
# config_sentence_transformers.json, which sentence-transformers 5.2 and later write; config.json says otherwise there.
SETTINGS = {
    "raw, in a file of its own": "torch.nn.modules.linear.Identity",
    "tanh": "torch.nn.modules.activation.Tanh",
    "softplus": "torch.nn.modules.activation.Softplus",
    "a function of the repository's own, which nobody trusts": "own_code.Activation",
}
QUERIES = ["Who sings?", "the river", "unbelievable: 42 bridges, and who counted them?"]
DOCUMENTS = [b for _, b in tasks.PAIRS] + tasks.TEXTS


def save_model(folder, change):
    source = tasks.FOLDER / "ranker"
    config = {**json.loads((source / "config.json").read_text()), **change}
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**config))
    state = {f"bert.{key}": value for key, value in load_file(tasks.BODY / "model.safetensors").items()}
    missing, unexpected = model.load_state_dict({**state, **load_file(source / "head.safetensors")}, strict=False)
    assert not [key for key in missing if "position_ids" not in key], missing
    model.save_pretrained(folder)
    common.write_json(folder / "config.json", config)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tasks.BODY / name, folder)


def save_settings(folder, activation):
    """Saves the model as sentence-transformers does, with another activation: what config_sentence_transformers.json has then."""
    CrossEncoder(folder, device="cpu").save_pretrained(folder, create_model_card=False)
    path = pathlib.Path(folder, "config_sentence_transformers.json")
    settings = {**json.loads(path.read_text()), "activation_fn": activation}
    settings.pop("__version__")
    common.write_json(path, settings)
    return settings


def make(_options):
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    cases = []
    for name, change in (CONFIGS | {name: CONFIGS["sigmoid"] for name in SETTINGS}).items():
        with tempfile.TemporaryDirectory() as place:
            save_model(pathlib.Path(place), change)
            settings = save_settings(place, SETTINGS[name]) if name in SETTINGS else None
            ranked = {}
            for dtype in (torch.float64, torch.float32):
                encoder = CrossEncoder(place, device="cpu")
                encoder.model.to(dtype)
                ranked[dtype] = [encoder.rank(query, DOCUMENTS) for query in QUERIES]
        for query, exact, single in zip(QUERIES, ranked[torch.float64], ranked[torch.float32]):
            order = lambda rows: [row["corpus_id"] for row in rows]
            assert order(exact) == order(single)
            apart = max(abs(float(a["score"]) - float(b["score"])) for a, b in zip(exact, single))
            cases.append({"name": name, "config": change, **({"settings": settings} if settings else {}), "query": query, "f32_diff": float(f"{apart:.3g}"),
                          "ranked": [[row["corpus_id"], tasks.rounded(row["score"])] for row in exact]})
    common.write_json(common.OUT / "ranking" / "ranking.json", {"documents": DOCUMENTS, "cases": cases}, depth=3)
    common.update_manifest("ranking", common.versions("torch", "transformers", "sentence-transformers"))
