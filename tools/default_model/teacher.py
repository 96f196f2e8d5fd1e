"""The teacher's vectors of the corpus: all-MiniLM-L6-v2, mean pooling, unit length. Resumable: a stopped run goes on where it was."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertModel

DIM, MOST_TOKENS, CHUNK = 384, 96, 2048


class Teacher:
    def __init__(self, folder):
        self.model = BertModel.from_pretrained(folder).eval()
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    @torch.inference_mode()
    def embed(self, texts, tokens=4096):
        """[texts, 384] of unit length; batches of texts of like length."""
        ids = [e.ids for e in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = np.empty((len(ids), DIM), np.float32)
        at = 0
        while at < len(order):
            n = max(1, tokens // len(ids[order[min(len(order) - 1, at + tokens // 8)]]))
            part = order[at : at + n]
            longest = len(ids[part[-1]])
            batch = torch.zeros(len(part), longest, dtype=torch.long)
            mask = torch.zeros(len(part), longest)
            for row, i in enumerate(part):
                batch[row, : len(ids[i])] = torch.tensor(ids[i])
                mask[row, : len(ids[i])] = 1
            hidden = self.model(batch, attention_mask=mask).last_hidden_state
            mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
            out[part] = torch.nn.functional.normalize(mean, dim=1).numpy()
            at += n
        return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--teacher", required=True, help="the folder of all-MiniLM-L6-v2")
    p.add_argument("--out", required=True, help="the folder of corpus.txt")
    a = p.parse_args()
    out = Path(a.out)
    texts = (out / "corpus.txt").read_text("utf-8").splitlines()
    vectors = np.lib.format.open_memmap(
        out / "teacher.npy", "r+" if (out / "teacher.npy").exists() else "w+", np.float16, (len(texts), DIM)
    )
    state = out / "teacher.json"
    done = json.loads(state.read_text())["done"] if state.exists() else 0
    teacher = Teacher(a.teacher)
    for begin in range(done, len(texts), CHUNK):
        vectors[begin : begin + CHUNK] = teacher.embed(texts[begin : begin + CHUNK])
        vectors.flush()
        state.write_text(json.dumps({"done": min(begin + CHUNK, len(texts))}))
        print(f"\rteacher: {min(begin + CHUNK, len(texts))} of {len(texts)} texts", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
