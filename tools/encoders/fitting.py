"""Fits a student's layers to its teacher's one after the other, rounding each, without gradients.

A student's layer reads the output of the rounded layers before it, which differs from its teacher's input: pieces and layers are missing, numbers
are rounded. So each matrix W gets the least-squares fit to what the teacher computes in its place, from the inputs of the student: queries, keys,
values and inner units the teacher's own; what is added to the residual stream, the teacher's sum less the student's stream, up to the next layer
that the student has. The fit is drawn to W (ridge). GPTQ rounds it (rounding.py, as GPTAQ does with the teacher's inputs: Li et al. 2025, arXiv
2504.02692), and the bias takes up the mean of what is left.

Rows are the tokens of words that both divide into the same pieces. Where the vector is the state of [CLS], that state is all that counts in the last layer.
"""

import torch
import torch.nn.functional as F

from padding import pad
from rounding import BLOCK, RoundedLinear, best_scales, gptq, rounded

RIDGE = 0.03  # of the mean square of the inputs
TEXTS = 32  # a batch


def same_words(mine, theirs):
    """[(place in mine, place in theirs)] of the tokens of words that consist of as many pieces. mine, theirs: (ids, words) as of train.cut()."""
    places = [{}, {}]
    for side, (_, words) in zip(places, (mine, theirs)):
        for at, word in enumerate(words):
            side.setdefault(word, []).append(at)
    pairs = []
    for word, at in places[0].items():
        other = places[1].get(word, [])
        if len(at) == len(other):
            pairs += zip(at, other)
    return pairs


class Batch:
    """Some texts, cut by both tokenizers, and the states of both models after the layers so far."""

    def __init__(self, mine, theirs, student, teacher):
        ids, self.mask = pad([i for i, _ in mine])
        goal_ids, self.goal_mask = pad([i for i, _ in theirs])
        self.hidden = student.embeddings(input_ids=ids)
        self.goal = teacher.embeddings(input_ids=goal_ids)
        rows = [(n, a, b) for n, (x, y) in enumerate(zip(mine, theirs)) for a, b in same_words(x, y)]
        rows = torch.tensor(rows)
        self.rows = rows[:, 0] * ids.shape[1] + rows[:, 1]
        self.goal_rows = rows[:, 0] * goal_ids.shape[1] + rows[:, 2]
        self.first = (rows[:, 1] == 0).float()  # [CLS]
        self.states, self.goals = {}, {}

    def mine(self, name):
        return self.states[name].flatten(0, 1)[self.rows]

    def theirs(self, name):
        return self.goals[name].flatten(0, 1)[self.goal_rows]


def attended(layer, hidden, mask):
    """What the heads give, [texts, tokens, width], before the output's matrix."""
    own = layer.attention.self
    split = lambda x: x.unflatten(-1, (own.num_attention_heads, -1)).transpose(1, 2)
    q, k, v = (split(linear(hidden)) for linear in (own.query, own.key, own.value))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :].bool())
    return out.transpose(1, 2).flatten(2)


def run_teacher(layer, hidden, mask, out):
    """The states within one layer, into the dictionary out; returns the layer's output."""
    out["input"] = hidden
    out["heads"] = attended(layer, hidden, mask)
    out["attention sum"] = layer.attention.output.dense(out["heads"]) + hidden
    out["attention"] = layer.attention.output.LayerNorm(out["attention sum"])
    inner = F.gelu(layer.intermediate.dense(out["attention"]))
    out["sum"] = layer.output.dense(inner) + out["attention"]
    return layer.output.LayerNorm(out["sum"])


