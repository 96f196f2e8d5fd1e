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

class Positions(nn.Module):
    def __init__(self, max_len, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(max_len, dim))

    def forward(self, x):
        return x + self.weight[: x.shape[1]]


def causal_mask(seq):
    return torch.ones(seq, seq).triu(1).bool()


class Language(nn.Module):
    """nn.LanguageModel, or with classes nn.SequenceClassifier."""
    def __init__(self, layer, num_layers, vocab, max_len, classes=None, tie=True, norm=False):
        super().__init__()
        dim = layer["d_model"]
        self.embedding, self.positions, self.classes = nn.Embedding(vocab, dim), Positions(max_len, dim), classes
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), num_layers, nn.LayerNorm(dim) if norm else None, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes or vocab, bias=bool(classes))
        if tie and not classes:
            self.head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.positions(self.embedding(ids))
        if self.classes:
            return self.head(self.layers(x).mean(1))
        return self.head(self.layers(x, mask=causal_mask(ids.shape[1])))


class EncoderDecoder(nn.Module):
    def __init__(self, layer, num_encoder_layers, num_decoder_layers, source, target, max_len, tie=True):
        super().__init__()
        dim = layer["d_model"]
        self.src_embedding, self.tgt_embedding, self.positions = nn.Embedding(source, dim), nn.Embedding(target, dim), Positions(max_len, dim)
        self.transformer = nn.Transformer(num_encoder_layers=num_encoder_layers, num_decoder_layers=num_decoder_layers, **layer)
        self.head = nn.Linear(dim, target, bias=False)
        if tie:
            self.head.weight = self.tgt_embedding.weight

    def forward(self, src, tgt):
        x, y = self.positions(self.src_embedding(src)), self.positions(self.tgt_embedding(tgt))
        return self.head(self.transformer(x, y, tgt_mask=causal_mask(tgt.shape[1])))


class Shared(nn.Module):
    """One module in two places, and a parameter of one's own."""
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 4)

    def forward(self, x):
        return self.second(self.first(self.first(x)))


