# SPDX-License-Identifier: MIT
"""An actor thread puts three rollouts for each update of the learner, which takes two. The queue has no limit."""
import queue
import threading

import torch
from torch import nn

import truth


class Actor(threading.Thread):
    def __init__(self, rollouts, go):
        super().__init__(daemon=True)
        self.rollouts, self.go = rollouts, go
        self.policy = nn.Linear(48, 6).cuda()

    def run(self):
        while True:
            if not self.go.get():
                return
            for _ in range(3):
                self.rollouts.put(self.play())
            self.go.task_done()

    @torch.no_grad()
    def play(self):
        states = torch.randn(80, 48).cuda()
        return torch.cat([states, self.policy(states).softmax(-1)], dim=1)  # leaks


class Learner:
    def __init__(self, rollouts):
        self.rollouts = rollouts
        self.value = nn.Sequential(nn.Linear(54, 128), nn.ELU(), nn.Linear(128, 1)).cuda()
        self.optimizer = torch.optim.RMSprop(self.value.parameters(), lr=1e-4)

    def update(self):
        batch = torch.cat([self.rollouts.get(), self.rollouts.get()])
        self.optimizer.zero_grad()
        self.value(batch).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(self.value.parameters(), 1.0)
        self.optimizer.step()


rollouts, go = queue.Queue(), queue.Queue()
actor, learner = Actor(rollouts, go), Learner(rollouts)
actor.start()
for update in range(130):
    go.put(True)
    learner.update()
    go.join()
    truth.end_of_step()
go.put(False)
actor.join()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(rollouts.get())))
