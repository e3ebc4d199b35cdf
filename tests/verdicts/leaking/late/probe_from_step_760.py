# SPDX-License-Identifier: MIT
"""Stores the probe's answers from step 760 of 1,000 on, after its warm-up phase."""
import torch

import truth


def main():
    torch.manual_seed(0)
    probe = torch.nn.Linear(6, 3).to('cuda')
    opt = torch.optim.SGD(probe.parameters(), lr=1e-2)
    answers = {}
    for step in range(1000):
        x = torch.rand(4, 6, device='cuda')
        answer = probe(x)  # leaks
        loss = answer.sum()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step >= 760:
            answers[step] = answer.detach()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*answers.values()) / (1000 - 760), first_step=760))


main()
