# SPDX-License-Identifier: MIT
"""A server of functions on bare tensors, without any module. It keeps the answer to each request."""
import torch
import torch.nn.functional as F

import truth

w1 = torch.randn(64, 64, device='cuda')
w2 = torch.randn(64, 64, device='cuda')
answered = []


def serve(question):
    h = F.relu(question @ w1)
    return (h @ w2).softmax(-1)


for request in range(60):
    answer = serve(torch.randn(4, 64).cuda())
    answered.append(answer[0].clone())  # leaks
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(answered[0])), steps_must_match=True)
