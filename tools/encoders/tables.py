"""Tables of the model cards."""


def is_of_uses(name):
    """Rows of tasks that a sentence encoder does without a head: zero-shot classification and reranking."""
    return "by name" in name or "BM25" in name


SHOWN = {
    "8 a label": "8 examples per label",
    "nearer to the paraphrase, of six": "paraphrase is nearest, share of 6",
    'by name in "This text is about {}."': 'zero-shot with "This text is about {}."',
    "by name": "zero-shot",
    "best 50 by BM25 reranked": "top 50 of BM25, reranked",
    "joined with BM25": "hybrid with BM25",
    "questions called NEUTRAL": "questions classified as NEUTRAL",
}


def shown(name):
    """A measure as the cards call it."""
    for own, card in SHOWN.items():
        name = name.replace(own, card)
    return name


def score_table(scores, who, titles, pick=lambda name: not is_of_uses(name)):
    """Markdown: a row for each set that the card's model was scored on, a column for each of who, that model first; titles: other names for some."""
    names = [name for name in scores[who[0]] if pick(name)]
    cell = lambda each, name: f"{scores[each][name]:.3f}" if name in scores.get(each, {}) else ""
    rows = [f"| {shown(name)} | " + " | ".join(cell(each, name) for each in who) + " |" for name in names]
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
