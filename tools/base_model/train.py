"""Trains wattn-base: all-MiniLM-L6-v2 with fewer pieces in its vocabulary and weights of four bits, taught by the original.

The student begins as the teacher: the same six layers, the rows of the pieces that stay, the first 256 positions. Its matrices are rounded to the four bits of
GGUF's q4_0 by GPTQ (rounding.py; positions and token types stay). From then on the scales of the blocks stay, the numbers are seen rounded, and the gradient
passes straight through (Bengio et al. 2013, arXiv 1308.3432). So what is trained is what is shipped.

Loss: 1 - cos to the teacher's vector, plus the squared difference of all cosines within the batch (relational distillation, Park et al. 2019, arXiv
1904.05068). Seeded; checkpoint.pt holds everything a stopped run needs to go on.
"""

import argparse
import contextlib
import json
import math
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

sys.path.append(str(Path(__file__).parents[1] / "default_model"))
import evaluate  # noqa: E402
from padding import pad  # noqa: E402
from rounding import BLOCK, Rounded, RoundedLinear, best_scales, round_model  # noqa: E402

POSITIONS = 256
MOST_TOKENS = 160  # of a training text
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def is_kept_alone(piece):
    """Single characters that every text in Latin letters needs, so that no word of them becomes [UNK]."""
    bare = piece.removeprefix("##")
    return len(bare) == 1 and (ord(bare) < 0x250 or 0x370 <= ord(bare) < 0x400 or 0x2010 <= ord(bare) < 0x2030 or bare == "€")


def choose_pieces(tokenizer, texts, sources, size):
    """The ids that stay, in their old order: special ones, single characters, then the most frequent ones. A piece's frequency is the sum of its shares of
    each source, so that large sources do not decide alone."""
    pieces = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda x: x[1])]
    must = {i for i, piece in enumerate(pieces) if piece in SPECIAL or is_kept_alone(piece)}
    counts = [Counter() for _ in range(max(sources) + 1)]
    for at in range(0, len(texts), 4096):
        for encoding, source in zip(tokenizer.encode_batch(texts[at : at + 4096]), sources[at : at + 4096]):
            counts[source].update(encoding.ids)
    shares = Counter()
    for count in counts:
        total = sum(count.values())
        for i, n in count.items():
            shares[i] += n / total
    often = (i for i, _ in sorted(shares.items(), key=lambda x: (-x[1], x[0])) if i not in must)
    return sorted([*must, *[i for _, i in zip(range(size - len(must)), often)]])


def cut_tokenizer(source, target, kept):
    """tokenizer.json with the kept ids alone, numbered anew."""
    data = json.loads(Path(source).read_text("utf-8"))
    old = sorted(data["model"]["vocab"], key=data["model"]["vocab"].get)
    new = {old[i]: at for at, i in enumerate(kept)}
    data["model"]["vocab"] = new
    data["added_tokens"] = [{**token, "id": new[token["content"]]} for token in data["added_tokens"]]
    for special in data["post_processor"].get("special_tokens", {}).values():
        special["ids"] = [new[token] for token in special["tokens"]]
    for field in ("sep", "cls"):
        if field in data["post_processor"]:
            data["post_processor"][field][1] = new[data["post_processor"][field][0]]
    data["padding"] = data["truncation"] = None
    Path(target).write_text(json.dumps(data, ensure_ascii=False), "utf-8")


def make_student(teacher, kept):
    """The teacher's model with the rows of the kept pieces and matrices that are seen rounded."""
    old = teacher.config.to_dict()
    config = BertConfig(**{**old, "vocab_size": len(kept), "max_position_embeddings": POSITIONS, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})
    student = BertModel(config, add_pooling_layer=False)
    state = {name: value for name, value in teacher.state_dict().items() if not name.startswith("pooler.")}
    state["embeddings.word_embeddings.weight"] = state["embeddings.word_embeddings.weight"][kept]
    state["embeddings.position_embeddings.weight"] = state["embeddings.position_embeddings.weight"][:POSITIONS]
    state = {name: value.clone() for name, value in state.items() if not name.endswith("_ids")}
    student.load_state_dict(state, strict=False)
    return student


