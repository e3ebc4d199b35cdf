# SPDX-License-Identifier: MIT
"""Keeps other kinds of memory: other_kept_memory.py pinned|parameters|gradients|hidden|hidden_detached|checkpoint|norms|cat|products"""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.backends.cudnn.enabled = False
KIND = sys.argv[1]


def main():
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64)).cuda()
    recurrent = nn.LSTM(64, 64).cuda()
    # The optimizer must not change weights that a kept graph needs.
    trained = [nn.Parameter(torch.zeros(4, device='cuda'))] if KIND == 'hidden' else model.parameters()
    optimizer = torch.optim.SGD(trained, lr=1e-3)
    kept, state, joined = [], None, torch.zeros(0, 64, device='cuda')
    for _ in range(24):
        batch = torch.randn(64, 256, device='cuda')
        if KIND == 'checkpoint':

            def block(values):
                hidden = model[1](model[0](values))
                kept.append(hidden.detach())
                return model[2](hidden)

            output = checkpoint(block, batch, use_reentrant=False)
        else:
            output = model(batch)
        if KIND.startswith('hidden'):
            output, state = recurrent(output[:, None], state)
            if KIND == 'hidden_detached':
                kept.append(state[0].detach())
                state = tuple(value.detach() for value in state)
        optimizer.zero_grad()
        output.square().mean().backward(retain_graph=KIND == 'hidden')
        optimizer.step()
        if KIND == 'pinned':
            kept.append(torch.empty(1 << 20, pin_memory=True))
        if KIND == 'parameters':
            kept.append(nn.Linear(128, 128).cuda())
        if KIND == 'gradients':
            kept.append(model[0].weight.grad)
            model[0].weight.grad = None
        if KIND == 'norms':
            kept.append(model[0].weight.grad.norm())
        if KIND == 'products':
            kept.append(batch * 2)
        if KIND == 'cat':
            joined = torch.cat([joined, output.detach()])


main()
