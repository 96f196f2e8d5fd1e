"""nn/: generation (transformers), summaries (torchinfo), word vectors (gensim)."""
import torch
from torch import nn
from torch.nn import functional as F

from .nn import Lehmer, encode, fill


def gpt2_name(key):
    key = key.removeprefix("transformer.")
    for ours, theirs in [("embedding.weight", "wte.weight"), ("positions.weight", "wpe.weight"), ("decoder.norm.", "ln_f."), ("head.weight", "lm_head.weight")]:
        if key.startswith(theirs):
            return ours + key.removeprefix(theirs)
    _, layer, rest = key.split(".", 2)
    names = {"ln_1": "norm1", "ln_2": "norm2", "attn.c_attn": "self_attn.in_proj", "attn.c_proj": "self_attn.out_proj", "mlp.c_fc": "linear1", "mlp.c_proj": "linear2"}
    part, kind = rest.rsplit(".", 1)
    return f"decoder.layers.{layer}.{names[part]}{'_' if 'in_proj' in names[part] else '.'}{kind}"


def generation():
    from transformers import GPT2Config, GPT2LMHeadModel
    from transformers.generation.logits_process import MinPLogitsWarper, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
    config = GPT2Config(vocab_size=23, n_positions=40, n_embd=12, n_layer=2, n_head=3, n_inner=20, bos_token_id=None, eos_token_id=None, pad_token_id=0,
                        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    model = GPT2LMHeadModel(config)
    state = fill(model, 7, scale=1.2)
    state["lm_head.weight"] = state["transformer.wte.weight"]
    model.load_state_dict({**model.state_dict(), **state})
    model.eval().double()
    ours = {gpt2_name(key): (value.T if "c_" in key and key.endswith("weight") else value) for key, value in state.items() if not key.endswith(".attn.bias")}
    prompt = torch.tensor([[5, 1, 17, 3]])
    with torch.no_grad():
        logits = model(prompt).logits
    out = {"make": [{"vocab_size": 23, "d_model": 12, "nhead": 3, "num_layers": 2, "dim_feedforward": 20, "max_len": 40, "activation": "gelu_tanh", "norm_first": True}],
           "state": encode(ours), "prompt": prompt[0].tolist(), "logits": encode(logits), "max": float(logits.abs().max()), "answers": [], "warpers": []}
    greedy = model.generate(prompt, max_new_tokens=25, do_sample=False)
    eos = int(greedy[0, 14])
    ways = [{"max_new_tokens": 25}, {"max_new_tokens": 25, "eos_token_id": eos}, {"max_new_tokens": 12, "num_beams": 3}]
    for token in range(23):
        for beams, penalty, early in [(3, 1.0, False), (4, 2.0, True), (2, 0.0, False)]:
            ways.append({"max_new_tokens": 14, "num_beams": beams, "eos_token_id": token, "length_penalty": penalty, "early_stopping": early})
    ways += [{"max_new_tokens": 25, **more} for more in (
        {"repetition_penalty": 1.7}, {"no_repeat_ngram_size": 2}, {"eos_token_id": eos, "min_new_tokens": 15}, {"forced_eos_token_id": 2},
        {"eos_token_id": [eos, 3]}, {"num_beams": 3, "repetition_penalty": 1.3, "eos_token_id": eos})]
    for options in ways:
        ids = model.generate(prompt, do_sample=False, pad_token_id=0, **options)[0].tolist()
        ends = options.get("eos_token_id", [])
        first = next((i for i, token in enumerate(ids) if i >= 4 and token in (ends if isinstance(ends, list) else [ends])), len(ids))
        ids = ids[: first + 1]
        out["answers"].append({"options": options, "ids": ids})
    row = logits[0, -1:].float()
    for options in [{}, {"temperature": 0.7}, {"top_k": 5}, {"top_p": 0.8}, {"temperature": 1.4, "top_k": 9, "top_p": 0.6},
                    {"min_p": 0.2}]:
        scores = row.double()
        if "temperature" in options:
            scores = TemperatureLogitsWarper(options["temperature"])(None, scores)
        if "top_k" in options:
            scores = TopKLogitsWarper(options["top_k"])(None, scores)
        if "top_p" in options:
            scores = TopPLogitsWarper(options["top_p"])(None, scores)
        if "min_p" in options:
            scores = MinPLogitsWarper(options["min_p"])(None, scores)
        out["warpers"].append({"options": options, "probabilities": encode(F.softmax(scores, -1)[0])})
    out["row"] = encode(row[0])
    return out


# ---------------------------------------------------------------------------------------------------------------- summary

def summaries():
    from torchinfo import summary
    columns = ("input_size", "output_size", "num_params", "mult_adds")
    mlp = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.LayerNorm(64), nn.Sequential(nn.Linear(64, 32, bias=False), nn.GELU()), nn.Linear(32, 3))
    layer = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)
    out = []
    for name, model, shape in [("mlp", mlp, (5, 7, 16)), ("embedding", nn.Sequential(nn.Embedding(1000, 300), nn.Linear(300, 1000)), (2, 9))]:
        dtypes = [torch.long] if name == "embedding" else None
        out.append({"name": name, "shape": list(shape), "text": str(summary(model, shape, dtypes=dtypes, col_names=columns, verbose=0, mode="train"))
                    .replace("Units.MEGABYTES", "M")})  # what its enum is on Python before 3.11
    facts = summary(layer, (2, 9, 64), col_names=columns, verbose=0, mode="train")
    out.append({"name": "encoder layer", "shape": [2, 9, 64], "total_params": facts.total_params, "total_mult_adds": int(facts.total_mult_adds)})
    return out


def word_vectors():
    """gensim's answers about vectors of three decimals."""
    from gensim.models import KeyedVectors
    words = [f"w{i}" for i in range(40)]
    vectors = Lehmer(11).draw((40, 6), 1.0).numpy()
    kv = KeyedVectors(6)
    kv.add_vectors(words, vectors)
    out = {"seed": 11, "size": 6, "count": 40, "most_similar": [], "cosmul": [], "doesnt_match": []}
    row = lambda found: [[word, float(f"{score:.7g}")] for word, score in found]
    for positive, negative in [(["w0"], []), (["w3", "w5"], ["w9"]), (["w1", "w2"], ["w3", "w4"]), ([], ["w7"])]:
        out["most_similar"].append({"positive": positive, "negative": negative, "answer": row(kv.most_similar(positive=positive, negative=negative, topn=6))})
        if positive:
            out["cosmul"].append({"positive": positive, "negative": negative, "answer": row(kv.most_similar_cosmul(positive=positive, negative=negative, topn=6))})
    for group in (["w0", "w1", "w2", "w3"], ["w10", "w20", "w30"], ["w5", "w6", "w7", "w8", "w9"]):
        out["doesnt_match"].append({"words": group, "answer": kv.doesnt_match(group)})
    return out
