# SPDX-License-Identifier: MIT
"""Trains with PyTorch in a Ray actor, which has its own process. With "leak", the actor keeps 1 MiB of each step."""

import json
import os
import shutil
import sys
import tempfile
import time

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")
import ray

STEPS, WIDTH = 20, 256


@ray.remote(num_gpus=1)
class Trainer:
    def __init__(self):
        import torch

        self.torch, self.kept = torch, []
        self.layer = torch.nn.Linear(WIDTH, 1).cuda()
        self.optimizer = torch.optim.Adam(self.layer.parameters())

    def train(self, leaks):
        inputs = self.torch.randn(8, WIDTH, device="cuda")
        copies, line = inputs.repeat(128, 1), sys._getframe().f_lineno
        if leaks:
            self.kept.append(copies)
        self.optimizer.zero_grad()
        self.layer(inputs).square().mean().backward()
        self.optimizer.step()
        return os.getpid(), line

    def end(self):
        ray.actor.exit_actor()


folder = tempfile.mkdtemp()
ray.init(num_cpus=1, num_gpus=1, include_dashboard=False, object_store_memory=100 << 20, _temp_dir=folder)
trainer = Trainer.remote()
for number in range(STEPS):
    process, line = ray.get(trainer.train.remote("leak" in sys.argv))
try:
    ray.get(trainer.end.remote())
except ray.exceptions.RayActorError:
    pass
# Ray kills running actors when it shuts down.
for attempt in range(6000):
    if not os.path.exists(f"/proc/{process}"):
        break
    time.sleep(0.01)
ray.shutdown()
shutil.rmtree(folder, ignore_errors=True)
print(json.dumps({"line": line, "steps": STEPS, "source": "optimizer"}), flush=True)
