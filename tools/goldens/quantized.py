"""quantized/: tiny random models whose matrices are quantized, in the layout of each method, and torch's results with the numbers that they
represent.

The numbers come from the formulas of the methods in numpy, in f32, and are compared here with the method's own library where it runs on a CPU
(bitsandbytes, mlx, compressed-tensors, and transformers for FP8). GPTQ's and AWQ's libraries need a GPU to pack, so their packing is here:
gptqmodel/nn_modules/qlinear, awq/modules/linear/gemm.py. They all want matrices of whole groups; the tails are ours.

Needs bitsandbytes, compressed-tensors and mlx[cpu]."""
import hashlib
import json
import math

import bitsandbytes as bnb
import mlx.core as mx
import numpy as np
import torch
import transformers
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from compressed_tensors.quantization import QuantizationArgs
from compressed_tensors.quantization.lifecycle.forward import dequantize
from safetensors.torch import save_file

from . import common, tiny

FOLDER = common.OUT / "quantized"
IDS = [[5, 9, 33, 7, 61, 20, 14, 3, 3, 48, 11]]
USUAL = dict(vocab_size=72, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
WHOLE = dict(USUAL, hidden_size=64, intermediate_size=192, num_key_value_heads=2, tie_word_embeddings=True)
TAILS = dict(WHOLE, hidden_size=40, intermediate_size=50)
BERT = dict(USUAL, hidden_size=40, intermediate_size=50)
FP8 = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}
f32 = np.float32


def spread(scale, shape, block):
    """A scale for each value."""
    return np.repeat(np.repeat(scale, block[0], 0), block[1], 1)[: shape[0], : shape[1]]


def as_numpy(tensor):
    return tensor.detach().float().numpy()


def blocks_of(weight, block, most):
    """The largest magnitude of each block, over the largest of the type."""
    rows, columns = (math.ceil(size / step) for size, step in zip(weight.shape, block))
    padded = np.zeros((rows * block[0], columns * block[1]), f32)
    padded[: weight.shape[0], : weight.shape[1]] = np.abs(weight)
    return np.maximum(padded.reshape(rows, block[0], columns, block[1]).max((1, 3)) / f32(most), f32(1e-8)).astype(f32)


def fp8(block=None, kind=torch.float8_e4m3fn, ending="weight_scale_inv", scale_type=torch.float32, scalar=False):
    """block: rows and columns that share a scale; 0 or None: all of them."""
    def method(name, weight, _):
        value = as_numpy(weight)
        own = tuple(step or size for step, size in zip(block or (0, 0), value.shape))
        scale = torch.from_numpy(blocks_of(value, own, FP8[kind])).to(scale_type)
        codes = torch.from_numpy(value / spread(as_numpy(scale), value.shape, own)).to(kind)
        means = as_numpy(codes) * spread(as_numpy(scale), value.shape, own)
        return {f"{name}.weight": codes, f"{name}.{ending}": scale[0, 0].clone() if scalar else scale}, means
    return method


def static_fp8(name, weight, rng):
    """A scale for the tensor, and one for activations; some in E5M2."""
    kind = torch.float8_e5m2 if "output" in name else torch.float8_e4m3fn
    tensors, means = fp8(None, kind, scalar=True)(name, weight, rng)
    return {**tensors, f"{name}.activation_scale": torch.tensor(0.5)}, means


def mlx(bits_of, size):
    def method(name, weight, _):
        codes, scales, biases = mx.quantize(mx.array(as_numpy(weight)).astype(mx.float16), group_size=size, bits=bits_of(name))
        scales, biases = (np.array(each.astype(mx.float32)) for each in (scales, biases))
        packed = np.array(codes)
        bits = np.unpackbits(packed.view(np.uint8), axis=1, bitorder="little").reshape(len(packed), -1, bits_of(name))
        q = (bits * (1 << np.arange(bits_of(name)))).sum(2).astype(f32)
        means = q * np.repeat(scales, size, 1) + np.repeat(biases, size, 1)
        theirs = np.array(mx.dequantize(codes, mx.array(scales), mx.array(biases), size, bits_of(name)))
        assert np.abs(means - theirs).max() < 1e-6
        half = torch.float16
        return {f"{name}.weight": torch.from_numpy(packed), f"{name}.scales": torch.from_numpy(scales).to(half), f"{name}.biases": torch.from_numpy(biases).to(half)}, means  # fmt: skip
    return method


