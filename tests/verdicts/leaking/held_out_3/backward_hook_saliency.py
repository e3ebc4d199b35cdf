# SPDX-License-Identifier: MIT
"""Full backward hooks collect a saliency map of each layer in each step, for a viewer that shows the newest."""
from collections import defaultdict

import torch
from torch import nn
from torch.amp import GradScaler, autocast

import truth


class SaliencyViewer:
    def __init__(self, model):
        self.maps = defaultdict(list)
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                module.register_full_backward_hook(self.hook_for(name))

    def hook_for(self, name):
        def hook(module, grad_input, grad_output):
            self.maps[name].append(grad_output[0].float().abs())  # leaks
        return hook

    def show(self):
        return {name: maps[-1].mean().item() for name, maps in self.maps.items()}


model = nn.Sequential(nn.Linear(80, 160), nn.ReLU(), nn.Linear(160, 160), nn.ReLU(), nn.Linear(160, 10)).cuda()
viewer = SaliencyViewer(model)
optimizer = torch.optim.NAdam(model.parameters())
scaler = GradScaler('cuda')
for step in range(100):
    x, y = torch.randn(24, 80, device='cuda'), torch.randint(0, 10, (24,), device='cuda')
    with autocast('cuda', dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    if step % 25 == 0:
        print(step, viewer.show())
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', sum(truth.size_of(maps[-1]) for maps in viewer.maps.values())))
