"""training/: the losses of torch while it trains a random BERT with AdamW, in double precision and in float32."""
import torch
import transformers

from . import common

STEPS, LENGTHS = 30, (9, 4, 12)


def losses(dtype):
    torch.manual_seed(31)
    model = transformers.AutoModel.from_pretrained(str(common.OUT / "bert-tiny" / "model"), attn_implementation="eager").to(dtype).train(False)
    ids = [torch.randint(5, model.config.vocab_size, (1, length)) for length in LENGTHS]
    targets = torch.randn(len(LENGTHS), model.config.hidden_size).to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0, foreach=False)
    curve = []
    for _ in range(STEPS):
        vectors = torch.cat([model(input_ids=each).last_hidden_state.mean(1) for each in ids])
        loss = torch.nn.functional.mse_loss(vectors, targets)
        curve.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return {"input_ids": [each[0].tolist() for each in ids], "targets": targets.double().tolist(), "losses": curve}


def make(_options):
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder = common.empty_folder("training")
    single = losses(torch.float32)
    common.write_json(folder / "bert.json", {**single, "losses_in_double": losses(torch.float64)["losses"]}, 2)
    common.update_manifest("training", common.versions("torch", "transformers"))