def bnb_int8(name, weight, _):
    codes, scales, _ = bnb.functional.int8_vectorwise_quant(weight.detach().half())
    theirs = bnb.functional.int8_vectorwise_dequant(codes, scales)
    means = as_numpy(codes) * scales.float().numpy()[:, None] * f32(7.874015718698502e-3)
    assert np.array_equal(means, as_numpy(theirs))
    return {f"{name}.weight": codes, f"{name}.SCB": scales.float(), f"{name}.weight_format": torch.tensor(0, dtype=torch.uint8)}, means


def bnb_4bit(kind, nested):
    def method(name, weight, _):
        codes, state = bnb.functional.quantize_4bit(weight.detach(), quant_type=kind, blocksize=64, compress_statistics=nested)
        theirs = as_numpy(bnb.functional.dequantize_4bit(codes, state))
        absmax = state.absmax.numpy()
        if nested:
            outer = np.repeat(state.state2.absmax.numpy(), 256)[: len(absmax)]
            absmax = state.state2.code.numpy()[absmax] * outer + f32(state.offset.item())
        halves = codes.numpy().reshape(-1)
        q = np.stack([halves >> 4, halves & 15], 1).reshape(-1)[: weight.numel()]
        means = (state.code.numpy()[q] * np.repeat(absmax, 64)[: len(q)]).reshape(weight.shape)
        assert np.array_equal(means, theirs)
        return {f"{name}.weight": codes, **{f"{name}.weight.{key}": value for key, value in state.as_dict(packed=True).items()}}, means
    return method


def groups_of(value, bits, size, symmetric):
    """(codes, scales, zeros) of groups along the columns; the last one may be shorter."""
    count, most = math.ceil(value.shape[1] / size), (1 << bits) - 1
    scales, zeros = np.zeros((len(value), count), np.float16), np.zeros((len(value), count), np.int64)
    codes = np.zeros(value.shape, np.int64)
    for group in range(count):
        part = value[:, group * size : (group + 1) * size]
        low, high = np.minimum(part.min(1), 0), np.maximum(part.max(1), 0)
        if symmetric:
            low, high = -np.maximum(-low, high), np.maximum(-low, high)
        scales[:, group] = (high - low) / most
        step = scales[:, group].astype(f32)
        zeros[:, group] = (most + 1) // 2 if symmetric else np.clip(np.round(-low / step), 1, most)
        codes[:, group * size : (group + 1) * size] = np.clip(np.round(part / step[:, None]) + zeros[:, group, None], 0, most)
    return codes, scales, zeros


def means_of(codes, scales, zeros, index):
    return (codes - zeros[:, index]).astype(f32) * scales.astype(f32)[:, index]


def packed(codes, bits, axis, order=None):
    """Words of 32 bits along an axis. order: the places of the codes in a word."""
    per = 32 // bits
    codes = np.moveaxis(codes, axis, -1)
    codes = np.pad(codes, ((0, 0), (0, -codes.shape[1] % per))).reshape(len(codes), -1, per).astype(np.uint64)
    places = np.arange(per) if order is None else np.argsort(order)
    words = (codes << (places * bits).astype(np.uint64)).sum(2).astype(np.uint32).view(np.int32)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(words, -1, axis)))


def gptq(bits, size, version, ordered):
    def method(name, weight, rng):
        value = as_numpy(weight)
        # With desc_act, columns are sorted before they are grouped.
        sorting = rng.permutation(value.shape[1]) if ordered else np.arange(value.shape[1])
        codes, scales, zeros = groups_of(value[:, sorting], bits, size, False)
        index = np.zeros(value.shape[1], np.int64)
        index[sorting] = np.arange(value.shape[1]) // size
        codes[:, sorting] = codes.copy()
        stored = (zeros - (version == 1)) & ((1 << bits) - 1)
        return {
            f"{name}.qweight": packed(codes.T, bits, 0),
            f"{name}.qzeros": packed(stored.T, bits, 1),
            f"{name}.scales": torch.from_numpy(np.ascontiguousarray(scales.T)),
            f"{name}.g_idx": torch.from_numpy(index.astype(np.int32)),
        }, means_of(codes, scales, zeros, index)
    return method


