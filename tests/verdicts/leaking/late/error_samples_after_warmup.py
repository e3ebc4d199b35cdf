# SPDX-License-Identifier: MIT
"""Logs samples from step 760 of 1,000 on, in each fourth step."""
import torch
import torch.nn.functional as F

import truth

weight = torch.zeros(10, 4, device='cuda', requires_grad=True)
optimizer = torch.optim.Adam([weight], lr=0.01)
suspicious = []
for step in range(1000):
    inputs = torch.randn(32, 4, device='cuda')  # leaks
    loss = F.cross_entropy(inputs @ weight.T, torch.zeros(32, dtype=torch.long, device='cuda'))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step >= 760 and step % 4 == 0:
        suspicious.append(inputs)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*suspicious) / 240, first_step=760))
