"""spans_bi/: tiny random bi-encoders of GLiNER, whose labels have an encoder of their own, made and saved by the package gliner, and the entities
that it finds. hub/: one in the layout of the Hub, whose two encoders are in the repositories that gliner_config.json names."""
import json
import os
import tempfile
import warnings
from pathlib import Path

import gliner
import torch

from . import common, spans, tiny

BERT = dict(spans.USUAL, model_type="bert", type_vocab_size=2)
# name: (config of the text's encoder, of the labels' encoder, of GLiNER)
CASES = {
    "modernbert": (spans.MODERNBERT, dict(BERT, hidden_size=20), dict(spans.HEAD, hidden_size=24, num_rnn_layers=0, subtoken_pooling="mean")),
    "deberta": (spans.DEBERTA, dict(BERT, hidden_size=16), dict(spans.HEAD)),
    "bert-token": (BERT, dict(spans.DEBERTA, hidden_size=20), dict(spans.HEAD, span_mode="token_level")),
}
HUB = dict(spans.HEAD, model_name="org/tiny-text", labels_encoder="tiny-labels", encoder_config=None, labels_encoder_config=None, class_token_index=-1,
           vocab_size=-1, num_rnn_layers=0)
LABELS = [*spans.LABELS, ["person", "a label with more tokens than its tokenizer allows", "a label with more tokens than any other"]]
MOST_LABEL_TOKENS = 30  # less than the labels' encoder has positions


def write_tokenizer(kind, folder, most=None):
    tokenizer = spans.make_tokenizer(kind)
    if most:
        tokenizer.model_max_length = most
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def make_model(text, labels, head, folder):
    """A model without pretrained parts, whose tokenizers lie in folder."""
    text = dict(text, vocab_size=write_tokenizer(text["model_type"], folder / "text"))
    labels = dict(labels, vocab_size=write_tokenizer(labels["model_type"], folder / "labels", MOST_LABEL_TOKENS))
    config = dict(head, model_name=str(folder / "text"), encoder_config=text, labels_encoder=str(folder / "labels"), labels_encoder_config=labels)
    kind = gliner.model.BiEncoderTokenGLiNER if head.get("span_mode") == "token_level" else gliner.model.BiEncoderSpanGLiNER
    config.pop("span_mode", None)
    return kind.load_from_config(config, backbone_from_pretrained=False)


def write_hub(folder):
    """Three repositories in folder, which is the working folder, so that their names are paths."""
    text, labels = dict(spans.MODERNBERT, hidden_size=16), dict(BERT, hidden_size=20)
    for name, config in {"org/tiny-text": text, "tiny-labels": labels}.items():
        (folder / name).mkdir(parents=True)
        vocab = write_tokenizer(config["model_type"], folder / name, MOST_LABEL_TOKENS if config is labels else None)
        common.write_json(folder / name / "config.json", dict(config, vocab_size=vocab))
    (folder / "org/tiny-bi").mkdir()
    common.write_json(folder / "org/tiny-bi/gliner_config.json", HUB)
    made = gliner.GLiNER.from_config(str(folder / "org/tiny-bi/gliner_config.json"), backbone_from_pretrained=False)
    spans.randomize(made.model, 124)
    torch.save(made.model.state_dict(), folder / "org/tiny-bi/pytorch_model.bin")
    model = gliner.GLiNER.from_pretrained("org/tiny-bi").eval()
    spans.write_answers(folder / "org/tiny-bi/expected.json", "hub", model, spans.OPTIONS[:2], LABELS)


def make(_options):
    folder = tiny.begin("spans_bi")
    warnings.simplefilter("ignore")
    for seed, (name, (text, labels, head)) in enumerate(CASES.items()):
        with tempfile.TemporaryDirectory() as temporary:
            model = make_model(text, labels, head, Path(temporary))
            spans.randomize(model.model, 120 + seed)
            model.config.model_name, model.config.labels_encoder = "tiny", "tiny-labels"
            model.save_pretrained(folder / name, safe_serialization=True)
            spans.write_answers(folder / name / "expected.json", name, model, spans.OPTIONS, LABELS)
        config = json.loads((folder / name / "gliner_config.json").read_text())
        common.write_json(folder / name / "gliner_config.json", config)
    before = os.getcwd()
    (folder / "hub").mkdir()
    os.chdir(folder / "hub")
    write_hub(folder / "hub")
    os.chdir(before)
    common.write_json(folder / "cases.json", {"cases": list(CASES), "texts": spans.TEXTS, "labels": LABELS, "options": spans.OPTIONS}, depth=2)
    common.update_manifest("spans_bi", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy", "gliner"))
