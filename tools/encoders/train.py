"""Trains encoders that are smaller versions of their teacher (all-MiniLM-L6-v2, bge-small-en-v1.5) to give the teacher's embeddings.

A student begins as its teacher: some of its layers and inner units (student.py), the rows of some of its pieces (pieces.py), the first positions. From
step `round_at` its matrices have the four bits of GGUF's q4_0: they are rounded by GPTQ (rounding.py; positions and token types stay), where the recipe says so
after a least-squares fit of each to what the teacher computes (fitting.py), and from then on the
scales of the blocks stay, the numbers are seen rounded, and the gradient passes straight through (Bengio et al. 2013, arXiv 1308.3432). So what is trained is
what is shipped.

Loss: 1 - cos to the teacher's vector, plus the squared difference of all cosines within the batch (relational distillation, Park et al. 2019, arXiv
1904.05068); for a student with fewer layers also the distance of the states of each word, in the last layer and in those before (as in Jiao et al. 2020,
arXiv 1909.10351), where a word is the mean of its pieces, since the two divide words differently; from step `feel_at` on, cross-entropy of the sentiment head
to what sentiment.py's judge says. Seeded; checkpoint.pt holds everything a stopped run needs to go on.
"""

import argparse
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import BertModel

import evaluate
from batches import Batches
from fitting import fit_and_round
from gguf_bert import pieces_in, read_gguf
from padding import pad
from pairs import Searches
from pieces import EMOJI, choose_pieces, cut_tokenizer, first_rows
from rounding import BLOCK, best_scales
from student import autocast, begin_as, begin_rounded, forward, is_rounded, make_student, pooled, shape_rounded


@dataclass
class Recipe:
    pieces: int  # of the teacher's vocabulary
    emoji: str
    layers: tuple  # of the teacher, each with
    inner: int  # units
    states: tuple  # the teacher's states that those of each layer are to equal; () if states teach nothing
    most_tokens: int  # of a training text
    tokens: int  # of a step, padding included
    steps: int
    round_at: int
    feel_at: int | None  # None: no sentiment head
    rate: float
    warm: int = 100  # steps in which the rate rises
    positions: int = 256
    pooling: str = "mean"
    prompt: str = ""  # of queries; every fourth short text has it
    fitted: int = 0  # texts by which fitting.py fits the layers, and a fifteenth as many long ones
    read: int | None = None  # texts that are trained on, the first ones; all choose the pieces
    searches: bool = False  # every second step is one of pairs.py


RECIPES = {
    "base": Recipe(15900, "", (0, 1, 2, 3, 4, 5), 1536, (), 160, 4096, 450, 0, None, 2e-4),
    "large": Recipe(
        19000, "", (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11), 1536, (), 512, 2048, 100, 0, None, 2e-4, 10, 512, "cls",
        "Represent this sentence for searching relevant passages: ", 900, 60000,
    ),  # fmt: skip
    "default": Recipe(6590, EMOJI, (0, 2, 3, 5), 448, (1, 3, 4, 6), 128, 2048, 1800, 1400, 1200, 5e-4),
    "deep": Recipe(6330, EMOJI, (0, 1, 2, 3, 5), 224, (1, 2, 3, 5, 6), 256, 2048, 2000, 1300, 600, 5e-4, searches=True),
    "search": Recipe(6590, EMOJI, (0, 2, 3, 5), 448, (1, 3, 4, 6), 256, 2048, 1400, 0, 0, 3e-4, searches=True),  # begins as an edition of the default
}
SHORT = 150  # characters of a text that may be a query
LONG = 15  # to one long text, so many others of those that fit the layers
KEEP = 10  # steps between checkpoints
FEELINGS = 256  # texts a step
FEELING = 0.8  # the weight of their loss
RANKING = 0.3  # the weight of the queries' distributions


def cut(encoding, most):
    """(ids, words): at most `most` of them, ended by [SEP]. words: of each token 0 for [CLS], 1.. for words, -1 for [SEP]."""
    ids, words = encoding.ids, encoding.word_ids
    if len(ids) > most:
        ids, words = [*ids[: most - 1], ids[-1]], [*words[: most - 1], None]
    return ids, [0, *(w + 1 for w in words[1:-1]), -1]


