"""sentence_losses/: sentence-transformers' losses over vectors and their gradients, in double precision; SupConLoss by its paper's formula."""
import torch
from sentence_transformers import losses
from torch.nn import functional

from . import common
from .losses import numbers, rounded


def sup_con(x, labels, temperature):
    """arXiv 2004.11362, equation 2, over the rows that have another of their label."""
    unit = functional.normalize(x, dim=1)
    scores = unit @ unit.T / temperature
    own = torch.eye(len(x), dtype=torch.bool)
    log_probs = scores - torch.logsumexp(scores.masked_fill(own, -torch.inf), 1, keepdim=True)
    alike = (labels[:, None] == labels[None, :]) & ~own
    rows = alike.any(1)
    return -((log_probs * alike).sum(1)[rows] / alike.sum(1)[rows]).mean()


def case(name, x, run, **options):
    leaf = rounded(x).requires_grad_()
    loss = run(leaf)
    loss.backward()
    return {"loss": name, "rows": x.shape[0], "cols": x.shape[1], **options, "x": numbers(leaf), "value": loss.item(),
            "gradient": leaf.grad.flatten().tolist()}


def cases(draw):
    for columns in (2, 3):
        loss = losses.MultipleNegativesRankingLoss(None, scale=7.0)
        yield case("MultipleNegativesRankingLoss", draw(4 * columns, 5), lambda x: loss.compute_loss_from_embeddings(list(x.split(4)), None),
                   anchors=4, scale=7.0)
    scores = torch.tensor([0.5, 0.0, 1.0, 0.5, 0.25])
    binary = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0])
    x = draw(10, 5)
    near = x.clone()
    near[5:] = near[:5] + 0.2 * draw(5, 5)
    for name, loss, of, targets, more in (
            ("CoSENTLoss", losses.CoSENTLoss(None, scale=20.0), x, scores, {"scale": 20.0}),
            ("CosineSimilarityLoss", losses.CosineSimilarityLoss(None), x, scores, {}),
            ("ContrastiveLoss", losses.ContrastiveLoss(None, margin=0.5), near, binary, {"margin": 0.5})):
        yield case(name, of, lambda x, loss=loss, targets=targets: loss.compute_loss_from_embeddings(list(x.split(5)), targets.double()),
                   scores=targets.tolist(), **more)
    labels = torch.tensor([2, 0, 2, 1, 1, 2, 3])
    triplets = losses.BatchAllTripletLoss(None, margin=1.0)
    yield case("BatchAllTripletLoss", draw(7, 5), lambda x: triplets.compute_loss_from_embeddings([x], labels), labels=labels.tolist(), margin=1.0)
    for temperature in (0.1, 1.0):
        yield case("SupConLoss", draw(7, 5), lambda x: sup_con(x, labels, temperature), labels=labels.tolist(), temperature=temperature)


def make(_options):
    torch.manual_seed(12)
    folder = common.empty_folder("sentence_losses")
    draw = lambda *shape: torch.randn(*shape, dtype=torch.float64)  # noqa: E731
    common.write_json(folder / "cases.json", list(cases(draw)), 2)
    common.update_manifest("sentence_losses", common.versions("torch", "sentence-transformers"))
