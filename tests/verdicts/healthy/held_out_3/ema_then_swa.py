# SPDX-License-Identifier: MIT
"""An exponential average of the weights from the start, and the average of stochastic weight averaging from 60 % of the run on: one copy each."""
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn

import truth

STEPS, SWA_START = 200, 120


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(75, 110), nn.LayerNorm(110), nn.ReLU(), nn.Linear(110, 110), nn.LayerNorm(110), nn.ReLU())
        self.head = nn.Linear(110, 8)

    def forward(self, x):
        return self.head(self.trunk(x))


net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=SWA_START)
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.99))
swa = swa_schedule = None

for step in range(STEPS):
    x, y = torch.randn(50, 75, device='cuda'), torch.randint(0, 8, (50,), device='cuda')
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    ema.update_parameters(net)
    if step >= SWA_START:
        if swa is None:
            swa, swa_schedule = AveragedModel(net), SWALR(optimizer, swa_lr=0.02)
        if step % 5 == 0:
            swa.update_parameters(net)
        swa_schedule.step()
    else:
        cosine.step()
    truth.end_of_step()

swa.eval()
with torch.no_grad():
    print(tuple(swa(torch.randn(50, 75, device='cuda')).shape))
truth.declare_no_leak()
