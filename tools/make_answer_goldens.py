#!/usr/bin/env python3
"""Makes tests/goldens/tasks/answers.json: the results of transformers' question-answering pipeline with the tiny model there.

The pipeline left transformers with v5, so this needs a 4.x: python -m venv .venv4 && .venv4/bin/pip install torch transformers==4.57.1
Run it after `tools/make_goldens.py tasks`, which makes the model.
"""
import json
import pathlib
import sys

import numpy
import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from goldens import common  # noqa: E402

FOLDER = common.OUT / "tasks"
BODY = common.OUT / "bert-tiny" / "model"
SENTENCES = ["The old bridge over the river was closed in 1987.", "A small boat waits below it every morning!", "Nobody knows who taught the birds to sing; unbelievably, they find their way home in the dark.",
             "In Café Müller we counted 42 letters, 7 birds and 東京 stones.", "The city opens its gates at six, the train at five-thirty."]
QUESTIONS = ["When was the bridge closed?", "What waits below it?", "Who taught the birds?", "How many letters did we count in the Café?", "Where?"]
OPTIONS = [{}, {"top_k": 4}, {"handle_impossible_answer": True, "top_k": 3}, {"max_answer_len": 2, "top_k": 3}, {"align_to_words": False, "top_k": 3}]
WINDOWS = [{"max_seq_len": 44, "doc_stride": 4}, {"max_seq_len": 46, "doc_stride": 5, "top_k": 4}, {"max_seq_len": 48, "doc_stride": 6, "handle_impossible_answer": True, "top_k": 5}, {"doc_stride": 3, "top_k": 3}]


def load(dtype):
    model = transformers.BertForQuestionAnswering(transformers.BertConfig.from_pretrained(FOLDER / "answer"))
    body = {f"bert.{key}": value for key, value in load_file(BODY / "model.safetensors").items() if "pooler" not in key}
    missing, unexpected = model.load_state_dict({**body, **load_file(FOLDER / "answer" / "head.safetensors")}, strict=False)
    assert not unexpected and all("position_ids" in key for key in missing), (missing, unexpected)
    tok = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_file(str(BODY / "tokenizer.json")), model_max_length=48, padding_side="right",
                                               cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]")
    return transformers.pipeline("question-answering", model=model.to(dtype).eval(), tokenizer=tok, device="cpu")


def main():
    torch.set_num_threads(1)
    exact, single = load(torch.float64), load(torch.float32)
    calls = [(question, sentence, options) for question, sentence in zip(QUESTIONS, SENTENCES) for options in OPTIONS]
    calls += [(question, " ".join(SENTENCES), options) for question in QUESTIONS for options in WINDOWS]
    cases = []
    for question, context, options in calls:
        answer, other = exact(question=question, context=context, **options), single(question=question, context=context, **options)
        spans = [[a["start"], a["end"], a["answer"]] for a in (answer if isinstance(answer, list) else [answer])]
        assert spans == [[a["start"], a["end"], a["answer"]] for a in (other if isinstance(other, list) else [other])]
        pairs = zip(*(x if isinstance(x, list) else [x] for x in (answer, other)))
        diff = max(abs(a["score"] - b["score"]) for a, b in pairs)
        for one in answer if isinstance(answer, list) else [answer]:
            one["score"] = float(f"{one['score']:.9g}")
        cases.append({"question": question, "context": context, "options": options, "f32_diff": float(f"{diff:.3g}"), "answer": answer})
    common.write_json(FOLDER / "answers.json", {"made_with": common.versions("torch", "transformers", "tokenizers", "numpy"), "cases": cases}, depth=2)


main()
