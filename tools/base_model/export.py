"""Writes the trained model as one GGUF file: matrices in q4_0 with the scales and numbers that training saw, positions and token types in q8_0.

Names and keys are llama.cpp's for "bert".
"""

import argparse
import hashlib
import json
import platform
import sys
from pathlib import Path

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import Tokenizer
from transformers import BertModel

sys.path.append(str(Path(__file__).parents[1] / "default_model"))
from gguf_bert import describe, gguf_name  # noqa: E402
from rounding import codes_of  # noqa: E402
from train import embedder, make_student, shape_rounded  # noqa: E402


def q4_0(values, scale):
    """Bytes of GGUF's q4_0 [rows, columns / 32 * 18]: of each block an f16 scale, then its numbers plus 8, two a byte."""
    rows, columns = values.shape
    codes = (codes_of(values.reshape(rows, -1, 32), scale.reshape(rows, -1, 1)) + 8).to(torch.uint8).numpy()
    packed = codes[:, :, :16] | codes[:, :, 16:] << 4
    scales = scale.numpy().astype(np.float16).reshape(rows, -1, 1).view(np.uint8)
    return np.concatenate([scales, packed], axis=2).reshape(rows, -1)


def write(student, tokenizer, path):
    w = gguf.GGUFWriter(path, "bert")
    w.add_name("wattn-base")
    w.add_description("Sentence encoder with weights of four bits, trained from all-MiniLM-L6-v2")
    w.add_license("Apache-2.0")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    describe(w, student.config, tokenizer)
    scales = {f"{name}.weight": module.scale for name, module in student.named_modules() if hasattr(module, "scale")}
    for name, values in student.named_parameters():
        target = gguf_name(f"bert.{name}")
        if name in scales:
            w.add_tensor(target, q4_0(values.detach(), scales[name]), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
        elif values.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            blocks = gguf.quants.quantize(values.detach().numpy(), kind)
            values.data.copy_(torch.from_numpy(gguf.quants.dequantize(blocks, kind)))
            w.add_tensor(target, blocks, raw_dtype=kind)
        else:
            w.add_tensor(target, values.detach().numpy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--teacher", required=True, help="the folder of all-MiniLM-L6-v2")
    p.add_argument("--out", required=True, help="the folder that train.py wrote")
    p.add_argument("--model", required=True, help="the .gguf to write; a report beside it")
    a = p.parse_args()
    out, target = Path(a.out), Path(a.model)
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    kept = json.loads((out / "pieces.json").read_text())
    student = make_student(BertModel.from_pretrained(a.teacher, add_pooling_layer=False), kept).eval()
    shape_rounded(student)
    saved = torch.load(out / "checkpoint.pt")
    student.load_state_dict(saved["model"])
    write(student, tokenizer, target)
    texts = ["The bakery opens at six.", "When can I buy fresh bread?", "Trains leave every hour.", "photosynthesis and chlorophyll"]
    report = {
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        "bytes": target.stat().st_size,
        "pieces": len(kept),
        "parameters": sum(p.numel() for p in student.parameters()),
        "steps": saved["step"],
        "corpus": json.loads((out / "corpus.json").read_text()),
        "vectors": {"texts": texts, "first_8": [[round(float(x), 6) for x in row[:8]] for row in embedder(student, tokenizer)(texts)]},
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__},
    }
    target.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(report["sha256"], report["bytes"])


if __name__ == "__main__":
    main()
