"""Batches of texts with similar lengths, for training."""

import numpy as np


class Batches:
    """Which texts a step sees: a function of the step and the seed alone, so that a resumed run sees the same."""

    def __init__(self, lengths, tokens, seed):
        self.lengths, self.tokens, self.seed = lengths, tokens, seed
        self.epoch, self.rows, self.begin = -1, [], 0

    def __call__(self, step):
        """Texts of like length (less padding) of at most so many tokens together, from a new shuffling each epoch."""
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
