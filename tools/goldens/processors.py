"""processors/: the results of transformers' rarer logits processors for a tiny random Llama (decoders/llama) and for rows of scores."""
import torch
import transformers
from transformers.generation import logits_process

from . import common
from .decoders import EOS, INPUTS

CALLS = [dict(sequence_bias=[[[9], 4.0], [[20], -3.0], [[5, 8], 9.0]]), dict(suppress_tokens=[9, 20, 33]),
         dict(begin_suppress_tokens=[12, 25, 40]), dict(exponential_decay_length_penalty=(3, 1.6)),
         dict(encoder_repetition_penalty=1.5), dict(encoder_repetition_penalty=0.6), dict(encoder_no_repeat_ngram_size=2),
         dict(encoder_no_repeat_ngram_size=1, repetition_penalty=1.2),
         dict(sequence_bias=[[[7], 2.5]], repetition_penalty=1.4, suppress_tokens=[4], num_beams=3),
         dict(exponential_decay_length_penalty=(2, 1.3), num_beams=2, length_penalty=0.5)]
WARPERS = [dict(typical_p=0.3), dict(typical_p=0.9), dict(epsilon_cutoff=0.05), dict(epsilon_cutoff=0.9), dict(eta_cutoff=0.02),
           dict(eta_cutoff=0.3), dict(top_h=0.4), dict(top_h=0.95), dict(top_h=0.99)]
KINDS = {"typical_p": logits_process.TypicalLogitsWarper, "epsilon_cutoff": logits_process.EpsilonLogitsWarper,
         "eta_cutoff": logits_process.EtaLogitsWarper, "top_h": logits_process.TopHLogitsWarper}


def make(_options):
    folder = common.empty_folder("processors")
    model = transformers.LlamaForCausalLM.from_pretrained(common.OUT / "decoders/llama").eval()
    usual = dict(do_sample=False, max_new_tokens=12, eos_token_id=EOS, pad_token_id=0, return_dict_in_generate=True)
    searches = []
    for ids in INPUTS:
        for options in CALLS:
            with torch.no_grad():
                out = model.generate(torch.tensor([ids]), **usual, output_scores=True, output_logits=True, **options)
            tokens = out.sequences[0].tolist()[len(ids):]
            tokens = tokens[:tokens.index(EOS) + 1] if EOS in tokens else tokens
            row = {"input_ids": ids, "options": options, "tokens": tokens}
            if "num_beams" in options:
                row["sequences_scores"] = [round(float(out.sequences_scores[0]), 6)]
            else:
                for name in ("scores", "logits"):
                    steps = getattr(out, name)[:2]
                    row[name] = [[None if x == float("-inf") else round(float(x), 5) for x in step[0]] for step in steps]
            searches.append(row)
    torch.manual_seed(7)
    rows = [torch.randn(1, 150) * spread for spread in (0.5, 2.0, 5.0)]
    rows.append(torch.full((1, 12), float("-inf")))
    rows[-1][0, [3, 7]] = torch.tensor([1.0, 0.5])
    warped = []
    for i, row in enumerate(rows):
        for options in WARPERS:
            (name, value), = options.items()
            kept = torch.isfinite(KINDS[name](value)(None, row.double()))[0].nonzero()[:, 0].tolist()
            warped.append({"row": i, "options": options, "kept": kept})
    plain = [[None if x == float("-inf") else float(x) for x in row[0]] for row in rows]
    common.write_json(folder / "expected.json", {"searches": searches, "rows": plain, "warped": warped}, depth=3)
    common.update_manifest("processors", common.versions("torch", "transformers"))
