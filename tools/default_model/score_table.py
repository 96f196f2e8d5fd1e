"""The table of a model card from the scores that tools/score_models.mjs wrote."""


def score_table(scores, who, titles):
    """Markdown: a row for each set, a column for each of who; titles: other names of some."""
    names = list(dict.fromkeys(name for each in who for name in scores.get(each, {})))
    cell = lambda each, name: f"{scores[each][name]:.3f}" if name in scores.get(each, {}) else ""
    rows = [f"| {name} | " + " | ".join(cell(each, name) for each in who) + " |" for name in names]
    return "\n".join(["| set | " + " | ".join(titles.get(each, each) for each in who) + " |", "|---|" + "---|" * len(who), *rows])