def fit(linear, old, batches, name, goal, first_weight):
    """Sets linear to the fit and rounds it. old: the teacher's matrix and bias; name: of the inputs; goal(batch): [rows, out]."""
    width = linear.in_features + 1
    products, misses = torch.zeros(width, width, dtype=torch.double), torch.zeros(linear.out_features, width, dtype=torch.double)
    start = torch.cat([old.weight, old.bias[:, None]], 1)
    for batch in batches:
        inputs = F.pad(batch.mine(name), (0, 1), value=1.0)
        weights = (1 + first_weight * batch.first)[:, None]
        products += ((inputs * weights).T @ inputs).double()
        misses += ((goal(batch) - inputs @ start.T) * weights).T.double() @ inputs.double()
    ridge = RIDGE * products.diagonal()[:-1].mean() * torch.eye(width, dtype=torch.double)
    fitted = start.double() + torch.linalg.solve(products + ridge, misses.T).T
    weight, scales = gptq(fitted[:, :-1].float(), products[:-1, :-1].float())
    # the mean of inputs times the change of the weights, which the bias takes up
    mean = products[-1, :-1] / products[-1, -1]
    linear.weight.copy_(weight)
    linear.bias.copy_(fitted[:, -1] + (fitted[:, :-1] - weight) @ mean)
    linear.register_buffer("scale", scales)
    linear.__class__ = RoundedLinear


@torch.no_grad()
def fit_and_round(student, teacher, layers, mine, theirs, is_cls, tell=print):
    """student, teacher: BertModel, the student's layers being the teacher's `layers`, with all inner units; mine, theirs: texts as of train.cut()."""
    table = student.embeddings.word_embeddings
    blocks = table.weight.reshape(-1, BLOCK)
    scale = best_scales(blocks)
    table.weight.copy_(rounded(blocks, scale).reshape(table.weight.shape))
    table.register_buffer("scale", scale.reshape(len(table.weight), -1))
    batches = [Batch(mine[at : at + TEXTS], theirs[at : at + TEXTS], student, teacher) for at in range(0, len(mine), TEXTS)]
    for at, (layer, first) in enumerate(zip(student.encoder.layer, layers)):
        is_last = at + 1 == len(layers)
        last = len(teacher.encoder.layer) - 1 if is_last else layers[at + 1] - 1  # of the teacher's layers whose work this one does
        source = teacher.encoder.layer[first]
        layer.output.LayerNorm.load_state_dict(teacher.encoder.layer[last].output.LayerNorm.state_dict())
        own = layer.attention
        for batch in batches:
            after = run_teacher(source, batch.goal, batch.goal_mask, batch.goals)
            for i in range(first + 1, last + 1):
                skipped = {}
                after = run_teacher(teacher.encoder.layer[i], after, batch.goal_mask, skipped)
                batch.goals["sum"] = skipped["sum"]
            batch.goal = after
            batch.states["input"] = batch.hidden
        count = sum(len(batch.rows) for batch in batches) / max(1, sum(batch.first.sum() for batch in batches))
        alone = count.item() if is_cls and is_last else 0.0  # the weight of a [CLS]: that of all other tokens
        linear = lambda module: lambda batch: F.linear(batch.theirs("input"), module.weight, module.bias)
        for name in ("query", "key", "value"):
            was = getattr(source.attention.self, name)
            fit(getattr(own.self, name), was, batches, "input", linear(was), alone if name == "query" else 0.0)
        for batch in batches:
            batch.states["heads"] = attended(layer, batch.hidden, batch.mask)
        fit(own.output.dense, source.attention.output.dense, batches, "heads", lambda b: b.theirs("attention sum") - b.mine("input"), alone)
        for batch in batches:
            batch.states["attention"] = own.output.LayerNorm(own.output.dense(batch.states["heads"]) + batch.hidden)
        inner = source.intermediate.dense
        fit(layer.intermediate.dense, inner, batches, "attention", lambda b: F.linear(b.theirs("attention"), inner.weight, inner.bias), alone)
        for batch in batches:
            batch.states["inner"] = F.gelu(layer.intermediate.dense(batch.states["attention"]))
        fit(layer.output.dense, source.output.dense, batches, "inner", lambda b: b.theirs("sum") - b.mine("attention"), alone)
        missed = total = 0.0
        for batch in batches:
            batch.hidden = layer.output.LayerNorm(layer.output.dense(batch.states["inner"]) + batch.states["attention"])
            miss = (batch.hidden.flatten(0, 1)[batch.rows] - batch.goal.flatten(0, 1)[batch.goal_rows]).square().sum(1)
            missed, total = missed + miss.sum(), total + batch.goal.flatten(0, 1)[batch.goal_rows].square().sum()
            batch.states, batch.goals = {}, {}
        tell(f"layer {at}: squared distance of the states {missed / total:.4f} of their squares")
