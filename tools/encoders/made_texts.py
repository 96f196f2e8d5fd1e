"""Texts made from others, for a judge model to label (as in Tang et al. 2019, arXiv 1903.12136)."""


def made(of, count, among, rng, overlap):
    """About count texts made of some: words left out of them, runs of words alone, words put in for others between the same neighbours, and
    chains of words, each drawn from those that came after the two before it. Words come from among."""
    rows = [["", "", *t.split(), ""] for t in of]
    between, after_two, after_one = {}, {}, {}
    for row in (["", "", *t.split(), ""] for t in among):
        for a, b, c in zip(row, row[1:], row[2:]):
            between.setdefault((a, c), []).append(b)
            after_two.setdefault((a, b), []).append(c)
            after_one.setdefault(b, []).append(c)
    varied = {two for two, seen in after_two.items() if len(set(seen)) > 1}

    def fewer(row):
        return [w for w in row if rng.random() > 0.15]

    def run(row):
        n = rng.randint(2, 8)
        at = rng.randrange(max(1, len(row) - n))
        return row[at : at + n]

    def others(row):
        row = row[:]
        for i in range(2, len(row) - 1):
            if rng.random() < 0.4:
                row[i] = rng.choice(between[row[i - 1], row[i + 1]]) if (row[i - 1], row[i + 1]) in between else row[i]
        return row

    def chain(row):
        row = row[: 2 + rng.randint(0, 2)]
        while row[-1] or len(row) == 2:
            two = (row[-2], row[-1])
            row.append(rng.choice(after_two[two] if two in varied or not row[-1] else after_one[row[-1]]))
            if len(row) > 42:
                break
        return row

    out = set()
    kinds = ((fewer, 0.15), (run, 0.1), (others, 0.4), (chain, 0.35))
    while len(out) < count:
        (kind,) = rng.choices([k for k, _ in kinds], [p for _, p in kinds])
        words = [w for w in kind(rng.choice(rows)) if w]
        if len(words) > 1:
            out.add(" ".join(words))
    return sorted(t for t in out.difference(among) if not overlap(t))
