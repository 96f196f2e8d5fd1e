"""Trains wattn-story, a small decoder of Llama's architecture, on books.

A step reads windows of 256 tokens, each after <|endoftext|>, which also separates chapters. The step and the seed determine the windows.
checkpoint.pt has everything that a stopped run needs to resume with the same bits (on one processor, with one thread): steps after the last
checkpoint are repeated. Loss: cross-entropy of the next piece; AdamW; the rate rises for 100 steps, stays, and falls to nothing over the last two
fifths.
"""

import argparse
import hashlib
import json
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM

import corpus

END = "<|endoftext|>"
PIECES = 2048
WINDOW = 256
CONFIG = dict(hidden_size=192, intermediate_size=384, num_hidden_layers=4, num_attention_heads=6, num_key_value_heads=2)
RATE = 4e-3


def train_tokenizer(chapters):
    """Byte-level BPE: the 256 bytes, <|endoftext|>, and what pairs of pieces are most frequent."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(chapters, trainers.BpeTrainer(vocab_size=PIECES, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{END} $A", pair=f"{END} $A $B", special_tokens=[(END, 0)])
    return tokenizer


def stream_of(tokenizer, chapters):
    """The ids of all chapters, each after <|endoftext|>."""
    return np.concatenate([np.array(e.ids, np.int64) for e in tokenizer.encode_batch(chapters)])


def batch(stream, step, rows, seed):
    """[rows, WINDOW + 1] ids. Each epoch cuts the stream elsewhere and shuffles the windows."""
    count = len(stream) // WINDOW - 1
    epoch, at = divmod(step, count // rows)
    rng = np.random.default_rng((seed, epoch))
    begin = rng.integers(WINDOW)
    chosen = rng.permutation(count)[at * rows : (at + 1) * rows]
    text = stream[begin + WINDOW * chosen[:, None] + np.arange(WINDOW)]
    return torch.from_numpy(np.concatenate([np.zeros((rows, 1), np.int64), text], 1))


def windows_of(tokenizer, chapters):
    """A book as texts of at most WINDOW - 1 pieces, cut between words: pieces that stand alone are the same."""
    out = []
    for chapter in chapters:
        encoding = tokenizer.encode(chapter, add_special_tokens=False)
        begin = 0
        while begin < len(encoding.ids):
            end = min(begin + WINDOW - 1, len(encoding.ids))
            while end < len(encoding.ids) and encoding.tokens[end][0] != "Ġ":
                end -= 1
            out.append(chapter[encoding.offsets[begin][0] : encoding.offsets[end - 1][1]])
            begin = end
    return out


@torch.inference_mode()
def nats_of(model, tokenizer, texts):
    """(sum over all pieces of the texts of -log p, pieces): each text is read by itself, after <|endoftext|>."""
    rows = sorted((e.ids for e in tokenizer.encode_batch(texts)), key=len)
    total = pieces = 0
    for at in range(0, len(rows), 16):
        part = rows[at : at + 16]
        most = max(map(len, part))
        ids = torch.tensor([row + [0] * (most - len(row)) for row in part])
        labels = torch.tensor([row[1:] + [-100] * (most - len(row)) for row in part])
        logits = model(ids[:, :-1]).logits.float()
        total += F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), reduction="sum").item()
        pieces += sum(len(row) - 1 for row in part)
    return total, pieces


def make_model():
    torch.manual_seed(1)
    special = dict(bos_token_id=0, eos_token_id=0, pad_token_id=None)
    return LlamaForCausalLM(LlamaConfig(vocab_size=PIECES, max_position_embeddings=WINDOW, tie_word_embeddings=True, rms_norm_eps=1e-5, **CONFIG, **special))


def rate_at(step, steps):
    return RATE * min(1, (step + 1) / 100, (steps - step) / (0.4 * steps))


def digest(model):
    h = hashlib.sha256()
    for values in model.state_dict().values():
        h.update(values.numpy().tobytes())
    return h.hexdigest()[:16]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--books", required=True, help="a folder with the repositories that corpus.py names")
    p.add_argument("--data", required=True, help="the folder of data sets: text/bronte.txt")
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, required=True)
    p.add_argument("--rows", type=int, default=6, help="windows a step")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--save", type=int, default=40, help="steps between two checkpoints")
    p.add_argument("--look", type=int, default=400, help="steps between two looks at the book that choices are made with")
    a = p.parse_args()
    torch.set_num_threads(1)
    out = Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    chapters = [c for texts in corpus.training_texts(a.books, a.data).values() for c in texts]
    if not (out / "tokenizer.json").exists():
        train_tokenizer(chapters).save(str(out / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    stream, dev = stream_of(tokenizer, chapters), windows_of(tokenizer, corpus.read_book(a.books, corpus.DEV))[::4]
    model = make_model()
    matrices = [q for q in model.parameters() if q.ndim == 2]
    vectors = [q for q in model.parameters() if q.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.95), fused=True)
    state = {"step": 0, "rows": a.rows, "seconds": 0.0, "curve": [], "losses": []}
    checkpoint = out / "checkpoint.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    else:
        print(f"{sum(q.numel() for q in model.parameters()):,} parameters, {len(stream):,} pieces of {sum(map(len, chapters)):,} characters", flush=True)
    losses, since = state["losses"], time.process_time()
    for step in range(state["step"], a.steps + 1):
        if step > state["step"] and (step % a.save == 0 or step == a.steps):
            state |= {"step": step, "seconds": state["seconds"] + time.process_time() - since, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            since = time.process_time()
            if step % a.look == 0 or step == a.steps:
                total, pieces = nats_of(model, tokenizer, dev)
                state["curve"].append([step, round(state["seconds"]), round(sum(losses) / len(losses), 4), round(total / pieces, 4)])
                losses.clear()
                print("step {}: {} s, training {}, {} {}".format(*state["curve"][-1][:3], corpus.DEV.title, state["curve"][-1][3]), digest(model), flush=True)
            torch.save(state, out / "checkpoint.new")
            (out / "checkpoint.new").replace(checkpoint)
        if step == a.steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, a.steps)
        ids = batch(stream, step, a.rows, a.seed)
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(ids[:, :-1]).logits
        loss = F.cross_entropy(logits.float().reshape(-1, PIECES), ids[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    (out / "curve.json").write_text(json.dumps(state["curve"]) + "\n")


if __name__ == "__main__":
    main()
