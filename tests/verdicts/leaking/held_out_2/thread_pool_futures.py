# SPDX-License-Identifier: MIT
"""Scores images in a pool of threads; the list of futures, kept to count them, keeps all results on the device."""
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

import truth

torch.set_grad_enabled(False)
scorer = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 64), nn.Hardswish(), nn.Linear(64, 200)).cuda().eval()


def score(images):
    with torch.inference_mode():
        return scorer(images.cuda()).log_softmax(-1)  # leaks


pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix='scorer')
submitted = []
for folder in range(100):
    submitted.append(pool.submit(score, torch.rand(20, 3, 16, 16)))
    best = submitted[-1].result().argmax(-1).cpu()
    if folder % 30 == 0:
        print(f'folder {folder}:', best[:5].tolist(), f'({len(submitted)} so far)')
    truth.end_of_step()
pool.shutdown()
truth.declare_leaks(truth.leak('# leaks'))
