"""torch/: files from torch.save, and the tensors that torch reads from them. The tiny BERT of bert-tiny/ as pytorch_model.bin."""
import io
import shutil
import zipfile

import torch
from safetensors.torch import load_file, save_file

from . import common

kDtypes = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
           "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}


class Tied(torch.nn.Module):
    """A table of words that is the output layer too, and buffers of other types."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(11, 6)
        self.norm = torch.nn.BatchNorm1d(6)
        self.output = torch.nn.Linear(6, 11, bias=False)
        self.output.weight = self.words.weight
        self.register_buffer("position_ids", torch.arange(9).expand((1, -1)))


def dtypes():
    return {name: torch.tensor([[-2.5, 0.0, 1.0], [3.25, 100.0, 7.0]]).abs().to(dtype) for name, dtype in kDtypes.items()}


def views():
    base = torch.arange(60, dtype=torch.float32).reshape(3, 4, 5)
    long = torch.arange(300, dtype=torch.float32)
    return {"whole": base, "transposed": base[0].t(), "permuted": base.permute(2, 0, 1), "middle": base[1:2, 1:3, 2:4], "stepped": base[:, ::2, ::3],
            "expanded": torch.tensor([1.5, 2.5]).expand(7, 2), "scalar": torch.tensor(42.0), "element": base[2, 3, 4], "empty": torch.zeros(0, 3),
            "empty_view": base[3:], "second_half": long[150:], "first_third": long[:100]}


def parameters():
    torch.manual_seed(2)
    return {"parameter": torch.nn.Parameter(torch.randn(2, 3)), "frozen": torch.nn.Parameter(torch.randn(3), requires_grad=False),
            "needs_gradient": torch.randn(4, requires_grad=True), "names with \u00e9, \u4e2d and \U0001f600": torch.ones(1)}


def many():
    """More storages than ten, of which older versions of torch wrote 10 before 2."""
    return {f"layer.{i}.weight": torch.full((i + 1,), float(i)) for i in range(13)}


def save(folder, name, state):
    torch.save(state, folder / f"{name}.bin")
    again = torch.load(folder / f"{name}.bin", weights_only=True)
    plain = {key: value.detach().clone(memory_format=torch.contiguous_format) for key, value in again.items()}
    save_file(plain, folder / f"{name}.safetensors")


def old_order(data):
    """The same archive as torch 1.7 to 2.3 wrote it: storages sorted as texts, no byteorder."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as old:
        names = [name for name in archive.namelist() if "/data/" in name]
        folder = names[0].split("/")[0]
        for name in [f"{folder}/data.pkl", *sorted(names), f"{folder}/version"]:
            old.writestr(zipfile.ZipInfo(name), archive.read(name))
    return out.getvalue()


def make(_options):
    torch.manual_seed(1)
    folder = common.OUT / "torch"
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for name, state in (("dtypes", dtypes()), ("views", views()), ("parameters", parameters()), ("tied", Tied().state_dict()), ("many", many())):
        save(folder, name, state)
    common.write_bytes(folder / "old_order.bin", old_order((folder / "many.bin").read_bytes()))
    # What is refused.
    torch.save({"state_dict": many(), "epoch": 3}, folder / "checkpoint.bin")
    torch.save(many(), folder / "legacy.bin", _use_new_zipfile_serialization=False)
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), folder / "script.bin")
    torch.save({"a": torch.zeros(2).to_sparse()}, folder / "sparse.bin")
    torch.save(torch.nn.Linear(2, 2), folder / "module.bin")
    # A model and its modules.
    torch.save(load_file(common.OUT / "bert-tiny" / "model" / "model.safetensors"), folder / "pytorch_model.bin")
    torch.save(load_file(common.OUT / "sentence" / "model" / "2_Dense" / "model.safetensors"), folder / "dense.bin")
    common.update_manifest("torch", common.versions("torch", "safetensors"))
