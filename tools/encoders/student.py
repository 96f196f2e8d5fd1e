"""A student taken from its teacher: some of its layers, the most important inner units of each, and rounding to four bits during training."""

import contextlib

import torch
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification

from padding import pad
from rounding import BLOCK, Rounded, RoundedLinear, best_scales, round_model, rounded

LABELS = {0: "NEGATIVE", 1: "NEUTRAL", 2: "POSITIVE"}


def autocast():
    """Products in bfloat16 where the processor has them; without, they would be slower than float32's."""
    return torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported())


def make_student(teacher, pieces, recipe):
    """The shape alone, with a head of LABELS; weights are random."""
    config = {
        **teacher.config.to_dict(), "vocab_size": pieces, "max_position_embeddings": recipe.positions, "num_hidden_layers": len(recipe.layers),
        "intermediate_size": recipe.inner, "pooling": recipe.pooling,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "id2label": LABELS, "label2id": {v: k for k, v in LABELS.items()}, "num_labels": len(LABELS),
    }  # fmt: skip
    return BertForSequenceClassification(BertConfig(**config)).eval()  # eval: no dropout in training either


@torch.no_grad()
def begin_as(student, teacher, table, layers, ids):
    """Fills the student: table [pieces, width] are its token embeddings, layers the teacher's to take; ids: some texts in the teacher's tokens.

    Of each layer's inner units those stay that contribute most to its output: mean square of the unit times the squares of its outgoing weights. What leaves
    them is fitted again by least squares over the texts, so that the layer's output stays as near as it can.
    """
    embeddings, old = student.bert.embeddings, teacher.embeddings
    embeddings.word_embeddings.weight.copy_(table)
    embeddings.position_embeddings.weight.copy_(old.position_embeddings.weight[: student.config.max_position_embeddings])
    embeddings.token_type_embeddings.weight.copy_(old.token_type_embeddings.weight)
    embeddings.LayerNorm.load_state_dict(old.LayerNorm.state_dict())
    is_whole = student.config.intermediate_size == teacher.config.intermediate_size
    products = {} if is_whole else inner_products(teacher, layers, ids)
    for new, i in zip(student.bert.encoder.layer, layers):
        source = teacher.encoder.layer[i]
        new.attention.load_state_dict(source.attention.state_dict())
        if is_whole:
            new.load_state_dict(source.state_dict())
            continue
        new.output.LayerNorm.load_state_dict(source.output.LayerNorm.state_dict())
        outgoing = torch.cat([source.output.dense.weight, source.output.dense.bias[:, None]], 1).double()  # [width, inner + 1]
        matters = products[i].diagonal()[:-1] * outgoing[:, :-1].square().sum(0)
        kept = matters.argsort(descending=True)[: new.intermediate.dense.out_features].sort().values
        new.intermediate.dense.weight.copy_(source.intermediate.dense.weight[kept])
        new.intermediate.dense.bias.copy_(source.intermediate.dense.bias[kept])
        kept = torch.cat([kept, torch.tensor([len(matters)])])  # and the bias
        own = products[i][kept][:, kept]
        own = own + 1e-4 * own.diagonal().mean() * torch.eye(len(kept), dtype=own.dtype)
        fitted = torch.linalg.solve(own, products[i][kept] @ outgoing.T).T
        new.output.dense.weight.copy_(fitted[:, :-1])
        new.output.dense.bias.copy_(fitted[:, -1])


def inner_products(teacher, layers, ids):
    """{layer: [inner + 1, inner + 1]} sums over tokens of the products of the inner units, and of a 1 for the bias, in pairs."""
    products = {}

    def note(i):
        def hook(_, inputs):
            units = inputs[0][hook.mask].double()
            units = torch.cat([units, torch.ones(len(units), 1, dtype=units.dtype)], 1)
            products[i] = products.get(i, 0) + units.T @ units

        return hook

    hooks = {i: note(i) for i in layers}
    handles = [teacher.encoder.layer[i].output.dense.register_forward_pre_hook(hook) for i, hook in hooks.items()]
    for at in range(0, len(ids), 32):
        batch, mask = pad(ids[at : at + 32])
        for hook in hooks.values():
            hook.mask = mask.bool()
        teacher(batch, attention_mask=mask)
    for handle in handles:
        handle.remove()
    return products


def is_rounded(student):
    return hasattr(student.bert.embeddings.word_embeddings, "scale")


@torch.no_grad()
def begin_rounded(student, ids):
    """Rounds the student's matrices; ids: some texts, whose rows through the layers say what matters."""
    parts = [pad(ids[at : at + 32]) for at in range(0, len(ids), 32)]

    def run(note):
        for batch, mask in parts:
            note.mask = mask.bool()
            with contextlib.suppress(StopIteration):
                student.bert(batch, attention_mask=mask)

    round_model(student.bert, run)
    if student.bert.pooler is None:
        return
    pooler = student.bert.pooler.dense
    blocks = pooler.weight.reshape(-1, BLOCK)
    scale = best_scales(blocks)
    pooler.weight.copy_(rounded(blocks, scale).reshape(pooler.weight.shape))
    pooler.register_buffer("scale", scale.reshape(len(pooler.weight), -1))
    pooler.__class__ = RoundedLinear


def shape_rounded(student):
    """The student as begin_rounded leaves it, to load a checkpoint into."""
    pooler = [student.bert.pooler.dense] if student.bert.pooler else []
    layers = [m for m in student.bert.encoder.modules() if isinstance(m, torch.nn.Linear)]
    for part in (student.bert.embeddings.word_embeddings, *pooler, *layers):
        rows, columns = part.weight.shape
        part.register_buffer("scale", torch.zeros(rows, columns // BLOCK))
        if isinstance(part, torch.nn.Linear):
            part.__class__ = RoundedLinear


def pooled(hidden, mask, pooling):
    """[texts, width] of unit length: the mean of hidden [texts, tokens, width], or the state of [CLS]."""
    if pooling == "cls":
        return F.normalize(hidden[:, 0].float(), dim=1)
    mean = (hidden.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    return F.normalize(mean, dim=1)


def forward(student, ids, **options):
    """Unit vectors [texts, width] of token ids, and what the model gave."""
    batch, mask = pad(ids)
    table = student.bert.embeddings.word_embeddings
    tokens = table(batch)
    if is_rounded(student):
        tokens = Rounded.apply(tokens, table.scale[batch])  # rows first: only the batch's are rounded
    out = student.bert(inputs_embeds=tokens, attention_mask=mask, **options)
    return pooled(out.last_hidden_state, mask, student.config.pooling), out
