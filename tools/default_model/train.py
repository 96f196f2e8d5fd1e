"""Trains the default model: a small BERT that gives the teacher's vectors (turned into fewer dimensions), and a sentiment head.

In stages: two layers, then four, a new one after each trained one that at first changes nothing (as in Net2Net, Chen et al. 2016, arXiv
1511.05641), then four three times again, each time with a new rise and fall of the learning rate. From the second on matrices are turned by Muon
(Jordan 2024), and token embeddings are seen as the 4 bits they will be stored in, their gradient passing straight through.

Loss: 1 - cos to the teacher's vector, plus the squared difference of all cosines within the batch (relational distillation, Park et al.
2019, arXiv 1904.05068), plus cross-entropy of the sentiment head to what sentiment.py's judge says. Token embeddings begin as the teacher's vectors of the tokens'
own strings (as model2vec does), positions at zero, so that the model begins as an average of word vectors.

Seeded; checkpoint.pt holds everything a stopped run needs to go on, step_N.pt the weights at a stage's end.
"""

import argparse
import json
import math
import time
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import BertConfig, BertForSequenceClassification

sys.path.append(str(Path(__file__).parents[1] / "encoders"))
import evaluate  # noqa: E402
from padding import pad  # noqa: E402
from teacher import Teacher  # noqa: E402

HIDDEN, HEADS, FFN, POSITIONS = 256, 4, 512, 256
# Layers, last step, texts a step with a sentiment, share of the rate.
STAGES = ((2, 5000, 64, 1.0), (4, 9000, 64, 1.0), (4, 17500, 96, 1.0), (4, 22000, 128, 0.6), (4, 23200, 160, 0.4))
MOST_TOKENS = 96  # of a training text
BATCH = 128
LABELS = {0: "NEGATIVE", 1: "POSITIVE"}


def rotation(vectors):
    """[384, HIDDEN]: the directions that keep most of the teacher's cosines (uncentred principal components)."""
    sample = vectors[:50000].astype(np.float32)
    _, directions = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(directions[:, ::-1][:, :HIDDEN])


def make_student(vocab, first_vectors, seed, layers):
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=vocab, hidden_size=HIDDEN, num_hidden_layers=layers, num_attention_heads=HEADS, intermediate_size=FFN,
        max_position_embeddings=POSITIONS, attn_implementation="eager", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=0,
        id2label=LABELS, label2id={v: k for k, v in LABELS.items()}, num_labels=2,
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        table = model.bert.embeddings.word_embeddings.weight
        table[:] = torch.from_numpy(first_vectors) * 4  # beside positions and the layers' outputs
        table[0] = 0
        model.bert.embeddings.position_embeddings.weight.zero_()
        model.bert.embeddings.token_type_embeddings.weight.zero_()
    return model


@torch.no_grad()
def grow(small, large):
    """Puts small's weights into large, which has twice its layers: after each, one more that adds nothing yet."""
    old, new = small.bert.encoder.layer, large.bert.encoder.layer
    large.load_state_dict({n: p for n, p in small.state_dict().items() if ".layer." not in n}, strict=False)
    for i, layer in enumerate(old):
        new[2 * i].load_state_dict(layer.state_dict())
        new[2 * i + 1].load_state_dict(layer.state_dict())
        norm = layer.output.LayerNorm
        spread = (norm.weight.square().mean() + norm.bias.var()).sqrt()  # of what comes in, about
        for part in (new[2 * i + 1].attention.output, new[2 * i + 1].output):
            part.dense.weight.zero_()
            part.dense.bias.zero_()
            part.LayerNorm.weight.fill_(spread)
            part.LayerNorm.bias.fill_(norm.bias.mean())
    return large


def four_bits(rows):
    """rows as GGUF's q4_0 gives them back: blocks of 32, each one scale and codes -8 to 7."""
    with torch.no_grad():
        blocks = rows.reshape(-1, 32)
        most = blocks.gather(1, blocks.abs().argmax(1, keepdim=True))
        scale = most / -8
        inverse = torch.where(scale == 0, 0, 1 / scale)
        codes = (blocks * inverse + 8.5).floor().clamp(0, 15) - 8
        rounded = (codes * scale.half().float()).reshape(rows.shape)
    return rows + (rounded - rows).detach()