def awq(size):
    def method(name, weight, _):
        codes, scales, zeros = groups_of(as_numpy(weight), 4, size, False)
        order = [0, 2, 4, 6, 1, 3, 5, 7]  # AWQ_ORDER: which output is at each place
        return {
            f"{name}.qweight": packed(codes.T, 4, 1, order),
            f"{name}.qzeros": packed(zeros.T, 4, 1, order),
            f"{name}.scales": torch.from_numpy(np.ascontiguousarray(scales.T)),
        }, means_of(codes, scales, zeros, np.arange(codes.shape[1]) // size)
    return method


def compressed(bits, size, symmetric, is_packed):
    """size: of groups; None: a scale for each row."""
    def method(name, weight, _):
        value = as_numpy(weight)
        codes, scales, zeros = groups_of(value, bits, size or value.shape[1], symmetric)
        half = 1 << (bits - 1)
        q, z, s = torch.from_numpy(codes - half).to(torch.int8), torch.from_numpy(zeros - half).to(torch.int8), torch.from_numpy(scales)
        args = QuantizationArgs(num_bits=bits, symmetric=symmetric, strategy="group" if size else "channel", group_size=size)
        theirs = dequantize(q, s.float(), None if symmetric else z, args)
        means = means_of(codes, scales, zeros, np.arange(value.shape[1]) // (size or value.shape[1]))
        assert np.array_equal(means, as_numpy(theirs))
        tensors = {f"{name}.weight_scale": s}
        if not symmetric:
            tensors[f"{name}.weight_zero_point"] = pack_to_int32(z, bits, packed_dim=0) if is_packed else z
        if is_packed:
            return {**tensors, f"{name}.weight_packed": pack_to_int32(q, bits), f"{name}.weight_shape": torch.tensor(value.shape)}, means
        return {**tensors, f"{name}.weight": q}, means
    return method


def mixed(name):
    return 8 if "down_proj" in name else 3 if "up_proj" in name else 6 if "o_proj" in name else 5 if "q_proj" in name else 4


def ct(form, **weights):
    return {"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"], "quantization_status": "compressed",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}}}  # fmt: skip


BNB4 = {"quant_method": "bitsandbytes", "_load_in_4bit": True, "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_compute_dtype": "float32"}
MIXED = {"group_size": 32, "bits": 4, "mode": "affine"}
# name: (class, config, quantization_config, method, shards)
CASES = {
    "fp8-blocks": ("Llama", WHOLE, {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [32, 32]}, fp8((32, 32), scale_type=torch.bfloat16), 1),
    "fp8-tails": ("Qwen2", WHOLE, {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [48, 40]}, fp8((48, 40)), 3),
    "fp8-tensors": ("Bert", BERT, {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None}, static_fp8, 1),
    "fp8-rows": ("Llama", TAILS, ct("float-quantized", num_bits=8, type="float", strategy="channel", symmetric=True), fp8((1, 0), ending="weight_scale", scale_type=torch.bfloat16), 1),
    "int8-rows": ("Llama", TAILS, ct("int-quantized", num_bits=8, type="int", strategy="channel", symmetric=False), compressed(8, None, False, False), 1),
    "int4-packed": ("Llama", TAILS, ct("pack-quantized", num_bits=4, type="int", strategy="group", group_size=10, symmetric=False), compressed(4, 10, False, True), 2),
    "int4-packed-rows": ("Llama", TAILS, ct("pack-quantized", num_bits=4, type="int", strategy="channel", symmetric=True), compressed(4, None, True, True), 1),
    "mlx": ("Llama", WHOLE, MIXED, mlx(mixed, 32), 3),
    "mlx-8": ("Qwen2", WHOLE, {"group_size": 64, "bits": 8}, mlx(lambda _: 8, 64), 1),
    "bnb-int8": ("Bert", BERT, {"quant_method": "bitsandbytes", "load_in_8bit": True, "_load_in_8bit": True}, bnb_int8, 1),
    "bnb-nf4": ("Llama", TAILS, {**BNB4, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}, bnb_4bit("nf4", True), 2),
    "bnb-fp4": ("Llama", TAILS, {**BNB4, "bnb_4bit_quant_type": "fp4", "bnb_4bit_use_double_quant": False}, bnb_4bit("fp4", False), 1),
    "gptq": ("Llama", dict(TAILS, intermediate_size=56), {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True, "sym": False}, gptq(4, 32, 1, True), 2),
    "gptq-8": ("Llama", dict(TAILS, intermediate_size=56), {"quant_method": "gptq", "bits": 8, "group_size": 32, "checkpoint_format": "gptq_v2"}, gptq(8, 32, 2, False), 1),
    "awq": ("Qwen2", WHOLE, {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}, awq(32), 1),
}  # fmt: skip