def begin_rounded(student, ids):
    """Rounds the student; ids: some texts, whose rows through the layers say what matters."""
    parts = [pad(ids[at : at + 32]) for at in range(0, len(ids), 32)]

    def run(note):
        for batch, mask in parts:
            note.mask = mask.bool()
            with contextlib.suppress(StopIteration):
                student(batch, attention_mask=mask)

    round_model(student, run)


def shape_rounded(student):
    """The student as begin_rounded leaves it, to load a checkpoint into."""
    rounded_parts = [student.embeddings.word_embeddings, *(m for m in student.encoder.modules() if isinstance(m, torch.nn.Linear))]
    for part in rounded_parts:
        rows, columns = part.weight.shape
        part.register_buffer("scale", torch.zeros(rows, columns // BLOCK))
        if isinstance(part, torch.nn.Linear):
            part.__class__ = RoundedLinear


def begin_from(student, kept, other):
    """Begins with what another run learned: all but the rows of pieces that it had not, which are the teacher's."""
    had = json.loads((Path(other) / "pieces.json").read_text())
    state = torch.load(Path(other) / "checkpoint.pt")["model"]
    table = student.embeddings.word_embeddings.weight.data
    own = {name: value for name, value in state.items() if not name.startswith("embeddings.word_embeddings.")}
    shape_rounded(student)
    student.load_state_dict(own, strict=False)
    scale = best_scales(table.reshape(-1, BLOCK)).reshape(len(kept), -1)
    place = {piece: at for at, piece in enumerate(had)}
    for row, piece in enumerate(kept):
        if piece in place:
            table[row] = state["embeddings.word_embeddings.weight"][place[piece]]
            scale[row] = state["embeddings.word_embeddings.scale"][place[piece]]
    student.embeddings.word_embeddings.scale.copy_(scale)


def pooled(hidden, mask):
    mean = (hidden.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    return F.normalize(mean, dim=1)


def forward(student, ids):
    """Unit vectors [batch, 384] by mean pooling."""
    batch, mask = pad(ids)
    # Rows first, then rounding: only the batch's rows are rounded.
    table = student.embeddings.word_embeddings
    tokens = Rounded.apply(table(batch), table.scale[batch])
    return pooled(student(inputs_embeds=tokens, attention_mask=mask).last_hidden_state, mask)


@torch.no_grad()
def teach(teacher, ids):
    batch, mask = pad(ids)
    return pooled(teacher(batch, attention_mask=mask).last_hidden_state, mask)


def embedder(student, tokenizer):
    """An encoder for evaluate.py."""

    @torch.inference_mode()
    def embed(texts):
        ids = [e.ids[: POSITIONS - 1] + [e.ids[-1]] if len(e.ids) > POSITIONS else e.ids for e in tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = np.empty((len(ids), student.config.hidden_size), np.float32)
        for at in range(0, len(order), 64):
            part = order[at : at + 64]
            out[part] = forward(student, [ids[i] for i in part]).numpy()
        return out

    return embed


class Batches:
    """Which texts a step sees: a function of the step and the seed alone, so that a resumed run sees the same."""

    def __init__(self, lengths, tokens, seed):
        self.lengths, self.tokens, self.seed = lengths, tokens, seed
        self.epoch, self.rows, self.begin = -1, [], 0

    def __call__(self, step):
        """Texts of like length (less padding) of at most `tokens` tokens together, from a new shuffling each epoch."""
        while step >= self.begin + len(self.rows):
            self.begin += len(self.rows)
            self.epoch += 1
            rng = np.random.default_rng((self.seed, self.epoch))
            order = rng.permutation(len(self.lengths))
            self.rows = []
            for block in np.array_split(order, max(1, len(order) // 8192)):
                block = block[np.argsort(self.lengths[block], kind="stable")]
                at = 0
                while at < len(block):
                    ends = self.lengths[block[at : at + 512]] * np.arange(1, len(block[at : at + 512]) + 1)
                    count = max(1, int((ends <= self.tokens).sum()))
                    self.rows.append(block[at : at + count])
                    at += count
            rng.shuffle(self.rows)
        return self.rows[step - self.begin]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--teacher", required=True, help="the folder of all-MiniLM-L6-v2")
    p.add_argument("--out", required=True, help="the folder of corpus.txt")
    p.add_argument("--begin", help="the folder of another run to begin with, maybe with other pieces")
    p.add_argument("--pieces", type=int, default=15900)
    p.add_argument("--steps", type=int, default=450)
    p.add_argument("--tokens", type=int, default=4096, help="of a step, padding included")
    p.add_argument("--rate", type=float, default=2e-4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--bf16", action="store_true", help="products in bfloat16: faster where the CPU has them")
    p.add_argument("--threads", type=int, default=torch.get_num_threads(), help="on a machine with other work, one is faster than two")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    out = Path(a.out)
    texts = (out / "corpus.txt").read_text("utf-8").splitlines()
    whole = Tokenizer.from_file(str(Path(a.teacher) / "tokenizer.json"))
    whole.no_padding()
    whole.no_truncation()
    if not (out / "pieces.json").exists():
        sources = [int(line) for line in (out / "corpus_sources.txt").read_text().split()]
        kept = choose_pieces(whole, texts, sources, a.pieces)
        cut_tokenizer(Path(a.teacher) / "tokenizer.json", out / "tokenizer.json", kept)
        (out / "pieces.json").write_text(json.dumps(kept))
    kept = json.loads((out / "pieces.json").read_text())
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    cut = lambda e: e.ids[: MOST_TOKENS - 1] + [e.ids[-1]] if len(e.ids) > MOST_TOKENS else e.ids
    ids = [cut(e) for e in tokenizer.encode_batch(texts)]
    teacher = BertModel.from_pretrained(a.teacher, add_pooling_layer=False).eval()
    student = make_student(teacher, kept).eval()  # no dropout in either
    checkpoint = out / "checkpoint.pt"
    saved = torch.load(checkpoint) if checkpoint.exists() else None
    if saved:
        shape_rounded(student)
    elif a.begin:
        begin_from(student, kept, a.begin)
    else:
        some = np.random.default_rng(a.seed).choice(len(ids), 640, replace=False)
        print("rounding", flush=True)
        begin_rounded(student, [ids[i] for i in sorted(some, key=lambda i: len(ids[i]))])
    named = list(student.named_parameters())
    groups = [
        {"params": [q for n, q in named if q.ndim >= 2 and "embeddings" not in n], "weight_decay": 0.01},
        {"params": [q for n, q in named if q.ndim < 2 or "embeddings" in n], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=a.rate, betas=(0.9, 0.98), fused=True)
    begin = 0
    if saved:
        student.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        begin = saved["step"]
    batches = Batches(np.array([len(i) for i in ids]), a.tokens, a.seed)
    dev = evaluate.sts_pairs(a.data, "dev")
    sums, since, seen = np.zeros(2), time.time(), 0
    for step in range(begin, a.steps + 1):
        if step % 100 == 0 or step == a.steps:
            torch.save({"model": student.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, out / "checkpoint.new")
            (out / "checkpoint.new").replace(checkpoint)
            score = evaluate.spearman(embedder(student, tokenizer), dev)
            mean = sums / max(1, seen)
            print(f"step {step}: distance {mean[0]:.5f}, relations {mean[1]:.6f}; STS-B dev {score:.4f}; {time.time() - since:.0f} s", flush=True)
            sums, since, seen = np.zeros(2), time.time(), 0
        if step == a.steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = a.rate * min(1.0, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / a.steps)))
        rows = batches(step)
        with torch.autocast("cpu", torch.bfloat16, enabled=a.bf16):
            goal = teach(teacher, [cut(e) for e in whole.encode_batch([texts[r] for r in rows])])
            mine = forward(student, [ids[r] for r in rows])
        distance = (1 - (mine * goal).sum(1)).mean()
        relations = ((mine @ mine.T - goal @ goal.T) ** 2).mean()
        optimizer.zero_grad(set_to_none=True)
        (distance + 5 * relations).backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        sums += [distance.item(), relations.item()]
        seen += 1


if __name__ == "__main__":
    main()
