"""Makes ONNX versions of a BERT checkpoint for onnxruntime-web: f32 and dynamic int8, like the files on the Hub.

usage: python bench/make_onnx.py CHECKPOINT_DIR OUT_DIR        (pip install torch transformers onnx onnxruntime)
"""

import pathlib
import sys

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import BertModel


class LastHiddenState(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state


def main():
    checkpoint, out = sys.argv[1], pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    model = BertModel.from_pretrained(checkpoint, attn_implementation="eager").eval()
    ids = torch.ones(2, 16, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        LastHiddenState(model),
        (ids, ids, torch.zeros_like(ids)),
        str(out / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "batch", 1: "seq"} for name in [*names, "last_hidden_state"]},
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(str(out / "model.onnx"), str(out / "model_quantized.onnx"), weight_type=QuantType.QInt8)


main()
