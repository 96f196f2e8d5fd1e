"""gguf-gated-delta/: GGUF files of Qwen3.5 as llama.cpp's converter writes them, and transformers' generate() output with the same weights.

Names are gguf-py's (tensor_mapping.py); keys and changes of tensors those of llama.cpp's conversion/qwen.py (at 03173d5e)."""
import shutil

import gguf
import numpy as np
import torch
import transformers

from . import common, gguf_decoders, gguf_families, seq2seq

FOLDER = common.OUT / "gguf-gated-delta"
Type = gguf.GGMLQuantizationType
USUAL = dict(vocab_size=gguf_families.VOCAB, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=16, intermediate_size=40,
             max_position_embeddings=64, bos_token_id=None, eos_token_id=gguf_families.EOS, pad_token_id=0, attn_implementation="eager",
             linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=8, linear_value_head_dim=8, linear_conv_kernel_dim=4)  # fmt: skip
# name: (config, type of matrices, layers that predict later tokens, seed)
DECODERS = {
    "groups": (dict(USUAL), Type.F16, 0, 1),
    # As newer converters write it: with the layers for speculative decoding after the others.
    "mtp": (dict(USUAL, num_hidden_layers=2, full_attention_interval=2, linear_num_value_heads=2, tie_word_embeddings=True), Type.F16, 1, 2),
    # llama.cpp needs values as wide as keys, its files do not.
    "wide": (dict(USUAL, num_hidden_layers=3, full_attention_interval=3, intermediate_size=64, linear_value_head_dim=16, linear_num_value_heads=4, linear_conv_kernel_dim=3), Type.Q8_0, 0, 3),
}  # fmt: skip
OFFSET_NORMS = ("layernorm.weight", "model.norm.weight", "q_norm.weight", "k_norm.weight")


def order_of(config, key):
    """(axis, places): the converter's order of value heads, from those of each key head to the first ones of all."""
    heads, groups, size = config.linear_num_value_heads, config.linear_num_key_heads, config.linear_value_head_dim
    width = 1 if any(name in key for name in ("in_proj_a", "in_proj_b", "A_log", "dt_bias")) else size
    places = np.arange(heads * width).reshape(groups, -1, width).swapaxes(0, 1).reshape(-1)
    if "in_proj_qkv" in key or "conv1d" in key:
        keys = 2 * groups * config.linear_key_head_dim
        places = np.concatenate([np.arange(keys), keys + places])
    return (1 if "out_proj" in key else 0), places


def decoder(name, words, kind, predicting, seed):
    config = transformers.Qwen3_5TextConfig(**words)
    model = transformers.Qwen3_5ForCausalLM._from_config(config, attn_implementation="eager")
    seq2seq.randomize(model, seed)
    layers = config.num_hidden_layers
    writer = gguf.GGUFWriter(FOLDER / f"{name}.gguf", "qwen35")
    gguf_families.head_keys(writer, config.to_dict(), layers + predicting)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
    writer.add_ssm_state_size(config.linear_key_head_dim)
    writer.add_ssm_group_count(config.linear_num_key_heads)
    writer.add_ssm_time_step_rank(config.linear_num_value_heads)
    writer.add_ssm_inner_size(config.linear_value_head_dim * config.linear_num_value_heads)
    writer.add_full_attention_interval(words.get("full_attention_interval", 4))
    writer.add_rope_dimension_count(int(config.head_dim * config.rope_parameters["partial_rotary_factor"]))
    writer.add_rope_dimension_sections([11, 11, 10, 0])
    if predicting:
        writer.add_nextn_predict_layers(predicting)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN35, layers + predicting)
    for key, weight in model.state_dict().items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        file = names.get_name(key.replace(".dt_bias", ".dt_proj.bias"), (".weight", ".bias"))
        assert file, key
        value = weight.float().numpy()
        value = value[:, 0] if "conv1d" in key else value
        axis, places = order_of(config, key) if ".linear_attn." in key and ".norm." not in key else (0, np.arange(len(value)))
        value = np.ascontiguousarray(value.take(places, axis))
        own = kind if value.ndim == 2 and "conv1d" not in key else Type.F32
        data = gguf.quants.quantize(value, own)
        means = np.empty_like(value)
        means[(slice(None),) * axis + (places,)] = gguf.quants.dequantize(data, own).astype(np.float32).reshape(value.shape)
        weight.data.copy_(torch.from_numpy(means).reshape(weight.shape))
        if key.endswith("A_log"):
            data = -np.exp(data)
        elif key.endswith(OFFSET_NORMS):
            data = data + 1
        writer.add_tensor(file, data, raw_dtype=own)
        if predicting and key.startswith("model.layers.1."):
            writer.add_tensor(file.replace("blk.1.", f"blk.{layers}."), data, raw_dtype=own)
    for part in ("eh_proj", "enorm", "hnorm", "shared_head_norm") if predicting else ():
        shape = (config.hidden_size, 2 * config.hidden_size) if part == "eh_proj" else (config.hidden_size,)
        writer.add_tensor(f"blk.{layers}.nextn.{part}.weight", np.full(shape, 0.5, np.float32))
    gguf_decoders.finish(writer, [(f"t{i}", 0.0, gguf.TokenType.NORMAL) for i in range(gguf_families.VOCAB)], "gpt2", "qwen35")
    return gguf_decoders.generate(model, gguf_decoders.PROMPTS, drop=True)


def make(_options):
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    FOLDER.mkdir(parents=True)
    decoders = {name: decoder(name, *case) for name, case in DECODERS.items()}
    expected = {"model_types": dict.fromkeys(decoders, "qwen3_5_text"), "prompts": gguf_decoders.PROMPTS, "runs": gguf_decoders.RUNS, "decoders": decoders}
    common.write_json(FOLDER / "expected.json", expected, depth=4)
    common.update_manifest("gguf-gated-delta", common.versions("torch", "transformers", "numpy", "gguf"))
