# SPDX-License-Identifier: MIT
"""Cells of a notebook one after another: variables are used again, and a cache of tiles holds no more than sixteen."""
# %%
import torch
from torch import nn

import truth

device = torch.device('cuda')

# %%
tiles = {}


def tile(number):
    if number not in tiles:
        if len(tiles) == 16:
            tiles.pop(next(iter(tiles)))
        tiles[number] = torch.rand(1, 3, 24, 24).to(device)
    return tiles[number]


# %%
model = nn.Sequential(nn.Conv2d(3, 6, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(726, 8)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
curve = []
for i in range(50):
    batch = torch.cat([tile((i + j) % 40) for j in range(4)])
    out = model(batch)
    loss = out.norm(dim=1).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    curve.append(loss.item())
    truth.end_of_step()

# %% once more, with a larger model
model = nn.Sequential(nn.Conv2d(3, 12, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(1452, 8)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(70):
    batch = torch.cat([tile((3 * i + j) % 40) for j in range(4)])
    out = model(batch)
    loss = out.norm(dim=1).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    curve.append(loss.item())
    truth.end_of_step()

# %%
print(f'{len(curve)} steps, {len(tiles)} tiles')
truth.declare_no_leak()
