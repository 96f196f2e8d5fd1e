"""variants/: configurations of known architectures that few checkpoints have, and the defaults of every configuration class."""
import json

import sentencepiece
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, LlamaConfig, OPTConfig, Phi3Config

from . import architectures, common, decoders, seq2seq, tiny

FOLDER = common.OUT / "variants"
# Classes of configuration whose defaults a config.json may leave out.
CONFIGS = ("Albert", "Arcee", "Bart", "Bert", "Blenderbot", "BlenderbotSmall", "Bloom", "Camembert", "CodeGen", "Cohere", "Cohere2", "ConvBert", "DPR", "Deberta", "DebertaV2", "DistilBert", "Electra", "Ernie", "Ernie4_5", "EuroBert", "Exaone", "Exaone4", "Gemma", "Gemma2", "Gemma3Text", "Glm", "Glm4", "GPT2", "GPTBigCode", "GPTJ", "GPTNeo", "GPTNeoX", "Granite",
           "Gte", "Helium", "HunYuanDenseV1", "LED", "Lfm2", "Llama", "Longformer", "LongT5", "M2M100", "Marian", "MegatronBert", "Ministral", "Ministral3", "Mistral", "MBart", "MobileBert", "ModernBert", "ModernBertDecoder", "MPNet", "Mpt", "MT5", "NanoChat", "NomicBert", "Olmo", "Olmo2", "Olmo3", "OPT", "Pegasus", "Phi", "Phi3", "Qwen2", "Qwen3", "Qwen3_5Text", "Roberta",
           "RoFormer", "SmolLM3", "SqueezeBert", "StableLm", "Starcoder2", "T5", "UMT5", "VaultGemma", "XGLM", "XLM", "XLMRoberta")


def save_defaults():
    """What each class makes of an empty config.json, without the keys that name the library."""
    rows = {}
    for name in CONFIGS:
        config = getattr(transformers, f"{name}Config")()
        words = config.to_dict()
        rows[config.model_type] = {key: words[key] for key in sorted(words) if key not in ("transformers_version", "dtype", "id2label", "label2id")}
    common.write_json(FOLDER / "defaults.json", rows)


