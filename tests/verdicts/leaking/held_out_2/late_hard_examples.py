# SPDX-License-Identifier: MIT
"""Hard-example mining begins after four fifths of the training, and keeps its examples under the id of the batch."""
import argparse

import torch
import torch.nn.functional as F
import truth

parser = argparse.ArgumentParser()
parser.add_argument('--steps', type=int, default=140)
parser.add_argument('--mine-from', type=int, default=112)
parser.add_argument('--lr', type=float, default=0.02)
args = parser.parse_args()

net = torch.nn.Sequential(torch.nn.Linear(256, 100), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(100, 12)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
hard = {}


def mine(batch, losses):
    worst = losses.topk(8).indices
    hard[id(batch['name'])] = batch['name'], batch['image'].index_select(0, worst)  # leaks


for step in range(args.steps):
    batch = {'image': torch.randn(32, 256).cuda(), 'name': [f'{step}-{i}' for i in range(32)]}
    losses = F.cross_entropy(net(batch['image']), torch.randint(12, (32,)).cuda(), reduction='none')
    optimizer.zero_grad()
    losses.mean().backward()
    optimizer.step()
    schedule.step()
    if step >= args.mine_from:
        mine(batch, losses.detach())
    truth.end_of_step()
print(len(hard), 'hard batches')
truth.declare_leaks(truth.leak('# leaks', 8 * 256 * 4, first_step=args.mine_from))
