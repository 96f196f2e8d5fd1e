"""Tables of the model cards."""


def is_of_uses(name):
    """Rows of what a sentence encoder does in place of a head: labels by name, and reranking."""
    return "by name" in name or "BM25" in name


def score_table(scores, who, titles, pick=lambda name: not is_of_uses(name)):
    """Markdown: a row for each set that the model of the card has, a column for each of who, that model first; titles: other names of some."""
    names = [name for name in scores[who[0]] if pick(name)]
    cell = lambda each, name: f"{scores[each][name]:.3f}" if name in scores.get(each, {}) else ""
    rows = [f"| {name} | " + " | ".join(cell(each, name) for each in who) + " |" for name in names]
    return "\n".join(["| set | " + " | ".join(titles.get(each, each) for each in who) + " |", "|---|" + "---|" * len(who), *rows])


def source_table(report):
    rows = [f"| {s['name']} | {s['licence']} | {s['texts']} | {s['shared_with_evaluation']} |" for s in report["corpus"]]
    return "\n".join(["| source | licence | texts | removed |", "|---|---|---|---|", *rows])


def shares(scores, of, names):
    """{set: share of the other's figure}"""
    return {name: scores[name] / of[name] for name in names if name in scores and name in of}


def kept_retrieval(scores, of):
    kept = shares(scores, of, [name for name in scores if name.endswith("nDCG@10") and not is_of_uses(name)])
    return sum(kept.values()) / len(kept)