def multiplied(model, inputs):
    """MACs of all matrix products, counted by torch while they run."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(*inputs)
    return counter.get_total_flops() // 2


def summed(name, make, model, shapes, ids=False, causal=0):
    """make: [class, arguments] in JavaScript. causal: width of the layers whose hidden keys torch multiplies and wattn does not, times their number."""
    from torchinfo import summary
    inputs = [torch.zeros(shape, dtype=torch.long if ids else torch.float32) for shape in shapes]
    model.train()  # the paths for inference skip modules
    facts = summary(model, input_data=inputs, verbose=0, mode="train", col_names=("input_size", "output_size", "num_params", "mult_adds"))
    hidden = shapes[-1][0] * shapes[-1][1] * (shapes[-1][1] - 1) // 2 if causal else 0
    return {"name": name, "make": make, "shapes": [list(shape) for shape in shapes], "total_params": facts.total_params,
            "total_mult_adds": int(facts.total_mult_adds), "output_bytes": facts.total_output_bytes, "param_bytes": facts.total_param_bytes,
            "parameters": sum(p.numel() for p in model.parameters()), "macs": multiplied(model, inputs) - 2 * causal * hidden}


def summarised_modules():
    from .nn import Block, Notes
    out = []

    def add(*args, **kwargs):
        out.append(summed(*args, **kwargs))

    x = [(2, 7, 16)]
    add("Linear", ["Linear", [16, 8]], nn.Linear(16, 8), x)
    add("Embedding", ["Embedding", [9, 8]], nn.Embedding(9, 8), [(2, 7)], ids=True)
    for name, args, model, shape in [
        ("LayerNorm", [16], nn.LayerNorm(16), (2, 7, 16)), ("RMSNorm", [16], nn.RMSNorm(16), (2, 7, 16)), ("BatchNorm1d", [7], nn.BatchNorm1d(7), (2, 7, 16)),
        ("BatchNorm2d", [3], nn.BatchNorm2d(3), (2, 3, 4, 5)), ("InstanceNorm1d", [7, {"affine": True}], nn.InstanceNorm1d(7, affine=True), (2, 7, 16)),
        ("InstanceNorm2d", [3], nn.InstanceNorm2d(3), (2, 3, 4, 5)), ("GELU", [], nn.GELU(), (2, 7, 16)), ("Softmax", [{"dim": -1}], nn.Softmax(-1), (2, 7, 16)),
        ("AvgPool2d", [[2, 4]], nn.AvgPool2d((2, 4)), (2, 4, 8)), ("MaxPool2d", [2], nn.MaxPool2d(2), (2, 4, 8)),
    ]:
        add(name, [name, args], model, [shape])
    for name, args, model in [
        ("one head", {"k": 16}, Notes(16)), ("narrow", {"k": 16, "heads": 4, "mode": "narrow", "d_q": 8, "d_v": 12}, Notes(16, 4, unify=True, d_q=8, d_v=12)),
        ("wide", {"k": 16, "heads": 3, "mode": "wide", "bias": True}, Notes(16, 3, True, True, unify=True)),
        ("relative vector", {"k": 16, "heads": 2, "relative": "vector", "max_distance": 4}, Notes(16, 2, unify=True, relative="vector")),
        ("relative bias", {"k": 16, "heads": 2, "relative": "bias", "max_distance": 4}, Notes(16, 2, unify=True, relative="bias")),
    ]:
        add(f"SelfAttention {name}", ["SelfAttention", [args]], model, x)
    add("CrossAttention", ["CrossAttention", [{"k": 16, "heads": 2, "k_context": 12}]], Notes(16, 2, unify=True, context=12), [(2, 7, 16), (2, 5, 12)])
    add("MultiheadAttention", ["MultiheadAttention", [16, 4]], nn.MultiheadAttention(16, 4, batch_first=True), [(2, 7, 16), (2, 5, 16), (2, 5, 16)])
    add("MultiheadAttention kdim vdim", ["MultiheadAttention", [16, 4, {"kdim": 12, "vdim": 10}]], nn.MultiheadAttention(16, 4, batch_first=True, kdim=12, vdim=10),
        [(2, 7, 16), (2, 5, 12), (2, 5, 10)])
    add("TransformerBlock", ["TransformerBlock", [{"k": 16, "heads": 2, "n_mlp": 3}]], Block(16, 2, 3, F.relu, False, False), x)

    layer, js = dict(d_model=16, nhead=4, dim_feedforward=24, dropout=0.0, batch_first=True), {"d_model": 16, "nhead": 4, "dim_feedforward": 24}
    encoder, decoder = lambda: nn.TransformerEncoderLayer(**layer), lambda: nn.TransformerDecoderLayer(**layer)
    both = [(2, 7, 16), (2, 5, 16)]
    add("TransformerEncoderLayer", ["TransformerEncoderLayer", [js]], encoder(), x)
    add("TransformerDecoderLayer", ["TransformerDecoderLayer", [js]], decoder(), both)
    add("TransformerEncoder", ["TransformerEncoder", [{"new": ["TransformerEncoderLayer", [js]]}, 2]], nn.TransformerEncoder(encoder(), 2, enable_nested_tensor=False), x)
    add("TransformerDecoder", ["TransformerDecoder", [{"new": ["TransformerDecoderLayer", [js]]}, 2, {"norm": True}]],
        nn.TransformerDecoder(decoder(), 2, nn.LayerNorm(16)), both)
    add("Transformer", ["Transformer", [{**js, "num_encoder_layers": 2, "num_decoder_layers": 1}]],
        nn.Transformer(num_encoder_layers=2, num_decoder_layers=1, **layer), both)
    add("SequenceClassifier", ["SequenceClassifier", [{**js, "vocab_size": 11, "num_layers": 2, "max_len": 9, "num_classes": 3}]],
        Language(layer, 2, 11, 9, classes=3), [(2, 7)], ids=True)
    add("LanguageModel", ["LanguageModel", [{**js, "vocab_size": 11, "num_layers": 2, "max_len": 9, "final_norm": True}]], Language(layer, 2, 11, 9, norm=True), [(2, 7)],
        ids=True, causal=2 * 16)
    add("LanguageModel not tied", ["LanguageModel", [{**js, "vocab_size": 11, "num_layers": 1, "max_len": 9, "tie_weights": False}]], Language(layer, 1, 11, 9, tie=False),
        [(2, 7)], ids=True, causal=16)
    for tie in (True, False):
        add(f"EncoderDecoder{'' if tie else ' not tied'}",
            ["EncoderDecoder", [{**js, "src_vocab_size": 11, "tgt_vocab_size": 13, "num_encoder_layers": 2, "num_decoder_layers": 3, "max_len": 9, "tie_weights": tie}]],
            EncoderDecoder(layer, 2, 3, 11, 13, 9, tie), [(2, 7), (2, 5)], ids=True, causal=3 * 16)
    return out


def summaries():
    from torchinfo import summary
    columns = ("input_size", "output_size", "num_params", "mult_adds")
    mlp = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.LayerNorm(64), nn.Sequential(nn.Linear(64, 32, bias=False), nn.GELU()), nn.Linear(32, 3))
    texts = []
    for name, model, shape in [("mlp", mlp, (5, 7, 16)), ("embedding", nn.Sequential(nn.Embedding(1000, 300), nn.Linear(300, 1000)), (2, 9)), ("Shared", Shared(), (2, 6))]:
        dtypes = [torch.long] if name == "embedding" else None
        texts.append({"name": name, "shape": list(shape), "text": str(summary(model, shape, dtypes=dtypes, col_names=columns, verbose=0, mode="train"))
                      .replace("Units.MEGABYTES", "M")})  # what its enum is on Python before 3.11
    return {"texts": texts, "modules": summarised_modules()}


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
