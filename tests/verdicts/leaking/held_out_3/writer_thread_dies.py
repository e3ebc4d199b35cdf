# SPDX-License-Identifier: MIT
"""A thread writes the statistics of each step to disk. In step 170 of 220 the disk is full and the thread ends; its queue grows from then on."""
import io
import queue
import threading

import torch

import truth


class FullDisk(io.StringIO):
    left = 170

    def write(self, text):
        if not self.left:
            raise OSError(28, 'No space left on device')
        self.left -= 1
        return super().write(text)


class StatisticsWriter:
    def __init__(self, file):
        self.file = file
        self.queue = queue.Queue()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def add(self, activations):
        self.queue.put(activations)

    def _work(self):
        while True:
            activations = self.queue.get()
            try:
                self.file.write(f'{activations.mean().item()} {activations.std().item()}\n')
            except OSError as error:
                print('writer:', error)
                return
            finally:
                del activations
                self.queue.task_done()


encoder = torch.nn.Sequential(torch.nn.Linear(40, 96), torch.nn.SiLU()).cuda()
decoder = torch.nn.Linear(96, 40).cuda()
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
writer = StatisticsWriter(FullDisk())

for step in range(220):
    x = torch.randn(56, 40, device='cuda')
    hidden = encoder(x)
    loss = (decoder(hidden) - x).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add(hidden.detach().clone())  # leaks
    if writer.thread.is_alive() and step <= 170:
        writer.queue.join()     # each epoch is one step here: flush
    truth.end_of_step()

truth.declare_leaks(truth.leak('# leaks', 56 * 96 * 4, first_step=171))
