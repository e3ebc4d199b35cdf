# SPDX-License-Identifier: MIT
"""An asyncio server of functions on tensors answers three questions at the same time; a log keeps one row of each answer."""
import asyncio

import torch

import truth

weight = torch.randn(64, 64, device='cuda')
log = []


async def answer(number):
    question = torch.full((8, 64), float(number)).cuda()
    await asyncio.sleep(0)
    hidden = torch.tanh(question @ weight)
    await asyncio.sleep(0)
    log.append((hidden @ weight).softmax(-1)[0].clone())  # leaks


async def main():
    for turn in range(30):
        await asyncio.gather(*(answer(3 * turn + i) for i in range(3)))
        truth.end_of_step()


asyncio.run(main())
truth.declare_leaks(truth.leak('# leaks', 3 * truth.size_of(log[0])), steps_must_match=True)
