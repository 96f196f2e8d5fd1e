"""Puts texts of different lengths into one batch."""

import torch


def pad(ids):
    """[texts, longest] token ids, 0 where a text has ended, and the mask: 1 where it has not."""
    longest = max(map(len, ids))
    batch = torch.zeros(len(ids), longest, dtype=torch.long)
    mask = torch.zeros(len(ids), longest)
    for row, one in enumerate(ids):
        batch[row, : len(one)] = torch.tensor(one)
        mask[row, : len(one)] = 1
    return batch, mask