def by_word(hidden, words, most):
    """hidden [texts, tokens, width], words: of each text as of cut(). Returns [texts * most, width], the mean of each word's tokens, and [texts * most],
    how many those are."""
    width, count = hidden.shape[-1], len(words) * most
    place = torch.full(hidden.shape[:2], count)  # padding: a place of its own, dropped below
    for row, own in enumerate(words):
        place[row, : len(own)] = torch.tensor([row * most + (w if w >= 0 else most - 1) for w in own])
    place = place.reshape(-1)
    sums = torch.zeros(count + 1, width).index_add_(0, place, hidden.float().reshape(-1, width))
    tokens = torch.bincount(place, minlength=count + 1)[:-1]
    return sums[:-1] / tokens[:, None].clamp(min=1), tokens


def distance_of_states(mine, my_words, goal, goal_words):
    """The squared distance of all words' states, over the squares of the teacher's."""
    most = 2 + max(max(own) for words in (my_words, goal_words) for own in words)
    a, of_a = by_word(mine, my_words, most)
    b, of_b = by_word(goal, goal_words, most)
    both = (of_a > 0) & (of_b > 0)
    return (a - b)[both].square().sum() / b[both].square().sum()


def mean_of(runs):
    """The mean of what runs learned, where each began with the one before it: their scales are the same (as in Wortsman et al. 2022, arXiv 2203.05482)."""
    states = [torch.load(run / "checkpoint.pt")["model"] for run in runs]
    assert all(torch.equal(state[name], states[0][name]) for state in states for name in state if name.endswith("scale")), "runs of other scales"
    return {name: sum(state[name] for state in states) / len(states) for name in states[0]}


def begin_from(student, kept, runs):
    """Begins with what other runs of the same recipe learned, in the mean: all but the rows of pieces that they had not, which are the teacher's."""
    had, *others = [json.loads((run / "pieces.json").read_text()) for run in runs]
    assert all(pieces == had for pieces in others), "runs of other pieces"
    state = mean_of(runs)
    embeddings = student.bert.embeddings.word_embeddings
    table = "bert.embeddings.word_embeddings."
    shape_rounded(student)
    student.load_state_dict({name: value for name, value in state.items() if not name.startswith(table)}, strict=False)
    rows = embeddings.weight.data
    scale = best_scales(rows.reshape(-1, BLOCK)).reshape(len(rows), -1)
    emoji = [f"emoji {i}" for i in range(len(rows) - len(kept))]  # the same in both runs, after the pieces
    place = {piece: at for at, piece in enumerate([*had, *emoji])}
    for row, piece in enumerate([*kept, *emoji]):
        if piece in place:
            rows[row] = state[f"{table}weight"][place[piece]]
            scale[row] = state[f"{table}scale"][place[piece]]
    embeddings.scale.copy_(scale)


