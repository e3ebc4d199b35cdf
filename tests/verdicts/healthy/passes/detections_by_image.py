# SPDX-License-Identifier: MIT
"""Keeps boxes and scores by the number of the image until the whole set is evaluated; the dictionary ends with the call."""
import torch
from torch import nn

import truth


def detect(model, images):
    maps = model(images).flatten(2)
    scores, places = maps[:, 0].topk(20)
    return [{'boxes': maps[number, 1:5, :20].T.clone(), 'scores': scores[number].clone()} for number in range(len(images))]


@torch.inference_mode()
def evaluate(model, batches, size):
    found = {}
    for number in range(batches):
        for offset, result in enumerate(detect(model, torch.rand(size, 3, 24, 24).cuda())):
            found[number * size + offset] = result
        truth.end_of_step()
    scores = torch.cat([result['scores'] for result in found.values()])
    boxes = torch.cat([result['boxes'] for result in found.values()])
    return (boxes.mean() * scores.mean()).item()


print(evaluate(nn.Conv2d(3, 5, 3).cuda().eval(), 45, 3))
truth.declare_no_leak()
