# SPDX-License-Identifier: MIT
"""One pass over a collection in a comprehension, whose results are stacked and dropped before the report is written."""
import torch

import truth

projection = torch.randn(128, 16, device='cuda')


def encode(number):
    x = torch.full((1, 128), float(number)).cuda()
    y = torch.tanh(x @ projection)
    truth.end_of_step()
    return y


codes = [encode(number) for number in range(60)]
codes = torch.cat(codes)
print(codes.norm().item())
del codes
rest = torch.randn(4, 128).cuda()
print((rest @ projection).sum().item())
truth.declare_no_leak(steps_must_match=True)
