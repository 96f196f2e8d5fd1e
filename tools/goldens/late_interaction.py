"""late-interaction/: tiny ColBERTs as PyLate and as the original ColBERT save them, with the token vectors, scores and rankings of PyLate.

PyLate needs older versions of its libraries than the other parts, so this part has its own environment (tools/requirements.txt)."""
import contextlib
import io
import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from pylate import models, rank, scores
from safetensors.torch import save_file
from sentence_transformers.models import Transformer

from . import common, tiny

HIDDEN, DIM = 24, 10
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]")
QUERIES = ["who sings?", "", "  a boat: 42\n", "how do birds find their way home in the dark", "caf\u00e9 [MASK] \u6771\u4eac"]
DOCUMENTS = ["The birds sing.", "", "?!., ;:", " An old boat waits below the bridge, where 42 small birds sing", "one", "way home; way back: way out!"]
# Each changes config_sentence_transformers.json of the saved model.
BERT_CASES = {
    "as saved": {},
    "attends to the expansion": {"attend_to_expansion_tokens": True},
    "no expansion": {"do_query_expansion": False, "attend_to_expansion_tokens": True},
    "no prefixes": {"query_prefix": "", "document_prefix": "", "query_length": 12},
    "other words are skipped": {"skiplist_words": ["e", "not a token", "."], "document_length": 9},
    "nothing is skipped, a default prompt": {"skiplist_words": [], "prompts": {"ask": "find "}, "default_prompt_name": "ask"},
    "defaults": {key: None for key in ("query_prefix", "document_prefix", "query_length", "document_length", "do_query_expansion",
                                       "attend_to_expansion_tokens", "skiplist_words")},
}
MODERN_CASES = {"as saved": {}, "queries longer than the window": {"query_length": 30}}


def tokenizer():
    return tiny.make_tokenizer(SPECIALS, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", pad_token="[PAD]", unk_token="[UNK]",
                               cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def bert(words):
    return transformers.BertModel(transformers.BertConfig(
        vocab_size=len(words), hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, max_position_embeddings=200))


def modernbert(words):
    ids = {f"{name}_token_id": words.convert_tokens_to_ids(token)
           for name, token in (("pad", "[PAD]"), ("cls", "[CLS]"), ("sep", "[SEP]"), ("bos", "[CLS]"), ("eos", "[SEP]"))}
    return transformers.ModernBertModel(transformers.ModernBertConfig(
        vocab_size=len(words), hidden_size=HIDDEN, num_hidden_layers=3, num_attention_heads=3, intermediate_size=40,
        max_position_embeddings=200, local_attention=16, global_attn_every_n_layers=2, **ids))


def quiet(run):
    with contextlib.redirect_stderr(io.StringIO()):
        return run()


def save_pylate(folder, make_model, seed, **settings):
    words = tokenizer()
    with tempfile.TemporaryDirectory() as place:
        tiny.save(pathlib.Path(place), make_model(words), words)
        dense = models.Dense(HIDDEN, DIM, bias=False, activation_function=torch.nn.Identity())
        model = models.ColBERT(modules=[Transformer(place), dense], device="cpu", **settings)
        tiny.randomize(model[0].auto_model, seed)
        dense.linear.weight.data = torch.randn(DIM, HIDDEN, generator=torch.Generator().manual_seed(seed)) * 0.3
        model.save_pretrained(str(folder), create_model_card=False)
    for name in ("config.json", "config_sentence_transformers.json"):
        common.write_json(folder / name, json.loads((folder / name).read_text()))


def save_original(folder):
    """The layout of stanford-nlp/ColBERT: HF_ColBERT with its projection beside the encoder's weights."""
    words = tokenizer()
    model = tiny.randomize(bert(words), 5)
    linear = torch.randn(DIM, HIDDEN, generator=torch.Generator().manual_seed(6)) * 0.3
    tiny.save(folder, model, words)
    state = {f"bert.{name}": weight.contiguous() for name, weight in model.state_dict().items()}
    save_file({**state, "linear.weight": linear}, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    common.write_json(folder / "config.json", {**config, "architectures": ["HF_ColBERT"]})
    common.write_json(folder / "artifact.metadata", {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 14,
                                                     "doc_maxlen": 40, "dim": DIM, "attend_to_mask_tokens": False, "mask_punctuation": True})


def encode(model, texts, is_query):
    out = [model.encode([text], is_query=is_query, output_value=None, show_progress_bar=False, convert_to_numpy=False) for text in texts]
    return [(row["input_ids"][0][row["masks"][0]], row["token_embeddings"][0][row["masks"][0]]) for row in out]


def case(name, folder, config):
    """The results of PyLate in f64, and how far those of f32 are from them."""
    runs = {}
    for dtype in (torch.float64, torch.float32):
        model = quiet(lambda: models.ColBERT(str(folder), device="cpu", model_kwargs={"dtype": dtype})).to(dtype).eval()
        queries, documents = encode(model, QUERIES, True), encode(model, DOCUMENTS, False)
        vectors = [v for _, v in documents]
        pairs = [[float(scores.colbert_scores_pairwise([q], [v])[0]) for v in vectors] for _, q in queries]
        ranked = [rank.rerank([list(range(len(vectors)))], [q], [vectors])[0] for _, q in queries]
        runs[dtype] = queries + documents, pairs, ranked
    (exact, pairs, ranked), (single, _, _) = runs[torch.float64], runs[torch.float32]
    rows = [{"ids": ids.tolist(), "vectors": tiny.floats(v)} for ids, v in exact]
    diff = max(tiny.diff(a, b) for (_, a), (_, b) in zip(exact, single) if len(a))
    # PyLate pads documents with zeros, so a shorter one gets 0 for a query token that resembles none of its own.
    padded = [any(float(row["score"]) - pairs[i][row["id"]] > 1e-9 for row in one) for i, one in enumerate(ranked)]
    return {"name": name, "config": config, "f32_diff": diff, "queries": rows[:len(QUERIES)], "documents": rows[len(QUERIES):],
            "scores": pairs, "padded": padded, "ranked": [[[row["id"], float(row["score"])] for row in one] for one in ranked]}


def cases_of(folder, changes):
    settings = folder / "config_sentence_transformers.json"
    out = []
    for name, change in changes.items():
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(folder, place, dirs_exist_ok=True)
            if settings.exists():
                common.write_json(pathlib.Path(place) / settings.name, {**json.loads(settings.read_text()), **change})
            out.append(case(name, place, change))
    return out


def make(_options):
    folder = tiny.begin("late-interaction")
    save_pylate(folder / "bert", bert, 1, query_length=20, document_length=40)
    save_pylate(folder / "modernbert", modernbert, 3, query_length=16, document_length=60)
    (folder / "original").mkdir()
    save_original(folder / "original")
    cases = {"bert": cases_of(folder / "bert", BERT_CASES), "modernbert": cases_of(folder / "modernbert", MODERN_CASES),
             "original": cases_of(folder / "original", {"as saved": {}})}
    common.write_json(folder / "expected.json", {"queries": QUERIES, "documents": DOCUMENTS, "dim": DIM, "models": cases}, depth=4)
    for extra in [*folder.glob("*/README.md"), *folder.glob("*/training_args.bin")]:
        extra.unlink()
    common.update_manifest("late-interaction", common.versions("torch", "transformers", "sentence-transformers", "pylate"))
