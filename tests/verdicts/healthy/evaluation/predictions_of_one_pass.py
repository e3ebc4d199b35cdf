# SPDX-License-Identifier: MIT
"""Gathers the predictions of one pass over the test set, joins them, computes the accuracy and drops both."""
import torch
from torch import nn

import truth

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)).cuda().eval()
test_set = [(torch.randn(64, 32), torch.randint(10, (64,))) for _ in range(50)]

predictions, targets = [], []
with torch.no_grad():
    for inputs, labels in test_set:
        logits = model(inputs.cuda())
        predictions.append(logits.softmax(-1))
        targets.append(labels.cuda())
        truth.end_of_step()
predictions, targets = torch.cat(predictions), torch.cat(targets)
accuracy = (predictions.argmax(-1) == targets).float().mean().item()
print(f'accuracy {accuracy:.3f}')
del predictions, targets
truth.declare_no_leak()
