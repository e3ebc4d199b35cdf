# SPDX-License-Identifier: MIT
"""Segmentation training that appends the weights to a list after each epoch. It compares with the last of them only."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import truth

BATCHES, EPOCHS = 8, 26


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(3 * 64, 150), nn.ReLU(inplace=True), nn.Linear(150, 150), nn.ReLU(inplace=True))
        self.mask = nn.Linear(150, 64)

    def forward(self, pixels):
        return self.mask(self.features(pixels.flatten(1)))


def drift(old, new):
    return sum((old[name] - new[name]).abs().mean().item() for name in new)


data = TensorDataset(torch.randn(BATCHES * 12, 3, 8, 8), torch.rand(BATCHES * 12, 64).round())
loader = DataLoader(data, batch_size=12, shuffle=True)
model = Segmenter().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
criterion = nn.BCEWithLogitsLoss()
history = []

for epoch in range(EPOCHS):
    for pixels, mask in loader:
        optimizer.zero_grad()
        loss = criterion(model(pixels.cuda()), mask.cuda())
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    history.append({name: value.clone() for name, value in model.state_dict().items()})  # leaks
    if len(history) > 1 and epoch % 5 == 0:
        print(epoch, drift(history[-2], history[-1]))

truth.declare_leaks(truth.leak('# leaks', truth.size_of(*history[0].values()) / BATCHES))