def forward(model, ids):
    """Unit vectors [batch, HIDDEN] by mean pooling, and the head's logits [batch, 2]."""
    batch, mask = pad(ids)
    tokens = model.bert.embeddings.word_embeddings(batch)
    if model.config.num_hidden_layers == STAGES[-1][0]:
        tokens = four_bits(tokens)
    out = model.bert(inputs_embeds=tokens, attention_mask=mask)
    mean = (out.last_hidden_state.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    return F.normalize(mean, dim=1), model.classifier(out.pooler_output)


def embedder(model, tokenizer):
    """An encoder for evaluate.py."""

    @torch.inference_mode()
    def embed(texts):
        model.eval()
        ids = [e.ids[: POSITIONS - 1] + [e.ids[-1]] if len(e.ids) > POSITIONS else e.ids for e in tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = np.empty((len(ids), HIDDEN), np.float32)
        for at in range(0, len(order), 64):
            part = order[at : at + 64]
            out[part] = forward(model, [ids[i] for i in part])[0].numpy()
        model.train()
        return out

    return embed


@torch.inference_mode()
def sentiment_accuracy(model, tokenizer, rows):
    model.eval()
    right = 0
    for at in range(0, len(rows), 64):
        part = rows[at : at + 64]
        _, logits = forward(model, [e.ids for e in tokenizer.encode_batch([r[0] for r in part])])
        right += int((logits.argmax(1) == torch.tensor([r[1] for r in part])).sum())
    model.train()
    return right / len(rows)


class Batches:
    """Which texts a step sees: a function of the step and the seed alone, so that a resumed run sees the same."""

    def __init__(self, ids, feelings, seed):
        self.ids, self.felt, self.seed = ids, feelings, seed
        self.by_length = np.argsort([len(i) for i in feelings], kind="stable")
        self.lengths = np.array([len(i) for i in ids])
        self.per_epoch = len(ids) // BATCH

    def texts(self, step):
        """Texts of like length (less padding), from a new shuffling each epoch."""
        epoch, at = divmod(step, self.per_epoch)
        if getattr(self, "epoch", None) != epoch:
            rng = np.random.default_rng((self.seed, epoch))
            order = rng.permutation(len(self.ids))
            blocks = [b[np.argsort(self.lengths[b], kind="stable")] for b in np.array_split(order, max(1, len(order) // (BATCH * 64)))]
            rows = [b[i : i + BATCH] for b in blocks for i in range(0, len(b) - BATCH + 1, BATCH)]
            rng.shuffle(rows)
            self.epoch, self.rows = epoch, rows
        return self.rows[at % len(self.rows)]

    def feelings(self, step, count):
        """Of the texts with a sentiment, count of like length: drawn from one eighth of them in order of length."""
        rng = np.random.default_rng((self.seed, step, 1))
        parts = np.array_split(self.by_length, 8)
        return rng.choice(parts[rng.integers(8)], count)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--teacher", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--rate", type=float, default=1e-3, help="highest of AdamW; Muon's is twice that")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--bf16", action="store_true", help="products in bfloat16: faster where the CPU has them")
    p.add_argument("--threads", type=int, default=torch.get_num_threads(), help="on a machine with other work, one is faster than two")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    out = Path(a.out)

    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    done = json.loads((out / "teacher.json").read_text())["done"]
    texts = (out / "corpus.txt").read_text("utf-8").splitlines()[:done]
    vectors = np.load(out / "teacher.npy", mmap_mode="r")[:done]
    turn = rotation(vectors)
    cut = lambda e: e.ids[: MOST_TOKENS - 1] + [e.ids[-1]] if len(e.ids) > MOST_TOKENS else e.ids
    ids = [cut(e) for e in tokenizer.encode_batch(texts)]
    positive = torch.from_numpy(np.load(out / "feelings.npy"))
    feelings = [cut(e) for e in tokenizer.encode_batch((out / "feelings.txt").read_text("utf-8").splitlines()[: len(positive)])]
    batches = Batches(ids, feelings, a.seed)

    vocab = [t for t, _ in sorted(tokenizer.get_vocab().items(), key=lambda x: x[1])]
    first = out / "first_vectors.npy"
    if not first.exists():
        np.save(first, Teacher(a.teacher).embed([t.removeprefix("##") for t in vocab]) @ turn)
    checkpoint = out / "checkpoint.pt"
    saved = torch.load(checkpoint) if checkpoint.exists() else None
    model = None
    for stage, (layers, last, feelings_a_step, share) in enumerate(STAGES):
        smaller, model = model, make_student(len(vocab), np.load(first), a.seed, layers)
        begin = STAGES[stage - 1][1] if stage else 0
        if saved and saved["step"] >= last and stage + 1 < len(STAGES):
            if saved["step"] == last:
                model.load_state_dict(saved["model"])
            continue
        goes_on = saved is not None and saved["step"] > begin
        if goes_on:
            model.load_state_dict(saved["model"])
            begin = saved["step"]
        elif smaller and smaller.config.num_hidden_layers < layers:
            grow(smaller, model)
        elif smaller:
            model = smaller
        optimizers = make_optimizers(model, share * a.rate, stage)
        if goes_on:
            for optimizer, state in zip(optimizers, saved["optimizers"]):
                optimizer.load_state_dict(state)
        first_step = STAGES[stage - 1][1] if stage else 0
        run_stage(a, model, tokenizer, optimizers, batches, vectors, turn, positive, range(begin, last), first_step, feelings_a_step, checkpoint)


def make_optimizers(model, rate, stage):
    """AdamW, after the first stage without the layers' matrices, which are Muon's."""
    named = list(model.named_parameters())
    matrices = [p for n, p in named if p.ndim >= 2 and "embeddings" not in n]
    turned = [p for n, p in named if p.ndim == 2 and ".layer." in n] if stage else []
    held = {id(p) for p in turned}
    groups = [
        {"params": [p for p in matrices if id(p) not in held], "weight_decay": 0.01},
        {"params": [p for n, p in named if p.ndim < 2 or "embeddings" in n], "weight_decay": 0.0},
    ]
    optimizers = [torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)]
    if turned:
        optimizers.append(torch.optim.Muon(turned, lr=2 * rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"))
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers


def run_stage(a, model, tokenizer, optimizers, batches, vectors, turn, positive, steps, begin, feelings_a_step, checkpoint):
    """Steps of a stage that began at step `begin`: 200 to warm, then half a cosine down to 2 %."""
    last = steps.stop
    rate = lambda step: min(1.0, (step - begin + 1) / 200) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - begin) / (last - begin))))
    dev, other_sst = evaluate.sts_pairs(a.data, "dev"), evaluate.sst2(a.data, "sst2-sentences/test")
    model.train()
    sums, since = np.zeros(3), time.time()
    for step in [*steps, last]:
        if step % 500 == 0 or step == last:
            torch.save({"model": model.state_dict(), "optimizers": [o.state_dict() for o in optimizers], "step": step}, checkpoint)
            embed = embedder(model, tokenizer)
            print(
                f"step {step}: distance {sums[0] / 500:.4f}, relations {sums[1] / 500:.5f}, sentiment {sums[2] / 500:.4f}; "
                f"STS-B dev {evaluate.spearman(embed, dev):.4f}, SST-2 {sentiment_accuracy(model, tokenizer, other_sst):.4f}; "
                f"{time.time() - since:.0f} s",
                flush=True,
            )
            sums, since = np.zeros(3), time.time()
        if step == last:
            torch.save(model.state_dict(), checkpoint.with_name(f"step_{step}.pt"))
            return
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * rate(step)
        rows = batches.texts(step)
        goal = F.normalize(torch.from_numpy(vectors[rows].astype(np.float32) @ turn), dim=1)
        part = batches.feelings(step, feelings_a_step)
        with torch.autocast("cpu", torch.bfloat16, enabled=a.bf16):
            mine, _ = forward(model, [batches.ids[r] for r in rows])
            _, logits = forward(model, [batches.felt[r] for r in part])
        distance = (1 - (mine * goal).sum(1)).mean()
        relations = ((mine @ mine.T - goal @ goal.T) ** 2).mean()
        wanted = positive[torch.from_numpy(part)]
        feeling = F.cross_entropy(logits.float(), torch.stack([1 - wanted, wanted], 1))
        loss = distance + 5 * relations + (0.5 if begin else 0.2 + 0.3 * step / last) * feeling
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        sums += [distance.item(), relations.item(), feeling.item()]


if __name__ == "__main__":
    main()
