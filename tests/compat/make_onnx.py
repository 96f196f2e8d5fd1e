"""The ONNX twins of the programs' encoders, which transformers.js needs (tests/compat/against_rival.mjs).

usage: python tests/compat/make_onnx.py MODELS OUT        (pip install torch transformers onnx)

MODELS: the folder `local` that writeModels() of models.mjs writes. OUT: FOLDER/models/local of against_rival.mjs.
"""
import pathlib
import sys

import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForQuestionAnswering, AutoModelForSequenceClassification, AutoModelForTokenClassification

CLASSES = {"embed": AutoModel, "sequence": AutoModelForSequenceClassification, "nli": AutoModelForSequenceClassification,
           "ranker": AutoModelForSequenceClassification, "token": AutoModelForTokenClassification, "answer": AutoModelForQuestionAnswering,
           "masked": AutoModelForMaskedLM}
OUTPUTS = {"embed": ["last_hidden_state"], "answer": ["start_logits", "end_logits"]}


class Chosen(torch.nn.Module):
    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, input_ids, attention_mask, token_type_ids):
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return tuple(out[name] for name in self.names)


def main():
    models, out = map(pathlib.Path, sys.argv[1:3])
    ids = torch.ones(2, 16, dtype=torch.long)
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    for name, kind in CLASSES.items():
        outputs = OUTPUTS.get(name, ["logits"])
        model = Chosen(kind.from_pretrained(models / name, attn_implementation="eager").eval(), outputs)
        (out / name / "onnx").mkdir(parents=True, exist_ok=True)
        torch.onnx.export(model, (ids, ids, torch.zeros_like(ids)), str(out / name / "onnx/model.onnx"), input_names=inputs, output_names=outputs,
                          dynamic_axes={each: {0: "batch", 1: "seq"} for each in [*inputs, *outputs]}, opset_version=17, dynamo=False)


main()