def quantize(name, model, method, quantization):
    """(tensors, {name: what they mean}). The model gets these, too."""
    rng = np.random.default_rng(3)
    tensors, means = {}, {}
    for key, weight in model.state_dict().items():
        is_table = "embed" in key
        is_matrix = weight.dim() == 2 and (not is_table or (name.startswith("mlx") and "embed_tokens" in key)) and "lm_head" not in key
        if key == "lm_head.weight":
            continue
        if not is_matrix:
            tensors[key] = weight.clone()
            continue
        layer = key.removesuffix(".weight")
        parts, value = method(layer, weight, rng)
        value = np.ascontiguousarray(value, f32)
        tensors.update(parts)
        weight.copy_(torch.from_numpy(value.copy()))
        means[key] = hashlib.sha256(value.tobytes()).hexdigest()
        if name == "mlx" and mixed(layer) != 4:
            quantization[layer] = {"group_size": 32, "bits": mixed(layer)}
    return tensors, means


def save(folder, tensors, shards):
    """Shards by turns, so that tensors that belong together are apart."""
    folder.mkdir()
    if shards == 1:
        return save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    files = [f"model-{i + 1:05d}-of-{shards:05d}.safetensors" for i in range(shards)]
    places = {key: files[i % shards] for i, key in enumerate(sorted(tensors))}
    for file in files:
        save_file({key: tensors[key] for key in tensors if places[key] == file}, folder / file, {"format": "pt"})
    common.write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})


def check_fp8(folder, model, hidden):
    """transformers' own reading of FP8."""
    config = transformers.FineGrainedFP8Config(dequantize=True, weight_block_size=(32, 32))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, quantization_config=config, dtype=torch.float32)
    assert (theirs.model(torch.tensor(IDS)).last_hidden_state - hidden).abs().max() < 1e-5


def make(_options):
    tiny.begin("quantized")
    expected = {"input_ids": IDS, "cases": {}}
    tokenizer = tiny.make_tokenizer(["[PAD]", "[UNK]"], "$A")
    (FOLDER / "tokenizer.json").write_text(tokenizer.backend_tokenizer.to_str())
    for seed, (name, (kind, config, quantization, method, shards)) in enumerate(CASES.items()):
        quantization = json.loads(json.dumps(quantization))
        ending = "Model" if kind == "Bert" else "ForCausalLM"
        settings = getattr(transformers, f"{kind}Config")(**config, bos_token_id=None, eos_token_id=1, pad_token_id=0)
        model = tiny.randomize(getattr(transformers, f"{kind}{ending}")(settings), seed)
        with torch.no_grad():
            tensors, means = quantize(name, model, method, quantization)
            hidden = getattr(model, "model", model)(torch.tensor(IDS)).last_hidden_state
        save(FOLDER / name, tensors, shards)
        fields = {**settings.to_dict(), "architectures": [f"{kind}{ending}"]}
        fields["quantization" if name.startswith("mlx") else "quantization_config"] = quantization
        common.write_json(FOLDER / name / "config.json", fields)
        if name == "fp8-blocks":
            check_fp8(FOLDER / name, model, hidden)
        expected["cases"][name] = {"weights": means, "hidden": tiny.floats(hidden)}
    common.write_json(FOLDER / "expected.json", expected, 3)
    common.update_manifest("quantized", common.versions("torch", "transformers", "numpy", "safetensors", "bitsandbytes", "mlx", "compressed-tensors"))
