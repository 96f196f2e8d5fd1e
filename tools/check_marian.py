#!/usr/bin/env python3
"""Compares our tokenizer of OPUS-MT repositories (source.spm, vocab.json) with transformers' MarianTokenizer, on models trained here.

    cmake --preset native-release && cmake --build --preset native-release --target side_by_side
    python tools/check_marian.py [--texts 4000] [--seed 1]

Ids with and without special tokens, decoded text of them and of random ids. Prints the first differences and exits with 1 when there
are any. Where special tokens stay in the text, Python leaves the space of a piece behind one that source.spm does not know: not compared.
"""
import argparse
import pathlib
import random
import sys
import tempfile

from goldens import marian
from parity import Ours, nasty, plain_texts, readable


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--texts", type=int, default=4000)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng = random.Random(a.seed)
    plain = plain_texts(rng)
    lines = lambda count: [line for line in (" ".join(next(plain).split()) for _ in range(count)) if line]
    differences = 0
    for size in (800, 6000):
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            theirs = marian.write(folder, marian.train(lines(3000), size), marian.train(lines(1500), size), rng)
            ours = Ours([x for name in ("source.spm", "vocab.json", "tokenizer_config.json") for x in (name, str(folder / name))])
            wrong = 0
            for _ in range(a.texts):
                text = next(plain) if rng.random() < 0.4 else nasty(rng, ["</s>", "<unk>", "<pad>", ">>fra<<", ">>", "<<", ">>xx<<", "\u2581"])
                if rng.random() < 0.2:
                    text = rng.choice([">>fra<<", ">>deu<< ", ">>nob<<", " >>fra<<", ">><<"]) + text
                specials, split = rng.random() < 0.7, rng.random() < 0.1
                text, units = readable(text)
                windows, (_, decoded) = ours.ask([units], {"specials": specials, "split": split, "max_length": None, "stride": 0, "strategy": 0, "left": 0})
                ids = theirs.encode(text, add_special_tokens=specials, split_special_tokens=split)
                want = theirs.decode(ids, skip_special_tokens=True)
                if (windows[0][0], decoded) == (ids, want):
                    continue
                wrong += 1
                if wrong <= 5:
                    print(f"  {text!a} {specials} {split}\n    ours   {windows[0][0]} {decoded!a}\n    theirs {ids} {want!a}")
            ours.process.stdin.close()
            ours.process.wait()
            print(f"Marian with {len(theirs)} tokens: {a.texts} texts, {wrong} differences", flush=True)
            differences += wrong
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
