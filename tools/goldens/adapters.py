"""peft/: random adapters saved by PEFT over tiny models of the other parts, and those models' outputs with them."""
import json

import numpy
import peft
import safetensors.torch
import torch
import transformers

from . import common, tiny

BERT, LLAMA = "bert-tiny/model", "decoders/llama"
IDS = [[2, 9, 17, 30, 3], [2, 5, 41, 44, 8, 39, 12, 31, 3, 6, 50, 4, 4, 19]]
QV = ["query", "value"]
# name: the base, its class, the classes of logits if there are any, the fields of LoraConfig or of another config
CASES = {
    "bert": (BERT, "Model", None, dict(r=4, lora_alpha=8, target_modules=QV, task_type="FEATURE_EXTRACTION")),
    "bert-all": (BERT, "Model", None, dict(r=4, lora_alpha=6, use_rslora=True, target_modules="all-linear", bias="all",
                                           rank_pattern={"attention.output.dense": 3, "layer.1.attention.self.key": 5},
                                           alpha_pattern={"^encoder.layer.0.intermediate.dense": 16})),
    "bert-classes": (BERT, "ForSequenceClassification", 3, dict(r=3, lora_alpha=12, target_modules=QV, task_type="SEQ_CLS",
                                                               layers_to_transform=[1], bias="lora_only")),
    "bert-topics": (BERT, "ForSequenceClassification", 5, dict(r=2, target_modules=r".*\.self\.(query|key)|.*\.1\.output\.dense",
                                                              task_type="SEQ_CLS")),
    "bert-tokens": (BERT, "ForTokenClassification", 4, dict(r=2, target_modules=QV, task_type="TOKEN_CLS")),
    "distilbert": ("architectures/distilbert", "ForSequenceClassification", 3, dict(r=4, target_modules=["q_lin", "k_lin", "lin1"], task_type="SEQ_CLS")),
    "modernbert": ("architectures/modernbert", "Model", None, dict(r=4, target_modules=["Wqkv", "Wi", "Wo"])),
    "deberta": ("architectures/deberta-v3", "Model", None, dict(r=4, target_modules=["query_proj", "key_proj", "value_proj"])),
    "albert": ("architectures/albert", "Model", None, dict(r=4, target_modules=["query", "ffn_output", "embedding_hidden_mapping_in"])),
    "llama": (LLAMA, "ForCausalLM", None, dict(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")),
    "llama-head": ("decoders/smollm", "ForCausalLM", None, dict(r=3, target_modules=["q_proj", "v_proj", "lm_head"], task_type="CAUSAL_LM")),
    "llama-classes": (LLAMA, "ForSequenceClassification", 3, dict(r=4, target_modules=["k_proj", "down_proj"], task_type="SEQ_CLS")),
    "gpt2": ("decoders/gpt2", "ForCausalLM", None, dict(r=4, target_modules=["c_attn", "c_fc", "c_proj"], fan_in_fan_out=True, task_type="CAUSAL_LM")),
    "t5": ("seq2seq/t5", "ForSeq2SeqLM", None, dict(r=4, target_modules=["q", "v", "o", "wi"], task_type="SEQ_2_SEQ_LM")),
    "bert-dora": (BERT, "Model", None, dict(r=4, lora_alpha=6, use_dora=True, target_modules="all-linear", bias="all")),
    "bert-lora-bias": (BERT, "Model", None, dict(r=4, use_rslora=True, lora_bias=True, target_modules=r"(?i).*\.(QUERY|Value)|.*\.output\.DENSE")),
    "bert-embeddings": (BERT, "Model", None, dict(r=2, target_modules=["word_embeddings", "token_type_embeddings", "query"])),
    "bert-saved": (BERT, "Model", None, dict(r=2, target_modules=["value"], modules_to_save=["query", "word_embeddings", "token_type_embeddings", "LayerNorm"])),
    "bert-tokens-lora": (BERT, "Model", None, dict(r=2, target_modules=["value"], trainable_token_indices=[41, 9, 30])),
    "bert-ia3": (BERT, "Model", None, dict(config="IA3Config", target_modules=["key", "value", "output.dense"], feedforward_modules=["output.dense"])),
    "bert-lokr": (BERT, "Model", None, dict(config="LoKrConfig", r=2, alpha=6, target_modules=["query", "intermediate.dense"])),
    "bert-norms": (BERT, "Model", None, dict(config="LNTuningConfig", target_modules=["LayerNorm"])),
    "gpt2-dora": ("decoders/gpt2", "ForCausalLM", None, dict(r=4, use_dora=True, target_modules=["c_attn", "c_fc", "c_proj", "wte"], fan_in_fan_out=True, task_type="CAUSAL_LM")),
    "gpt2-saved": ("decoders/gpt2", "ForCausalLM", None, dict(r=4, target_modules=["c_fc"], fan_in_fan_out=True, modules_to_save=["attn.c_proj"], task_type="CAUSAL_LM")),
    "gpt2-ia3": ("decoders/gpt2", "ForCausalLM", None, dict(config="IA3Config", target_modules=["c_attn", "mlp.c_proj"], feedforward_modules=["mlp.c_proj"], fan_in_fan_out=True, task_type="CAUSAL_LM")),
    "llama-dora": (LLAMA, "ForCausalLM", None, dict(r=3, use_dora=True, target_modules=["q_proj", "down_proj", "lm_head", "embed_tokens"], layers_to_transform=None, task_type="CAUSAL_LM")),
    "llama-saved": (LLAMA, "ForCausalLM", None, dict(r=3, target_modules=["q_proj"], modules_to_save=["embed_tokens", "lm_head"], task_type="CAUSAL_LM")),
    "llama-tokens": (LLAMA, "ForCausalLM", None, dict(r=3, target_modules=["q_proj"], trainable_token_indices={"embed_tokens": [30, 5], "lm_head": [8]}, task_type="CAUSAL_LM")),
    "llama-only-tokens": (LLAMA, "ForCausalLM", None, dict(config="TrainableTokensConfig", token_indices=[30, 5, 8], task_type="CAUSAL_LM")),
    "llama-loha": (LLAMA, "ForCausalLM", None, dict(config="LoHaConfig", r=3, alpha=6, target_modules=["k_proj", "up_proj"], task_type="CAUSAL_LM")),
    "llama-lokr": (LLAMA, "ForCausalLM", None, dict(config="LoKrConfig", r=1, alpha=2, decompose_both=True, decompose_factor=4, target_modules=["q_proj", "up_proj"], task_type="CAUSAL_LM")),
    "llama-adalora": (LLAMA, "ForCausalLM", None, dict(config="AdaLoraConfig", init_r=5, target_r=3, total_step=10, target_modules=["q_proj", "down_proj"], task_type="CAUSAL_LM")),
    "tied-embeddings": ("decoders/smollm", "ForCausalLM", None, dict(r=3, target_modules=["embed_tokens", "v_proj"], task_type="CAUSAL_LM")),
    "tied-both": ("decoders/smollm", "ForCausalLM", None, dict(r=3, target_modules=["embed_tokens"], ensure_weight_tying=True, task_type="CAUSAL_LM")),
    "tied-saved": ("decoders/smollm", "ForCausalLM", None, dict(r=3, target_modules=["q_proj"], modules_to_save=["embed_tokens"], task_type="CAUSAL_LM")),
    "tied-saved-both": ("decoders/smollm", "ForCausalLM", None, dict(r=3, target_modules=["q_proj"], modules_to_save=["embed_tokens"], ensure_weight_tying=True, task_type="CAUSAL_LM")),
    "tied-tokens": ("decoders/smollm", "ForCausalLM", None, dict(r=3, target_modules=["q_proj"], trainable_token_indices=[40, 5, 8], task_type="CAUSAL_LM")),
    "t5-dora": ("seq2seq/t5", "ForSeq2SeqLM", None, dict(r=4, use_dora=True, target_modules=["q", "wi"], task_type="SEQ_2_SEQ_LM")),
    "t5-ia3": ("seq2seq/t5", "ForSeq2SeqLM", None, dict(config="IA3Config", target_modules=["k", "v", "wo"], feedforward_modules=["wo"], task_type="SEQ_2_SEQ_LM")),
    "gpt2-only-tokens": ("decoders/gpt2", "ForCausalLM", None, dict(config="TrainableTokensConfig", token_indices=[48, 4, 18], task_type="CAUSAL_LM")),
    "llama-head-of-a-layer": (LLAMA, "ForCausalLM", None, dict(r=3, target_modules=["q_proj", "lm_head"], layers_to_transform=[1], task_type="CAUSAL_LM")),
    "bert-tables-dora": (BERT, "Model", None, dict(r=2, lora_alpha=3, use_dora=True, target_modules=["word_embeddings", "token_type_embeddings", "position_embeddings"])),
    "bert-saved-pooler": (BERT, "Model", None, dict(r=2, target_modules=["value"], bias="all", modules_to_save=["pooler"])),
    "roberta-positions": ("architectures/roberta", "Model", None, dict(r=2, target_modules=["position_embeddings", "value"])),
    "gpt2-positions": ("decoders/gpt2", "ForCausalLM", None, dict(r=2, target_modules=["wpe", "c_fc"], fan_in_fan_out=True, task_type="CAUSAL_LM")),
    "tied-apart": ("decoders/smollm", "ForCausalLM", None, dict(r=3, target_modules=["q_proj"], trainable_token_indices={"embed_tokens": [16, 30], "lm_head": [8, 40]}, task_type="CAUSAL_LM")),
}
# In Python, merging is no formula of these: it changes a head that is tied to the embeddings, or leaves biases out.
UNMERGED = ("llama-head", "bert-all", "bert-dora", "gpt2-dora", "tied-embeddings", "tied-saved", "tied-saved-both", "tied-both", "tied-apart")


def load(base, kind, labels):
    more = {} if labels is None else {"num_labels": labels}
    return getattr(transformers, f"AutoModel{kind.removeprefix('Model')}").from_pretrained(common.OUT / base, attn_implementation="eager", **more).eval()


def randomize(model, generator):
    """Everything that is trained, so that each part of the adapter shows in the results."""
    for name, weight in model.named_parameters():
        if not weight.requires_grad:
            continue
        noise = torch.randn(weight.shape, generator=generator)
        if weight.dim() == 1:
            weight.data += 0.3 * noise
        else:
            weight.data.copy_(noise * (0.5 if "lora_" in name else 1.0) / weight.shape[1] ** 0.5)  # in place: it may be shared


def answer(model, kind, dtype):
    model = model.to(dtype)
    out = []
    for ids in IDS:
        more = {"decoder_input_ids": torch.tensor([IDS[0]])} if kind == "ForSeq2SeqLM" else {}
        with torch.no_grad():
            result = model(input_ids=torch.tensor([ids]), **more)
        out.append(result.logits[0] if "logits" in result else result.last_hidden_state[0])
    return out


def make(_options):
    folder = tiny.begin("peft")
    generator = torch.Generator().manual_seed(20)
    rows = []
    for name, (base, kind, labels, fields) in CASES.items():
        torch.manual_seed(20)
        fields = dict(fields)
        model = peft.get_peft_model(load(base, kind, labels), getattr(peft, fields.pop("config", "LoraConfig"))(**fields))
        randomize(model, generator)
        model.save_pretrained(folder / name)
        config = json.loads((folder / name / "adapter_config.json").read_text())
        for key in ("target_modules", "modules_to_save", "feedforward_modules"):  # sets, in an order of their own
            if isinstance(config.get(key), list):
                config[key] = sorted(config[key])
        config["base_model_name_or_path"] = base
        (folder / name / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
        (folder / name / "README.md").unlink(missing_ok=True)
        # What PEFT reads back, not what it wrote.
        fresh = peft.PeftModel.from_pretrained(load(base, kind, labels), folder / name).eval()
        plain = answer(load(base, kind, labels), kind, torch.float64)
        exact, single = answer(fresh, kind, torch.float64), answer(fresh, kind, torch.float32)
        merged = peft.PeftModel.from_pretrained(load(base, kind, labels), folder / name).merge_and_unload().eval()
        assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(answer(merged, kind, torch.float64), exact)) or name in UNMERGED, name
        rows.append({"name": name, "base": base, "class": kind, "input_ids": IDS, "outputs": [tiny.floats(x) for x in exact],
                     "changes": min(tiny.diff(a, b) for a, b in zip(exact, plain)),
                     "f32_diff": max(tiny.diff(a, b) for a, b in zip(exact, single))})
        print(name, rows[-1]["changes"], rows[-1]["f32_diff"])
    common.write_json(folder / "cases.json", rows, depth=2)
    common.update_manifest("peft", common.versions("torch", "transformers", "peft"))
