# SPDX-License-Identifier: MIT
"""A forward hook stores the output of each ReLU, to look for dead units. No code reads these outputs."""
import torch
from torch import nn

import truth


class ActivationStore:
    def __init__(self, model):
        self.outputs = {}
        for name, module in model.named_modules():
            if isinstance(module, nn.ReLU):
                module.register_forward_hook(self.keeper(name))

    def keeper(self, name):
        def keep(module, args, output):
            self.outputs.setdefault(name, []).append(output.detach())
        return keep


def main():
    model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 2)).cuda()
    store = ActivationStore(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(30):
        logits = model(torch.randn(40, 16, device='cuda'))  # leaks
        loss = nn.functional.cross_entropy(logits, torch.ones(40, dtype=torch.long, device='cuda'))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', sum(truth.size_of(kept[0]) for kept in store.outputs.values())))


main()
