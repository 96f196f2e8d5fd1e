"""gradients/: the gradients of every weight of a random model of each architecture, computed by torch in double precision."""
import json
import struct

import torch
import transformers
from safetensors.torch import load_file, save_file

from . import common, hub_layouts

MODELS = {"bert": "bert-tiny/model", "albert": "architectures/albert", "deberta-v2": "architectures/deberta-v2",
          "deberta-v3": "architectures/deberta-v3", "distilbert": "architectures/distilbert", "electra": "architectures/electra",
          "modernbert": "architectures/modernbert", "mpnet": "architectures/mpnet", "roberta": "architectures/roberta", "gpt2": "decoders/gpt2",
          "llama": "decoders/llama", "mistral": "decoders/mistral", "qwen3": "decoders/qwen3", "gemma2": "decoders/gemma2", "gemma3": "decoders/gemma3", "eurobert": "eurobert/base", "t5": "embedders/sentence-t5/model",
          "nomic-moe": "hub_layouts/nomic-moe", "deberta": "variants/encoders/deberta", "deberta-v2-conv": "variants/encoders/deberta-v2-conv",
          "gpt-neox": "variants/decoders/gpt-neox", "phi": "variants/decoders/phi", "stablelm-parallel": "variants/decoders/stablelm-parallel",
          "olmo2": "variants/decoders/olmo2", "granite": "variants/decoders/granite",
          "lfm2": "variants/decoders/lfm2", "lfm2-bias": "variants/decoders/lfm2-bias",
          **{name: f"variants/encoders/{name}" for name in ("mobilebert", "mobilebert-layer-norm", "mobilebert-wide", "mobilebert-inside", "mobilebert-apart", "convbert")}}
SEQ2SEQ = {"t5": "seq2seq/t5", "bart": "seq2seq/bart", "umt5": "variants/seq2seq/umt5"}
LENGTHS = (11, 1, 6)


class NomicMoe(hub_layouts.NomicMoe):
    """Called as transformers' models are."""

    def __init__(self, folder):
        super().__init__(json.loads((folder / "config.json").read_text()))
        self.config = transformers.PretrainedConfig(vocab_size=self.c["vocab_size"])
        self.load_state_dict(load_file(folder / "model.safetensors"))

    def forward(self, input_ids):
        return transformers.modeling_outputs.BaseModelOutput(super().forward(input_ids, None)[0][-1])


def load(name, folder):
    if name == "nomic-moe":
        return NomicMoe(common.OUT / folder).double().eval()
    kind = transformers.T5EncoderModel if name == "t5" else transformers.AutoModel
    return kind.from_pretrained(str(common.OUT / folder), attn_implementation="eager").double().eval()


def names_in_file(folder):
    data = (common.OUT / folder / "model.safetensors").read_bytes()
    return [name for name in json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]]) if name != "__metadata__"]


def name_in_file(name, known):
    fits = [other for other in known if other == name or other.endswith("." + name)]
    assert len(fits) == 1, (name, fits)
    return fits[0]


def make_case(name, folder, out):
    torch.manual_seed(21)
    model = load(name, folder)
    sequences, gradients, loss = [], [], 0
    for length in LENGTHS:
        ids = torch.randint(5, model.config.vocab_size, (1, length))
        hidden = model(input_ids=ids).last_hidden_state
        gradient = torch.randn(hidden.shape).double()
        loss = loss + (hidden * gradient).sum()
        sequences.append(ids[0].tolist())
        gradients.append([float(x) for x in gradient.flatten().tolist()])
    loss.backward()
    known, tensors = names_in_file(folder), {}
    for parameter_name, parameter in model.named_parameters():
        gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
        tensors[name_in_file(parameter_name, known)] = gradient.float().contiguous()
    save_file(tensors, out / f"{name}.safetensors")
    return {"name": name, "folder": folder, "input_ids": sequences, "d_hidden": gradients}


def make_seq2seq_case(name, folder, out):
    """Of both stacks, for gradients of the decoder's last hidden states."""
    torch.manual_seed(22)
    model = transformers.AutoModel.from_pretrained(str(common.OUT / folder), attn_implementation="eager").double().eval()
    sources, targets, gradients, loss = [], [], [], 0
    for source_length, length in zip(LENGTHS, (5, 9, 1)):
        source, ids = (torch.randint(5, model.config.vocab_size, (1, n)) for n in (source_length, length))
        hidden = model(input_ids=source, decoder_input_ids=ids).last_hidden_state
        gradient = torch.randn(hidden.shape).double()
        loss = loss + (hidden * gradient).sum()
        sources.append(source[0].tolist())
        targets.append(ids[0].tolist())
        gradients.append([float(x) for x in gradient.flatten().tolist()])
    loss.backward()
    known = names_in_file(folder)
    tensors = {name_in_file(key, known): parameter.grad.float().contiguous() for key, parameter in model.named_parameters() if parameter.grad is not None}
    for key in known:
        if key not in tensors and "lm_head" not in key and "logits_bias" not in key:
            raise ValueError(key)
    save_file(tensors, out / f"{name}-both.safetensors")
    return {"name": name, "folder": folder, "sources": sources, "input_ids": targets, "d_hidden": gradients}


def make(_options):
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    folder = common.empty_folder("gradients")
    common.write_json(folder / "cases.json", [make_case(name, where, folder) for name, where in MODELS.items()], 2)
    common.write_json(folder / "seq2seq.json", [make_seq2seq_case(name, where, folder) for name, where in SEQ2SEQ.items()], 2)
    common.update_manifest("gradients", common.versions("torch", "transformers", "safetensors"))
