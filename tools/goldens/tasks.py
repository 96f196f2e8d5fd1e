"""tests/goldens/tasks: heads over the encoder of bert-tiny, and the results of transformers' pipelines with them.

Question answering left transformers with v5: its answers come from `tools/make_answer_goldens.py`, run with transformers 4.x in a separate
environment.
"""
import json

import numpy
import torch
import transformers
from safetensors.torch import load_file, save_file

from . import bert_tiny, common

FOLDER = common.OUT / "tasks"
BODY = common.OUT / "bert-tiny" / "model"
ENTITIES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC"]
NLI = ["contradiction", "neutral", "Entailment-yes"]
KINDS = {
    "sequence": ("BertForSequenceClassification", NLI),
    "ranker": ("BertForSequenceClassification", ["LABEL_0"]),
    "token": ("BertForTokenClassification", ENTITIES),
    "answer": ("BertForQuestionAnswering", None),
    "masked_lm": ("BertForMaskedLM", None),
}
LONG = " ".join(bert_tiny.TEXTS[1:3] + [f"The {a} river runs under Bridge {i}, and we counted {i * 37} boats in 東京 again." for i, a in enumerate(("old", "dark", "bright", "unbelievable", "quiet", "small"))])
TEXTS = [t for t in bert_tiny.TEXTS if t and len(t) < 200] + ["Unbelievably, the RIVER-bridge (no. 42) sings; rereads Café's star-child!"]
PAIRS = [("Who sings?", "The birds, unbelievably, 42 times."), ("the river", "a bridge"), ("A small boat waits below the old bridge.", LONG)]


def rounded(value):
    """A float with the digits that matter here: 2e-9 of noise is far below what float32 tells."""
    return float(f"{float(value):.9g}")


def clean(value):
    if isinstance(value, dict):
        return {key: clean(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(part) for part in value]
    if isinstance(value, (float, numpy.floating)):
        return rounded(value)
    return int(value) if isinstance(value, numpy.integer) else value


def apart(exact, single):
    """How far the scores of the float32 run are from those of the float64 run; everything else must be the same."""
    if isinstance(exact, dict):
        assert exact.keys() == single.keys()
        return max((apart(exact[key], single[key]) for key in exact), default=0.0)
    if isinstance(exact, (list, tuple)):
        assert len(exact) == len(single), (exact, single)
        return max((apart(a, b) for a, b in zip(exact, single)), default=0.0)
    if isinstance(exact, (float, numpy.floating)):
        return abs(float(exact) - float(single))
    assert exact == single, (exact, single)
    return 0.0


def make_model(kind, seed):
    """The class over bert-tiny's encoder; the head's own tensors are random."""
    name, labels = KINDS[kind]
    config = transformers.BertConfig.from_pretrained(BODY)
    config.architectures = [name]
    if labels:
        config.id2label, config.label2id = dict(enumerate(labels)), {label: i for i, label in enumerate(labels)}
    model = getattr(transformers, name)(config)
    body = {f"bert.{key}": value for key, value in load_file(BODY / "model.safetensors").items()}
    rng = numpy.random.default_rng(seed)
    head = {}
    with torch.no_grad():
        for key, value in sorted(model.state_dict().items()):
            if key in body:
                value.copy_(body[key])
            elif "position_ids" not in key and "decoder" not in key:
                noise = rng.standard_normal(tuple(value.shape))
                scale = 1 + 0.25 * noise if "LayerNorm.weight" in key else (2.0 / value.shape[-1] ** 0.5 if value.ndim == 2 else 0.3) * noise
                value.copy_(torch.from_numpy(scale.astype(numpy.float32)))
                head[key] = value.clone()
    (FOLDER / kind).mkdir(parents=True, exist_ok=True)
    save_file(head, FOLDER / kind / "head.safetensors")
    common.write_bytes(FOLDER / kind / "config.json", (json.dumps(json.loads(config.to_json_string(use_diff=False)), indent=1, sort_keys=True) + "\n").encode())
    return model.eval()


def answers(task, model, calls):
    """calls: (arguments, keyword arguments). Each: what the float64 run says, and how far the float32 run is from it."""
    tok = transformers.AutoTokenizer.from_pretrained(BODY)
    exact = transformers.pipeline(task, model=model.double(), tokenizer=tok, device="cpu")
    found = [exact(*args, **kwargs) for args, kwargs in calls]
    single = transformers.pipeline(task, model=model.float(), tokenizer=tok, device="cpu")
    cases = []
    for (args, kwargs), value in zip(calls, found):
        diff = apart(value, single(*args, **kwargs))
        cases.append({"args": list(args), "options": kwargs, "f32_diff": float(f"{diff:.3g}"), "answer": clean(value)})
    return cases


def classification():
    model = make_model("sequence", 11)
    calls = [((text,), {"top_k": None, "truncation": True}) for text in TEXTS]
    calls += [(({"text": a, "text_pair": b},), {"top_k": None, "truncation": True}) for a, b in PAIRS]
    calls += [((text,), {"top_k": 2, "function_to_apply": apply, "truncation": True}) for text in TEXTS[:3] for apply in ("sigmoid", "softmax", "none")]
    cases = {"text-classification": answers("text-classification", model, calls)}
    for problem in ("multi_label_classification", "regression", "single_label_classification"):
        model.config.problem_type = problem
        cases[f"text-classification {problem}"] = answers("text-classification", model, calls[:4])
    model.config.problem_type = None
    labels = ["a river", "birds", "unbelievable letters", "the city at night"]
    zero = [((text, labels), options) for text in (TEXTS[1], TEXTS[2], LONG) for options in
            ({}, {"multi_label": True}, {"hypothesis_template": "We read of {}, and of nothing else."})]
    zero += [((TEXTS[1], "birds"), {}), ((TEXTS[1], "birds, boats"), {})]
    cases["zero-shot-classification"] = answers("zero-shot-classification", model, zero)
    ranker = make_model("ranker", 12)
    cases["one label"] = answers("text-classification", ranker, [(({"text": a, "text_pair": b},), {"truncation": True}) for a, b in PAIRS])
    return cases


def tokens():
    model = make_model("token", 13)
    texts = TEXTS + [LONG]
    calls = [((text,), {"aggregation_strategy": strategy}) for text in texts for strategy in ("none", "simple", "first", "average", "max")]
    calls += [((LONG + " " + LONG,), {"aggregation_strategy": strategy, "stride": stride}) for strategy in ("simple", "first", "average", "max") for stride in (0, 7, 20)]
    calls += [((text,), {"aggregation_strategy": "simple", "ignore_labels": []}) for text in texts[:4]]
    return answers("token-classification", model, calls)


def masks():
    model = make_model("masked_lm", 14)
    calls = [((text,), {"top_k": k}) for text in ("The [MASK] runs under the bridge.", "[MASK]", "Who [MASK] the river, and [MASK]?") for k in (1, 5)]
    calls += [(("A small [MASK] waits.",), {"targets": ["boat", "bird", "river"]}), (("A small [MASK] waits.",), {"targets": ["unbelievably", "boat"], "top_k": 2})]
    return answers("fill-mask", model, calls)


def make(_options):
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    make_model("answer", 15)
    cases = {**classification(), "token-classification": tokens(), "fill-mask": masks()}
    common.write_json(FOLDER / "cases.json", cases, depth=2)
    common.update_manifest("tasks", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy"))
