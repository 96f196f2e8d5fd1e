"""optim/: parameters after steps of torch.optim, clipped gradients, and transformers' schedules."""
import torch
import transformers

from . import common

STEPS = 12


def numbers(tensor):
    return tensor.detach().double().flatten().tolist()


def run(make_optimizer, options):
    torch.manual_seed(5)
    parameter = torch.nn.Parameter(torch.randn(9))
    start, gradients, states = numbers(parameter), [], []
    optimizer = make_optimizer([parameter], **options, foreach=False)
    for _ in range(STEPS):
        parameter.grad = torch.randn(9)
        gradients.append(numbers(parameter.grad))
        optimizer.step()
        states.append(numbers(parameter))
    return {"optimizer": make_optimizer.__name__, "options": options, "start": start, "gradients": gradients, "parameters": states}


def schedules():
    parameter = torch.nn.Parameter(torch.zeros(1))
    for name, make in (("constant", lambda o: transformers.get_constant_schedule(o)),
                       ("constant_with_warmup", lambda o: transformers.get_constant_schedule_with_warmup(o, 4)),
                       ("linear", lambda o: transformers.get_linear_schedule_with_warmup(o, 4, 20)),
                       ("cosine", lambda o: transformers.get_cosine_schedule_with_warmup(o, 4, 20))):
        optimizer = torch.optim.SGD([parameter], lr=1.0)
        schedule, factors = make(optimizer), []
        for _ in range(24):
            factors.append(schedule.get_last_lr()[0])
            optimizer.step()
            schedule.step()
        yield {"schedule": name, "warmup_steps": 4, "training_steps": 20, "factors": factors}


def clips():
    torch.manual_seed(6)
    for scale in (0.01, 1.0, 100.0):
        parameters = [torch.nn.Parameter(torch.zeros(n)) for n in (5, 3)]
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape) * scale
        before = [numbers(parameter.grad) for parameter in parameters]
        norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        yield {"gradients": before, "norm": norm.item(), "clipped": [numbers(parameter.grad) for parameter in parameters]}


def make(_options):
    folder = common.empty_folder("optim")
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    cases = [(sgd, {"lr": 0.1}), (sgd, {"lr": 0.1, "momentum": 0.9}), (sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
             (sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}), (adam, {"lr": 0.01}),
             (adam, {"lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1}), (adamw, {"lr": 0.01, "weight_decay": 0.01}),
             (adamw, {"lr": 5e-5, "weight_decay": 0.0})]
    common.write_json(folder / "cases.json", {"runs": [run(*case) for case in cases], "schedules": list(schedules()), "clips": list(clips())}, 3)
    common.update_manifest("optim", common.versions("torch", "transformers"))