class NeoBert(torch.nn.Module):
    """model.py of chandar-lab/NeoBERT, put down again: RMSNorm before each sublayer, pairs of neighbours that rotate, SwiGLU."""

    def __init__(self, config):
        super().__init__()
        nn, c = torch.nn, config
        hidden, inner = c["hidden_size"], -(-(2 * c["intermediate_size"] // 3) // 8) * 8
        norm = lambda: nn.RMSNorm(hidden, eps=c["norm_eps"])
        linear = lambda rows, width: nn.Linear(width, rows, bias=False)
        self.config = None
        self.heads = c["num_attention_heads"]
        self.encoder = nn.Embedding(c["vocab_size"], hidden)
        self.transformer_encoder = nn.ModuleList(nn.ModuleDict({
            "qkv": linear(3 * hidden, hidden), "wo": linear(hidden, hidden), "attention_norm": norm(), "ffn_norm": norm(),
            "ffn": nn.ModuleDict({"w12": linear(2 * inner, hidden), "w3": linear(hidden, inner)})}) for _ in range(c["num_hidden_layers"]))
        self.layer_norm = norm()

    def rotate(self, x):
        """x: [1, heads, tokens, head]"""
        head, tokens = x.shape[-1], x.shape[-2]
        angles = torch.outer(torch.arange(tokens).float(), 1.0 / 10000.0 ** (torch.arange(0, head, 2).float() / head))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)

    def forward(self, input_ids, token_type_ids=None):
        x = self.encoder(input_ids)
        states, attentions = [x], []
        for layer in self.transformer_encoder:
            q, k, v = layer["qkv"](layer["attention_norm"](x)).view(*x.shape[:2], self.heads, -1).transpose(1, 2).chunk(3, dim=-1)
            probs = (self.rotate(q) @ self.rotate(k).transpose(2, 3) / q.shape[-1] ** 0.5).softmax(-1)
            x = x + layer["wo"]((probs @ v).transpose(1, 2).reshape(x.shape))
            gate, other = layer["ffn"]["w12"](layer["ffn_norm"](x)).chunk(2, dim=-1)
            x = x + layer["ffn"]["w3"](torch.nn.functional.silu(gate) * other)
            states.append(x)
            attentions.append(probs)
        states[-1] = self.layer_norm(states[-1])
        return states, attentions, None


NEOBERT = {"model_type": "neobert", "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40, "vocab_size": 60,
           "max_length": 40, "norm_eps": 1e-5, "hidden_act": "SwiGLU", "rms_norm": True, "rope": True, "pad_token_id": 0}


def renamed(folder, rename, words):
    """A saved Llama in another family's words."""
    tensors = {rename(name): tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    common.write_json(folder / "config.json", words(config))


class AsExaone(transformers.LlamaForCausalLM):
    """A Llama with the names of LGAI-EXAONE's first repositories (transformers' conversion_mapping.py has them the other way round)."""

    def save_pretrained(self, folder, **options):
        super().save_pretrained(folder, **options)
        pairs = (("model.embed_tokens.", "transformer.wte."), ("model.layers.", "transformer.h."), ("model.norm.", "transformer.ln_f."),
                 (".self_attn.o_proj.", ".attn.attention.out_proj."), (".self_attn.", ".attn.attention."), (".input_layernorm.", ".ln_1."),
                 (".post_attention_layernorm.", ".ln_2."), (".gate_proj.", ".c_fc_0."), (".up_proj.", ".c_fc_1."), (".down_proj.", ".c_proj."))

        def rename(name):
            for old, new in pairs:
                name = name.replace(old, new)
            return name

        keys = {"num_hidden_layers": "num_layers", "rms_norm_eps": "layer_norm_epsilon", "hidden_act": "activation_function"}
        renamed(folder, rename, lambda config: {**{keys.get(key, key): value for key, value in config.items()}, "model_type": "exaone",
                                                "architectures": ["ExaoneForCausalLM"]})


class AsMiniCpm(transformers.GraniteForCausalLM):
    """A Granite with the words of openbmb's MiniCPM, whose factors are the same."""

    def save_pretrained(self, folder, **options):
        super().save_pretrained(folder, **options)
        renamed(folder, lambda name: name, lambda config: {
            **{key: value for key, value in config.items() if key not in ("attention_multiplier", "embedding_multiplier", "logits_scaling", "residual_multiplier")},
            "model_type": "minicpm", "architectures": ["MiniCPMForCausalLM"], "scale_emb": config["embedding_multiplier"],
            "scale_depth": config["residual_multiplier"] * config["num_hidden_layers"] ** 0.5,
            "dim_model_base": config["hidden_size"] / config["logits_scaling"]})


class AsMobileLlm(transformers.LlamaForCausalLM):
    """A Llama whose head is its embeddings, with the words of facebook's MobileLLM."""

    def save_pretrained(self, folder, **options):
        super().save_pretrained(folder, **options)
        renamed(folder, lambda name: name, lambda config: {**config, "model_type": "mobilellm", "architectures": ["MobileLLMForCausalLM"],
                                                           "share_embedding": True, "layer_sharing": False, "tie_word_embeddings": False})


class Dpr(torch.nn.Module):
    """The question encoder, with the names of its checkpoints."""

    def __init__(self, words):
        super().__init__()
        config = transformers.DPRConfig(**words, attn_implementation="eager")
        self.question_encoder = transformers.DPRQuestionEncoder(config).question_encoder

    def forward(self, input_ids, token_type_ids):
        out = self.question_encoder.bert_model(input_ids=input_ids, token_type_ids=token_type_ids, output_hidden_states=True, output_attentions=True)
        return out.hidden_states, out.attentions, None


class SqueezeBert(torch.nn.Module):
    """With the names of a checkpoint that has a head. What the class gives as attentions are scores."""

    def __init__(self, words):
        super().__init__()
        self.transformer = transformers.SqueezeBertModel(transformers.SqueezeBertConfig(**words))

    def forward(self, input_ids, token_type_ids):
        out = self.transformer(input_ids=input_ids, token_type_ids=token_type_ids, output_hidden_states=True, output_attentions=True, return_dict=True)
        return out.hidden_states, [scores.softmax(-1) for scores in out.attentions], out.pooler_output


class Longformer(torch.nn.Module):
    """With the names of a checkpoint that has a head. The class gives the attention to a window's tokens alone."""

    def __init__(self, words):
        super().__init__()
        self.longformer = transformers.LongformerModel(transformers.LongformerConfig(**words))

    def forward(self, input_ids, token_type_ids):
        out = self.longformer(input_ids=input_ids, output_hidden_states=True, output_attentions=True)
        tokens, attentions = input_ids.shape[1], []
        for windows in out.attentions:  # [1, tokens, heads, window + 1] or with heads before tokens
            heads = windows if windows.shape[1] != tokens or windows.shape[2] == tokens else windows.transpose(1, 2)
            whole, half = torch.zeros(1, heads.shape[1], tokens, tokens, dtype=heads.dtype), heads.shape[3] // 2
            for i in range(tokens):
                for j in range(max(0, i - half), min(tokens, i + half + 1)):
                    whole[:, :, i, j] = heads[:, :, i, j - i + half]
            attentions.append(whole)
        return out.hidden_states, attentions, out.pooler_output


class XGLMForCausalLM(transformers.XGLMForCausalLM):
    """Also in double precision, where its mask is a number that no float is."""

    def forward(self, *args, **more):
        before = torch.get_default_dtype()
        torch.set_default_dtype(self.lm_head.weight.dtype)
        try:
            return super().forward(*args, **more)
        finally:
            torch.set_default_dtype(before)


# As CASES of architectures.py, decoders.py and seq2seq.py.
DEBERTA = dict(architectures.USUAL, relative_attention=True, pos_att_type="c2p|p2c", position_biased_input=False)
# Activations without kinks, so that differences can check gradients; "mobilebert" itself has ReLU. Without norms, smaller weights keep states small.
MOBILE = dict(architectures.USUAL, embedding_size=8, intra_bottleneck_size=12, num_feedforward_networks=4, hidden_act="gelu")
MOBILEBERTS = {
    "mobilebert": dict(hidden_act="relu"),
    "mobilebert-layer-norm": dict(normalization_type="layer_norm", num_feedforward_networks=2),
    "mobilebert-wide": dict(use_bottleneck=False, num_feedforward_networks=1),
    "mobilebert-inside": dict(use_bottleneck_attention=True, trigram_input=False, num_feedforward_networks=3),
    "mobilebert-apart": dict(key_query_shared_bottleneck=False, intra_bottleneck_size=24, trigram_input=False, embedding_size=24),
}
ENCODERS = {
    "bert-quick-gelu": ("Bert", dict(architectures.USUAL, hidden_act="quick_gelu")),
    "deberta": ("Deberta", DEBERTA),
    "deberta-short": ("Deberta", dict(DEBERTA, max_relative_positions=7, position_biased_input=True, type_vocab_size=2)),
    "deberta-v2-short": ("DebertaV2", dict(architectures.CASES["deberta-v2"][1], position_buckets=-1, max_relative_positions=9)),
    "deberta-v3-short": ("DebertaV2", dict(architectures.CASES["deberta-v3"][1], position_buckets=8, max_relative_positions=12)),
    "albert-groups": ("Albert", dict(architectures.USUAL, embedding_size=16, num_hidden_layers=3, num_hidden_groups=2, inner_group_num=2)),
    "deberta-v2-conv": ("DebertaV2", dict(architectures.CASES["deberta-v2"][1], conv_kernel_size=3, conv_act="gelu")),
    "deberta-v3-conv": ("DebertaV2", dict(architectures.CASES["deberta-v3"][1], conv_kernel_size=5, conv_groups=4)),
    "megatron-bert": ("MegatronBert", dict(architectures.USUAL)),
    "ernie": ("Ernie", dict(architectures.USUAL, hidden_act="relu")),
    "roformer": ("RoFormer", dict(architectures.USUAL, embedding_size=16)),
    "xlm": ("XLM", dict(vocab_size=60, emb_dim=24, n_layers=2, n_heads=3, max_position_embeddings=40, n_langs=3, pad_token_id=59)),
    "esm": ("Esm", dict(architectures.USUAL, pad_token_id=1, mask_token_id=5, position_embedding_type="rotary", token_dropout=True)),
    "esm-1b": ("Esm", dict(architectures.USUAL, pad_token_id=1, mask_token_id=5, emb_layer_norm_before=True)),
    "neobert": (NeoBert, NEOBERT),
    "dpr": (Dpr, dict(architectures.USUAL, model_type="dpr")),
    "squeezebert": (SqueezeBert, dict(architectures.USUAL, model_type="squeezebert", embedding_size=architectures.HIDDEN, q_groups=3, k_groups=2, v_groups=4,
                                      post_attention_groups=1, intermediate_groups=4, output_groups=8)),
    "longformer": (Longformer, dict(architectures.USUAL, model_type="longformer", type_vocab_size=1, pad_token_id=1, attention_window=[4, 4])),
    **{name: ("MobileBert", dict(MOBILE, **words), {"gain": 1 if "layer-norm" in name else 0.5}) for name, words in MOBILEBERTS.items()},
    "convbert": ("ConvBert", dict(architectures.USUAL, num_attention_heads=6, embedding_size=16, conv_kernel_size=5), {"gain": 0.5}),
    "convbert-groups": ("ConvBert", dict(architectures.USUAL, num_attention_heads=2, head_ratio=4, embedding_size=architectures.HIDDEN, num_groups=2, hidden_act="silu"),
                        {"gain": 0.5}),
    "modernbert-mish": ("ModernBert", dict(architectures.CASES["modernbert"][1], hidden_activation="mish")),
}
ROPE = dict(rope_theta=500.0, factor=4.0)
TEXT_PART = dict(decoders.USUAL, bos_token_id=1, eos_token_id=2)
DELTA = dict(head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=10)
DECODERS = {
    "gpt2-by-layer": (transformers.GPT2LMHeadModel, GPT2Config(vocab_size=decoders.VOCAB, n_embd=24, n_layer=3, n_head=4, n_positions=96, bos_token_id=1,
                                                               eos_token_id=2, scale_attn_by_inverse_layer_idx=True)),
    "gpt2-unscaled": (transformers.GPT2LMHeadModel, GPT2Config(vocab_size=decoders.VOCAB, n_embd=24, n_layer=2, n_head=4, n_positions=96, bos_token_id=1,
                                                               eos_token_id=2, scale_attn_weights=False, activation_function="gelu_fast")),
    "llama-dynamic": (decoders.LLAMA, LlamaConfig(**decoders.USUAL, rope_parameters=dict(ROPE, rope_type="dynamic"))),
    "llama-yarn": (decoders.LLAMA, LlamaConfig(**{**decoders.USUAL, "hidden_act": "relu2"},
                                               rope_parameters=dict(ROPE, rope_type="yarn", original_max_position_embeddings=24))),
    "llama-yarn-set": (decoders.LLAMA, LlamaConfig(**decoders.USUAL, rope_parameters=dict(
        ROPE, rope_type="yarn", original_max_position_embeddings=24, beta_fast=4.0, beta_slow=0.5, mscale=0.7, mscale_all_dim=0.4, truncate=False))),
    "opt": (transformers.OPTForCausalLM, OPTConfig(vocab_size=decoders.VOCAB, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, ffn_dim=40,
                                                   max_position_embeddings=96, bos_token_id=1, eos_token_id=2, pad_token_id=0)),
    "phi3": (transformers.Phi3ForCausalLM, Phi3Config(**decoders.USUAL, sliding_window=9)),
    "phi3-longrope": (transformers.Phi3ForCausalLM, Phi3Config(**{**decoders.USUAL, "max_position_embeddings": 192}, original_max_position_embeddings=64,
                                                               rope_parameters=dict(rope_type="longrope", rope_theta=500.0, short_factor=[1.0, 1.2, 1.5],
                                                                                    long_factor=[1.5, 2.0, 4.0]))),
    "phi3-partial": (transformers.Phi3ForCausalLM, Phi3Config(**decoders.USUAL, head_dim=10, partial_rotary_factor=0.65)),
    "gpt-neox": (transformers.GPTNeoXForCausalLM, transformers.GPTNeoXConfig(**decoders.USUAL, rotary_pct=0.34)),
    "gpt-neox-in-turn": (transformers.GPTNeoXForCausalLM, transformers.GPTNeoXConfig(
        **decoders.USUAL, use_parallel_residual=False, attention_bias=False, rope_parameters=dict(
            rope_type="linear", rope_theta=500.0, factor=2.0, partial_rotary_factor=1.0))),
    "phi": (transformers.PhiForCausalLM, transformers.PhiConfig(**{**decoders.USUAL, "hidden_size": 32}, rope_parameters=dict(
        rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5))),
    "stablelm": (transformers.StableLmForCausalLM, transformers.StableLmConfig(**{**decoders.USUAL, "hidden_size": 32})),
    "stablelm-parallel": (transformers.StableLmForCausalLM, transformers.StableLmConfig(**decoders.USUAL, use_parallel_residual=True, use_qkv_bias=True,
                                                                                        partial_rotary_factor=0.75)),
    "olmo2": (transformers.Olmo2ForCausalLM, transformers.Olmo2Config(**decoders.USUAL)),
    "lfm2": (transformers.Lfm2ForCausalLM, transformers.Lfm2Config(**{**decoders.USUAL, "num_hidden_layers": 4}, block_multiple_of=8, conv_L_cache=3,
                                                                   layer_types=["conv", "full_attention", "conv", "conv"])),
    "lfm2-bias": (transformers.Lfm2ForCausalLM, transformers.Lfm2Config(**{**decoders.USUAL, "num_hidden_layers": 3}, tie_word_embeddings=False, conv_bias=True,
                                                                        conv_L_cache=4, block_auto_adjust_ff_dim=False, full_attn_idxs=[1])),
    "gpt-neo": (transformers.GPTNeoForCausalLM, transformers.GPTNeoConfig(
        vocab_size=decoders.VOCAB, hidden_size=24, num_layers=3, num_heads=4, max_position_embeddings=96, window_size=5, bos_token_id=1, eos_token_id=2,
        attention_types=[[["global", "local"], 1], [["local"], 1]])),
    "gpt-bigcode": (transformers.GPTBigCodeForCausalLM, transformers.GPTBigCodeConfig(vocab_size=decoders.VOCAB, n_embd=24, n_layer=2, n_head=4, n_positions=96,
                                                                                       bos_token_id=1, eos_token_id=2)),
    "starcoder2": (transformers.Starcoder2ForCausalLM, transformers.Starcoder2Config(**decoders.USUAL, sliding_window=9)),
    "bloom": (transformers.BloomForCausalLM, transformers.BloomConfig(vocab_size=decoders.VOCAB, hidden_size=24, n_layer=2, n_head=6, bos_token_id=1, eos_token_id=2)),
    "arcee": (transformers.ArceeForCausalLM, transformers.ArceeConfig(**decoders.USUAL, attention_bias=True)),
    "exaone4": (transformers.Exaone4ForCausalLM, transformers.Exaone4Config(**{**decoders.USUAL, "num_hidden_layers": 3}, sliding_window=7, sliding_window_pattern=3)),
    "olmo3": (transformers.Olmo3ForCausalLM, transformers.Olmo3Config(**{**decoders.USUAL, "num_hidden_layers": 4}, sliding_window=7, rope_scaling=dict(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=24))),
    "granite-4": (transformers.GraniteMoeHybridForCausalLM, transformers.GraniteMoeHybridConfig(
        **decoders.USUAL, embedding_multiplier=1.7, attention_multiplier=0.25, residual_multiplier=0.6, logits_scaling=0.3, num_local_experts=0, mamba_n_heads=2, time_step_limit=None,
        shared_intermediate_size=40, position_embedding_type="nope", layer_types=["full_attention"] * 2)),
    "granite-4-rope": (transformers.GraniteMoeHybridForCausalLM, transformers.GraniteMoeHybridConfig(
        **decoders.USUAL, num_local_experts=0, mamba_n_heads=2, time_step_limit=None, shared_intermediate_size=40, position_embedding_type="rope", layer_types=["full_attention"] * 2)),
    "codegen": (transformers.CodeGenForCausalLM, transformers.CodeGenConfig(vocab_size=decoders.VOCAB, n_embd=32, n_layer=2, n_head=8, n_positions=96,
                                                                            rotary_dim=2, bos_token_id=1, eos_token_id=2)),
    "exaone": (AsExaone, LlamaConfig(**decoders.USUAL)),
    "minicpm": (AsMiniCpm, transformers.GraniteConfig(**decoders.USUAL, embedding_multiplier=3.0, attention_multiplier=6 ** -0.5, residual_multiplier=0.7,
                                                      logits_scaling=1.5, tie_word_embeddings=True)),
    "mobilellm": (AsMobileLlm, LlamaConfig(**decoders.USUAL, tie_word_embeddings=True)),
    "ministral3": (transformers.Ministral3ForCausalLM, transformers.Ministral3Config(**decoders.USUAL, head_dim=10, rope_parameters=dict(
        rope_type="yarn", rope_theta=500.0, factor=2.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1))),
    "modernbert-decoder": (transformers.ModernBertDecoderForCausalLM, transformers.ModernBertDecoderConfig(
        **{**{key: value for key, value in decoders.USUAL.items() if key != "num_key_value_heads"}, "num_hidden_layers": 4}, local_attention=12,
        cls_token_id=1, sep_token_id=2)),
    "mpt": (transformers.MptForCausalLM, transformers.MptConfig(vocab_size=decoders.VOCAB, d_model=24, n_heads=4, n_layers=2, max_seq_len=96, bos_token_id=1,
                                                                eos_token_id=2)),
    "nanochat": (transformers.NanoChatForCausalLM, transformers.NanoChatConfig(**decoders.USUAL)),
    "olmo": (transformers.OlmoForCausalLM, transformers.OlmoConfig(**decoders.USUAL)),
    # Models that also read pictures, of which only the text is run.
    "gemma3-pictures": (transformers.Gemma3ForConditionalGeneration, transformers.Gemma3Config(
        text_config=dict(TEXT_PART, num_hidden_layers=3, head_dim=10, sliding_window=7, layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
        vision_config=dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4), mm_tokens_per_image=4)),
    "qwen2-pictures": (transformers.Qwen2VLForConditionalGeneration, transformers.Qwen2VLConfig(
        text_config=dict(TEXT_PART, rope_parameters=dict(rope_type="default", rope_theta=500.0, mrope_section=[1, 1, 1])), tie_word_embeddings=True,
        vision_config=dict(depth=1, embed_dim=8, hidden_size=24, num_heads=2, patch_size=2, mlp_ratio=1))),
    "qwen2-5-pictures": (transformers.Qwen2_5_VLForConditionalGeneration, transformers.Qwen2_5_VLConfig(
        text_config=dict(TEXT_PART, rope_parameters=dict(rope_type="default", rope_theta=500.0, mrope_section=[1, 1, 1])),
        vision_config=dict(depth=1, hidden_size=8, out_hidden_size=24, intermediate_size=8, num_heads=2, patch_size=2))),
    "qwen3-pictures": (transformers.Qwen3VLForConditionalGeneration, transformers.Qwen3VLConfig(
        text_config=dict(TEXT_PART, head_dim=6, rope_parameters=dict(rope_type="default", rope_theta=500.0, mrope_section=[1, 1, 1])),
        vision_config=dict(depth=1, hidden_size=8, out_hidden_size=24, intermediate_size=8, num_heads=2, patch_size=2, num_position_embeddings=4,
                           deepstack_visual_indexes=[0]))),
    "mistral3-pictures": (transformers.Mistral3ForConditionalGeneration, transformers.Mistral3Config(
        text_config=dict(TEXT_PART, model_type="ministral3", head_dim=10, rope_parameters=dict(
            rope_type="yarn", rope_theta=500.0, factor=2.0, original_max_position_embeddings=64, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1)),
        vision_config=dict(model_type="pixtral", hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, head_dim=4, image_size=8, patch_size=4))),
    "qwen3-5": (transformers.Qwen3_5ForCausalLM, transformers.Qwen3_5TextConfig(**{**decoders.USUAL, "num_hidden_layers": 4}, **dict(
        DELTA, linear_num_key_heads=1, linear_num_value_heads=3, linear_value_head_dim=16), layer_types=[
            "linear_attention", "full_attention", "linear_attention", "linear_attention"])),
    # The reference computes 64 tokens at a time.
    "qwen3-5-long": (transformers.Qwen3_5ForCausalLM, transformers.Qwen3_5TextConfig(
        **{**decoders.USUAL, "max_position_embeddings": 192, "num_attention_heads": 1, "num_key_value_heads": 1}, **{**DELTA, "linear_num_key_heads": 1}, linear_conv_kernel_dim=3, tie_word_embeddings=True,
        layer_types=["linear_attention", "full_attention"]), [[(7 * i * i + 3 * i) % 53 + 4 for i in range(130)], [decoders.BOS, 7]]),
    "qwen3-5-pictures": (transformers.Qwen3_5ForConditionalGeneration, transformers.Qwen3_5Config(
        text_config=dict(TEXT_PART, **DELTA, attention_bias=True, full_attention_interval=2),
        vision_config=dict(depth=1, hidden_size=8, out_hidden_size=24, intermediate_size=8, num_heads=2, patch_size=2, num_position_embeddings=4))),
    "glm": (transformers.GlmForCausalLM, transformers.GlmConfig(**decoders.USUAL, head_dim=8)),
    "glm4": (transformers.Glm4ForCausalLM, transformers.Glm4Config(**decoders.USUAL, head_dim=12, partial_rotary_factor=0.67, attention_bias=False)),
    "cohere": (transformers.CohereForCausalLM, transformers.CohereConfig(**decoders.USUAL, attention_bias=True, logit_scale=0.7)),
    "cohere2": (transformers.Cohere2ForCausalLM, transformers.Cohere2Config(**{**decoders.USUAL, "num_hidden_layers": 3}, sliding_window=7, sliding_window_pattern=3)),
    "ernie4-5": (transformers.Ernie4_5ForCausalLM, transformers.Ernie4_5Config(**decoders.USUAL, head_dim=10, use_bias=True)),
    "helium": (transformers.HeliumForCausalLM, transformers.HeliumConfig(**decoders.USUAL, head_dim=6, attention_bias=True)),
    "gptj": (transformers.GPTJForCausalLM, transformers.GPTJConfig(vocab_size=decoders.VOCAB, n_embd=24, n_layer=2, n_head=3, n_positions=96, rotary_dim=6,
                                                                   bos_token_id=1, eos_token_id=2)),
    "hunyuan": (transformers.HunYuanDenseV1ForCausalLM, transformers.HunYuanDenseV1Config(**decoders.USUAL, head_dim=10, attention_bias=True)),
    "ministral": (transformers.MinistralForCausalLM, transformers.MinistralConfig(**{**decoders.USUAL, "num_hidden_layers": 3}, head_dim=10, sliding_window=7, layer_types=[
        "sliding_attention", "full_attention", "sliding_attention"])),
    "vaultgemma": (transformers.VaultGemmaForCausalLM, transformers.VaultGemmaConfig(**decoders.USUAL, head_dim=10, query_pre_attn_scalar=20, sliding_window=7,
                                                                                    attn_logit_softcapping=5.0, final_logit_softcapping=8.0)),
    "xglm": (XGLMForCausalLM, transformers.XGLMConfig(vocab_size=decoders.VOCAB, d_model=24, num_layers=2, attention_heads=4, ffn_dim=40,
                                                                   max_position_embeddings=96, bos_token_id=1, eos_token_id=2, pad_token_id=1)),
    "smollm3": (transformers.SmolLM3ForCausalLM, transformers.SmolLM3Config(**{**decoders.USUAL, "num_hidden_layers": 3}, no_rope_layer_interval=2,
                                                                            use_sliding_window=True, sliding_window=7)),
    "granite": (transformers.GraniteForCausalLM, transformers.GraniteConfig(**decoders.USUAL, embedding_multiplier=1.7, attention_multiplier=0.25,
                                                                            residual_multiplier=0.6, logits_scaling=0.3)),
}
BART = {key: value for key, value in seq2seq.BART.items() if key != "decoder_start_token_id"}
SEQ2SEQ = {
    "t5-silu": ("T5", dict(seq2seq.T5, feed_forward_proj="gated-silu")),
    "mt5": ("MT5", dict(seq2seq.T5, feed_forward_proj="gated-gelu")),
    "mbart": ("MBart", dict(BART, decoder_start_token_id=2, scale_embedding=True, forced_bos_token_id=9)),
    "pegasus": ("Pegasus", dict(BART, decoder_start_token_id=0, scale_embedding=True, activation_function="relu")),
    "umt5": ("UMT5", dict(seq2seq.T5, feed_forward_proj="gated-gelu")),
    "m2m-100": ("M2M100", dict(BART, decoder_start_token_id=2, scale_embedding=True, activation_function="relu", forced_bos_token_id=9)),
    "blenderbot": ("Blenderbot", dict(BART, decoder_start_token_id=1, scale_embedding=True)),
    "blenderbot-small": ("BlenderbotSmall", dict(BART, decoder_start_token_id=1, scale_embedding=True)),
    "longt5": ("LongT5", dict(seq2seq.T5, feed_forward_proj="gated-gelu", local_radius=3)),
    "led": ("LED", dict({key: value for key, value in BART.items() if key != "max_position_embeddings"}, decoder_start_token_id=2, attention_window=[6, 6],
                        max_encoder_position_embeddings=64, max_decoder_position_embeddings=48)),
}


def make_seq2seq(folder, kind, words, seed):
    """A random model of that kind as its own save_pretrained() writes it."""
    config = getattr(transformers, f"{kind}Config")(**words)
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
    if kind == "MT5":  # its checkpoints have a head of their own
        model.config.tie_word_embeddings = False
        model.lm_head = torch.nn.Linear(words["d_model"], words["vocab_size"], bias=False)
    seq2seq.randomize(model, seed)
    keys = ("decoder_start_token_id", "eos_token_id", "pad_token_id", "bos_token_id", "forced_eos_token_id", "forced_bos_token_id")
    model.generation_config = transformers.GenerationConfig(**{key: words[key] for key in keys if key in words})
    model.save_pretrained(folder)
    for name in ("config.json", "generation_config.json"):
        common.write_json(folder / name, json.loads((folder / name).read_text()))
    return model


def save_languages(folder, tokenizer_file):
    """A model that listens to the order of its source, with tokens 9 and 10 as languages, and what is translated from one to the other: their
    places are those of NllbTokenizer. Most rows have other tokens where the language stands elsewhere."""
    model = make_seq2seq(folder, "M2M100", SEQ2SEQ["m2m-100"][1], 90)
    with torch.no_grad():
        for layer in model.model.decoder.layers:
            layer.encoder_attn.out_proj.weight *= 6
            layer.encoder_attn.q_proj.weight *= 3
    model.save_pretrained(folder)
    for name in ("config.json", "generation_config.json"):
        common.write_json(folder / name, json.loads((folder / name).read_text()))
    words = json.loads(tokenizer_file.read_text())
    for number, name in ((9, "deu_Latn"), (10, "eng_Latn")):
        words["model"]["vocab"][number][0] = name
        words["added_tokens"].append({**words["added_tokens"][0], "id": number, "content": name})
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(words))
    rows, differ = [], 0
    for text in seq2seq.TEXTS:
        answers = set()
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        for layout, source in (("prefix", [10, *ids, 1]), ("suffix", [*ids, 1, 10])):
            made = [seq2seq.generate(model, dtype, source, dict(max_new_tokens=8, no_repeat_ngram_size=1, forced_bos_token_id=9)) for dtype in (torch.float64, torch.float32)]
            if made[0] == made[1]:
                rows.append({"text": text, "layout": layout, "tokens": made[0][0]})
                answers.add(str(made[0][0]))
        differ += len(answers) == 2
    assert differ >= 3, f"{differ} texts whose translation depends on the language's place"
    common.write_json(folder / "languages.json", {"tokenizer": words, "rows": rows}, depth=2)


TEXTS = ["The  old\nboat waits", "a caf\u00e9 (cafe\u0301), 42 birds. ", " [MASK] sings", "\u2603 the BIRDS\tsing!", ""]


def save_spm():
    """DeBERTa's vocabulary as an spm.model, and what transformers makes of texts with settings of tokenizer_config.json."""
    folder = FOLDER / "deberta-tokenizer"
    folder.mkdir(parents=True)
    lines = [text.replace("\n", " ") for text in [tiny.SENTENCE, *TEXTS] if text] * 4
    with open(folder / "spm.model", "wb") as out:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=out, vocab_size=60, hard_vocab_limit=False, model_type="unigram", minloglevel=2, pad_id=0, bos_id=1,
            eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")
    common.write_json(folder / "config.json", {"model_type": "deberta-v2"})
    rows = []
    for settings in ({"do_lower_case": False, "vocab_type": "spm"}, {"do_lower_case": True, "split_by_punct": True, "tokenizer_class": "DebertaV2Tokenizer"}):
        common.write_json(folder / "tokenizer_config.json", settings)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        rows.append({"settings": settings, "ids": [tokenizer(text)["input_ids"] for text in TEXTS], "pair": tokenizer(TEXTS[0], TEXTS[1])["input_ids"],
                     "types": tokenizer(TEXTS[0], TEXTS[1])["token_type_ids"]})
    (folder / "tokenizer_config.json").unlink()
    (folder / "config.json").unlink()
    common.write_json(folder / "cases.json", {"texts": TEXTS, "rows": rows}, depth=3)


def make(_options):
    tiny.begin("variants")
    save_defaults()
    save_spm()
    for name, (kind, config, *extra) in ENCODERS.items():
        architectures.save_case(FOLDER / "encoders" / name, kind, config, extra[0] if extra else {})
    for name, (kind, config, *given) in DECODERS.items():
        torch.manual_seed(len(name))
        decoders.save_case(FOLDER / "decoders" / name, kind, config, [dict(), dict(num_beams=3)], *given)
    tokenizer = seq2seq.make_tokenizer()
    for i, (name, (kind, words)) in enumerate(SEQ2SEQ.items()):
        seq2seq.save_case(FOLDER / "seq2seq" / name, kind, words, tokenizer, 40 + i, make_seq2seq)
    save_languages(FOLDER / "languages", FOLDER / "seq2seq" / "m2m-100" / "tokenizer.json")
    for folder, cases in (("encoders", ENCODERS), ("decoders", DECODERS), ("seq2seq", SEQ2SEQ)):
        common.write_json(FOLDER / folder / "cases.json", list(cases))
    common.update_manifest("variants", common.versions("torch", "transformers", "sentencepiece", "tokenizers", "safetensors", "numpy"))
