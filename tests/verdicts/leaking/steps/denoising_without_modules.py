# SPDX-License-Identifier: MIT
"""Samples images in twelve steps of denoising each, without modules; a gallery keeps a small preview of each image."""
import torch
import torch.nn.functional as F

import truth

kernel = torch.randn(32, 32, device='cuda')
gallery = []


def denoise(image, t):
    noise = torch.tanh(image @ kernel)
    return image - noise / (t + 1)


def sample():
    image = torch.randn(32, 32, device='cuda')
    for t in reversed(range(12)):
        image = denoise(image, t)
        image = image.clamp(-3, 3)
    return image


for number in range(25):
    image = sample()
    preview = image[::4, ::4]
    gallery.append(preview.contiguous())  # leaks
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(gallery[0])), steps_must_match=True)
