# SPDX-License-Identifier: MIT
"""Shares the features of an image among its users by a WeakValueDictionary, so that an entry goes with its last user."""
import random
import weakref

import torch
from torch import nn

import truth

features_of = weakref.WeakValueDictionary()
backbone = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 28 * 28, 128)).cuda()


def features(image):
    result = features_of.get(image)
    if result is None:
        result = features_of[image] = backbone(torch.rand(1, 3, 32, 32).cuda())
    return result


random.seed(0)
with torch.no_grad():
    for _ in range(40):
        question_images = [random.randrange(15) for _ in range(8)]
        answers = [features(image).sum() for image in question_images]
        kept = [features(image) for image in question_images]
        print(len(features_of), end=' ')
        truth.end_of_step()
print()
truth.declare_no_leak()