def embedder(student, tokenizer):
    """An encoder for evaluate.py."""

    @torch.inference_mode()
    def embed(texts):
        ids = [cut(e, student.config.max_position_embeddings)[0] for e in tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = np.empty((len(ids), student.config.hidden_size), np.float32)
        for at in range(0, len(order), 64):
            part = order[at : at + 64]
            out[part] = forward(student, [ids[i] for i in part])[0].numpy()
        return out

    return embed


@torch.inference_mode()
def sentiment_logits(student, tokenizer, texts):
    """[texts, 3] of the head."""
    ids = [cut(e, student.config.max_position_embeddings)[0] for e in tokenizer.encode_batch(list(texts))]
    return torch.cat([student.classifier(forward(student, ids[at : at + 64])[1].pooler_output) for at in range(0, len(ids), 64)])


class Feelings:
    """Texts with what the judge said of them; a step's are of like length."""

    def __init__(self, out, tokenizer, seed):
        self.goal = torch.from_numpy(np.load(out / "feelings.npy"))
        texts = (out / "feelings.txt").read_text("utf-8").splitlines()[: len(self.goal)]
        self.ids = [cut(e, 64)[0] for e in tokenizer.encode_batch(texts)]
        self.eighths = np.array_split(np.argsort([len(i) for i in self.ids], kind="stable"), 8)
        self.seed = seed

    def loss(self, student, step):
        rng = np.random.default_rng((self.seed, step, 1))
        rows = rng.choice(self.eighths[rng.integers(8)], FEELINGS)
        with autocast():
            _, said = forward(student, [self.ids[i] for i in rows])
        return F.cross_entropy(student.classifier(said.pooler_output.float()), self.goal[torch.from_numpy(rows)])


def optimizer_of(student, rate):
    named = list(student.named_parameters())
    groups = [
        {"params": [q for n, q in named if q.ndim >= 2 and "embeddings" not in n], "weight_decay": 0.01},
        {"params": [q for n, q in named if q.ndim < 2 or "embeddings" in n], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


@torch.no_grad()
def lesson(teacher, recipe, theirs):
    """The teacher's vectors of texts cut by its tokenizer, and its states."""
    batch, mask = pad([ids for ids, _ in theirs])
    with autocast():
        taught = teacher(batch, attention_mask=mask, output_hidden_states=bool(recipe.states))
    return pooled(taught.last_hidden_state, mask, recipe.pooling), taught.hidden_states


class Lessons:
    """The teacher's vectors for each step, kept in a folder: they can be computed before there is a student. Only for recipes without states."""

    def __init__(self, folder, teacher, recipe, texts_of):
        self.folder, self.teacher, self.recipe, self.texts_of = folder, teacher, recipe, texts_of
        folder.mkdir(exist_ok=True)

    def __call__(self, step):
        file = self.folder / f"{step}.npy"
        if not file.exists():
            np.save(file, lesson(self.teacher, self.recipe, self.texts_of(step))[0].numpy())
        return torch.from_numpy(np.load(file)), None


def losses(student, recipe, mine, theirs, taught):
    """The loss of texts, cut by the student's and the teacher's tokenizer, and its parts as numbers. taught: as of lesson()."""
    goal, taught_states = taught
    with autocast():
        vectors, own = forward(student, [ids for ids, _ in mine], output_hidden_states=bool(recipe.states))
    distance = (1 - (vectors * goal).sum(1)).mean()
    relations = ((vectors @ vectors.T - goal @ goal.T) ** 2).mean()
    words = [[w for _, w in part] for part in (mine, theirs or [])]
    states = [distance_of_states(own.hidden_states[layer + 1], words[0], taught_states[at], words[1]) for layer, at in enumerate(recipe.states)]
    loss = distance + 5 * relations
    if states:
        loss = loss + 0.3 * states[-1] + 0.15 * sum(states[:-1]) / (len(states) - 1)
    return loss, [distance.item(), relations.item(), states[-1].item() if states else 0]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("recipe", choices=RECIPES)
    p.add_argument("--data", required=True)
    p.add_argument("--teacher", required=True, help="the folder of all-MiniLM-L6-v2, for large of bge-small-en-v1.5")
    p.add_argument("--texts", required=True, help="the folder of corpus.txt, for the default model also of feelings.txt")
    p.add_argument("--out", required=True)
    p.add_argument("--begin", nargs="+", type=Path, help="the .gguf of an edition, or folders of other runs to begin with the mean of, maybe with other pieces")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=torch.get_num_threads(), help="on a machine with other work, one is faster than two")
    p.add_argument("--lessons", action="store_true", help="only computes the teacher's vectors for all steps, beside or before the training")
    p.add_argument("--steps", type=int, help="0: fits and rounds, and does not train")
    p.add_argument("--rate", type=float)
    a = p.parse_args()
    recipe = RECIPES[a.recipe]
    recipe.steps, recipe.rate = recipe.steps if a.steps is None else a.steps, a.rate or recipe.rate
    if a.begin and recipe.feel_at is not None:
        recipe.feel_at = 0
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    out = Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    edition = a.begin[0] if a.begin and a.begin[0].suffix == ".gguf" else None
    texts = (Path(a.texts) / "corpus.txt").read_text("utf-8").splitlines()
    whole = Tokenizer.from_file(str(Path(a.teacher) / "tokenizer.json"))
    whole.no_padding()
    whole.no_truncation()
    if not (out / "pieces.json").exists():
        if edition:
            kept = [whole.token_to_id(piece) for piece in pieces_in(edition, recipe.emoji)]
        else:
            sources = [int(line) for line in (Path(a.texts) / "corpus_sources.txt").read_text().split()]
            kept = choose_pieces(whole, texts, sources, recipe.pieces)
        cut_tokenizer(Path(a.teacher) / "tokenizer.json", out / "tokenizer.json", kept, recipe.emoji)
        (out / "pieces.json").write_text(json.dumps(kept))
    kept = json.loads((out / "pieces.json").read_text())
    texts = texts[: recipe.read]
    if recipe.prompt:
        texts = [recipe.prompt + text if at % 4 == 0 and len(text) < SHORT else text for at, text in enumerate(texts)]
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    own = [cut(e, recipe.most_tokens) for e in tokenizer.encode_batch(texts)]
    lengths = np.array([len(ids) for ids, _ in own])
    taught = lambda rows: [cut(e, recipe.most_tokens) for e in whole.encode_batch([texts[r] for r in rows])]
    batches = Batches(lengths, recipe.tokens, a.seed)
    some = sorted(np.random.default_rng(a.seed).choice(len(own), recipe.fitted or 640, replace=False), key=lambda i: lengths[i])
    if recipe.fitted:
        long = np.flatnonzero(lengths > recipe.most_tokens // 2)[: recipe.fitted // LONG]
        some = sorted({*some, *long}, key=lambda i: lengths[i])

    teacher = BertModel.from_pretrained(a.teacher, add_pooling_layer=False).eval()
    lessons = None if recipe.states else Lessons(out / "lessons", teacher, recipe, lambda step: taught(batches(step)))
    if a.lessons:
        for step in range(recipe.steps):
            lessons(step)
        return
    table = first_rows(teacher, whole, kept, recipe.emoji)
    student = make_student(teacher, len(table), recipe)
    begin_as(student, teacher, table, recipe.layers, [ids for ids, _ in taught(some)])
    checkpoint = out / "checkpoint.pt"
    saved = torch.load(checkpoint) if checkpoint.exists() else None
    begin = saved["step"] if saved else 0
    if saved and saved["rounded"]:
        shape_rounded(student)
    elif edition:
        shape_rounded(student)
        read_gguf(edition, student)
    elif a.begin:
        begin_from(student, kept, a.begin)
    optimizer = optimizer_of(student, recipe.rate)
    if saved:
        student.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    feelings = None
    dev = evaluate.sts_pairs(a.data, "dev")
    searches = Searches(Path(a.texts), lambda texts: [cut(e, recipe.positions)[0] for e in tokenizer.encode_batch(texts)], a.seed) if recipe.searches else None
    sums, since, seen = np.zeros(5), time.time(), np.zeros(5)
    for step in range(begin, recipe.steps + 1):
        if step == recipe.round_at and not is_rounded(student):
            if recipe.fitted:
                fit_and_round(student.bert, teacher, recipe.layers, [own[i] for i in some], taught(some), recipe.pooling == "cls")
            else:
                begin_rounded(student, [own[i][0] for i in some])
        if step % KEEP == 0 or step == recipe.steps:
            state = {"model": student.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "rounded": is_rounded(student)}
            torch.save(state, out / "checkpoint.new")
            (out / "checkpoint.new").replace(checkpoint)
            parts = ", ".join(f"{name} {value:.5f}" for name, value in zip(("distance", "relations", "states", "ranking", "sentiment"), sums / np.maximum(1, seen)))
            is_judged = step > begin and (step % 100 == 0 or step == recipe.steps)
            score = f"; STS-B dev {evaluate.spearman(embedder(student, tokenizer), dev):.4f}" if is_judged else ""
            print(f"step {step}: {parts}{score}; {time.time() - since:.0f} s", flush=True)
            sums, since, seen = np.zeros(5), time.time(), np.zeros(5)
        if step == recipe.steps:
            break
        if recipe.feel_at is not None and step >= recipe.feel_at and feelings is None:
            feelings = Feelings(Path(a.texts), tokenizer, a.seed)
        is_search = searches is not None and step % 2 == 1
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * min(1.0, (step + 1) / recipe.warm) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / recipe.steps)))
        if is_search:
            distance, relations, ranking = searches.loss(lambda ids: forward(student, ids)[0], step)
            loss, parts = distance + 5 * relations + RANKING * ranking, [0, 0, 0, ranking.item()]
        else:
            rows = batches(step)
            theirs = taught(rows) if recipe.states else None
            loss, parts = losses(student, recipe, [own[r] for r in rows], theirs, lessons(step) if lessons else lesson(teacher, recipe, theirs))
            parts = [*parts, 0]
        feeling = feelings.loss(student, step) if feelings and not is_search else torch.zeros(())
        optimizer.zero_grad(set_to_none=True)
        (loss + FEELING * feeling).backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        sums += [*parts, feeling.item()]
        seen += [not is_search, not is_search, not is_search, is_search, not is_search]


if __name__ == "__main__":
    main()
