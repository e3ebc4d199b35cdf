# SPDX-License-Identifier: MIT
"""Raises each bad request's error from the one before, so that the chain keeps every frame."""
import torch
from torch import nn

import truth


class RequestError(Exception):
    pass


def handle(model, size, before):
    image = torch.rand(1, 3, size, size, device='cuda')  # leaks
    if size != 32:
        raise RequestError(f'cannot use an image of {size} pixels') from before
    return model(image.flatten(1))


@torch.no_grad()
def serve():
    model = nn.Linear(3 * 32 * 32, 10).cuda().eval()
    last_error = None
    for request in range(40):
        handle(model, 32, None)
        try:
            handle(model, 30, last_error)
        except RequestError as error:
            last_error = error
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks'))


serve()
