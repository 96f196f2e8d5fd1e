"""training/: the losses of torch while it trains a random BERT, whole, by LoRA or by DoRA, and encoder-decoders, with AdamW, in double precision and in
float32."""
import tokenizers
import torch
import transformers

from . import common

STEPS, LENGTHS = 30, (9, 4, 12)


class Lora(torch.nn.Module):
    """A linear layer with PEFT's update, of which only A and B are trained."""

    def __init__(self, layer, rank, alpha):
        super().__init__()
        self.layer, self.scale = layer, alpha / rank
        bound = layer.in_features**-0.5
        self.a = torch.nn.Parameter(torch.empty(rank, layer.in_features).uniform_(-bound, bound).to(layer.weight.dtype))
        self.b = torch.nn.Parameter(torch.zeros(layer.out_features, rank, dtype=layer.weight.dtype))

    def forward(self, x):
        return self.layer(x) + self.scale * (x @ self.a.T @ self.b.T)

class Dora(Lora):
    """The same with PEFT's DoRA: rows have lengths that are trained, and their own lengths are constants of the derivative."""

    def __init__(self, layer, rank, alpha):
        super().__init__(layer, rank, alpha)
        self.magnitude = torch.nn.Parameter(torch.linalg.norm(layer.weight.detach(), dim=1))

    def forward(self, x):
        weight = self.layer.weight + self.scale * self.b @ self.a
        factor = self.magnitude / torch.linalg.norm(weight, dim=1).detach()
        return factor * (x @ weight.T) + self.layer.bias


def add_lora(model, kind):
    model.requires_grad_(False)
    added = []
    for layer in model.encoder.layer:
        for name in ("query", "value"):
            added.append(kind(getattr(layer.attention.self, name), 4, 6))
            setattr(layer.attention.self, name, added[-1])
    return added


def losses(dtype, lora):
    """lora: the class of what is added, or None."""
    torch.manual_seed(31)
    model = transformers.AutoModel.from_pretrained(str(common.OUT / "bert-tiny" / "model"), attn_implementation="eager").to(dtype).train(False)
    ids = [torch.randint(5, model.config.vocab_size, (1, length)) for length in LENGTHS]
    targets = torch.randn(len(LENGTHS), model.config.hidden_size).to(dtype)
    added = add_lora(model, lora) if lora else []
    start = [one.a.double().tolist() for one in added]
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-2 if lora else 2e-3, weight_decay=0.0, foreach=False)
    curve = []
    for _ in range(STEPS):
        vectors = torch.cat([model(input_ids=each).last_hidden_state.mean(1) for each in ids])
        loss = torch.nn.functional.mse_loss(vectors, targets)
        curve.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
    return {"input_ids": [each[0].tolist() for each in ids], "targets": targets.double().tolist(), "a": start, "losses": curve}


# For encoder-decoders: what is read, and what is to be made of it.
ROWS = [
    ("the old boat waits below the bridge.", "a boat"),
    ("a bird sings", "small birds sing in the dark"),
    ("how do the small birds find their way home", "home, below the bridge"),
    ("an old bridge", "the bridge waits"),
]
SEQ2SEQ_STEPS, RATE = 20, 2e-3


def seq2seq_losses(folder, dtype):
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(folder), attn_implementation="eager").to(dtype).train(False)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    columns = [[tokenizer.encode(text).ids for text in column] for column in zip(*ROWS)]

    def padded(rows, value):
        longest = max(map(len, rows))
        return torch.tensor([row + [value] * (longest - len(row)) for row in rows])

    sources, labels = padded(columns[0], 0), padded(columns[1], -100)
    mask = padded([[1] * len(row) for row in columns[0]], 0)
    trained = [weight for weight in model.parameters() if weight.requires_grad]  # Marian's sines are not
    groups = [{"params": [weight for weight in trained if weight.dim() > 1], "weight_decay": 0.01},
              {"params": [weight for weight in trained if weight.dim() < 2], "weight_decay": 0.0}]  # fmt: skip
    optimizer = torch.optim.AdamW(groups, lr=RATE, foreach=False)
    curve = []
    for _ in range(SEQ2SEQ_STEPS):
        loss = model(input_ids=sources, attention_mask=mask, labels=labels).loss
        curve.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
    return curve


def make(_options):
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder = common.empty_folder("training")
    for name, lora in (("bert", None), ("bert-lora", Lora), ("bert-dora", Dora)):
        single = losses(torch.float32, lora)
        common.write_json(folder / f"{name}.json", {**single, "losses_in_double": losses(torch.float64, lora)["losses"]}, 2)
    for name in ("t5", "flan-t5", "bart", "marian"):
        curves = [seq2seq_losses(common.OUT / "seq2seq" / name, dtype) for dtype in (torch.float32, torch.float64)]
        rows = [{"text": text, "target": target} for text, target in ROWS]
        options = {"learning_rate": RATE, "max_steps": SEQ2SEQ_STEPS, "lr_scheduler_type": "constant", "warmup_steps": 0, "batch_size": len(ROWS)}
        content = {"rows": rows, "options": options, "losses": curves[0], "losses_in_double": curves[1]}
        common.write_json(folder / f"seq2seq-{name}.json", content, 2)
    common.update_manifest("training", common.versions("torch", "transformers"))
