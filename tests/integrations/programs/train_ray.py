# SPDX-License-Identifier: MIT
"""A training with Ray: two actors, each in its process and on its device, print their ranks and peaks of bytes."""

import json
import os

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")
import ray

SETTINGS = {
    "num_cpus": 2,
    "num_gpus": 2,
    "include_dashboard": False,
    "object_store_memory": 100 << 20,
    "_temp_dir": os.environ["RAY_FOLDER"],
}


@ray.remote(num_gpus=1)
class Trainer:
    def __init__(self, rank):
        import torch

        self.torch, self.rank = torch, rank
        self.layer = torch.nn.Linear(256 * (rank + 1), 64).cuda()
        self.optimizer = torch.optim.SGD(self.layer.parameters(), lr=0.01)

    def train(self):
        for _ in range(10):
            inputs = self.torch.randn(32, 256 * (self.rank + 1), device="cuda")
            self.layer(inputs).square().mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return os.getpid(), self.torch.cuda.max_memory_allocated()

    def end(self):
        ray.actor.exit_actor()


def main():
    start = os.environ.get("RAY_START")
    if start:  # the call of the page
        exec(start, {"ray": ray, "SETTINGS": SETTINGS})
    else:
        ray.init(**SETTINGS)
    trainers = [Trainer.remote(rank) for rank in (0, 1)]
    for rank, trainer in enumerate(trainers):
        process, peak = ray.get(trainer.train.remote())
        print(json.dumps({"rank": rank, "process": process, "peak": peak}), flush=True)
    ray.shutdown()


main()
