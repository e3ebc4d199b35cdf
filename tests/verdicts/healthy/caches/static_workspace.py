# SPDX-License-Identifier: MIT
"""Writes all intermediate results into a workspace that is allocated once, by operators with out=."""
import torch

import truth

size = 96
workspace = {name: torch.empty(size, size, device='cuda') for name in ('product', 'scaled', 'residual')}
matrix = torch.randn(size, size).cuda()
inverse = torch.eye(size, device='cuda')
identity = torch.eye(size, device='cuda')
for _ in range(40):
    torch.matmul(matrix, inverse, out=workspace['product'])
    torch.sub(2 * identity, workspace['product'], out=workspace['residual'])
    torch.matmul(inverse, workspace['residual'], out=workspace['scaled'])
    inverse.copy_(workspace['scaled'])
    truth.end_of_step()
truth.declare_no_leak()
