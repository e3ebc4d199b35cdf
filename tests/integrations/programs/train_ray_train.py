# SPDX-License-Identifier: MIT
"""A training with Ray Train: two workers, each on its device, whose ranks and peaks of bytes the program prints."""

import json
import os

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")
import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

FOLDER = os.environ["RAY_FOLDER"]
SETTINGS = {
    "num_cpus": 4,
    "num_gpus": 2,
    "include_dashboard": False,
    "object_store_memory": 100 << 20,
    "_temp_dir": FOLDER,
}


def train(settings):
    import torch
    from ray.train import get_context
    from ray.train.torch import get_device, prepare_model

    rank = get_context().get_world_rank()
    model = prepare_model(torch.nn.Linear(256, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        # Each rank has a size of its own, so that its recording is known by its bytes.
        inputs = torch.randn(1024 * (rank + 1), 256, device=get_device())
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    found = {"rank": rank, "process": os.getpid(), "peak": torch.cuda.max_memory_allocated()}
    with open(f"{settings['results']}/rank{rank}.json", "w", encoding="utf-8") as file:
        json.dump(found, file)


def main():
    start = os.environ.get("RAY_START")
    if start:  # the call of the page
        exec(start, {"ray": ray, "SETTINGS": SETTINGS})
    else:
        ray.init(**SETTINGS)
    TorchTrainer(
        train,
        train_loop_config={"results": FOLDER},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
        run_config=RunConfig(name="recipe", storage_path=os.path.join(FOLDER, "storage")),
    ).fit()
    for rank in (0, 1):
        with open(f"{FOLDER}/rank{rank}.json", encoding="utf-8") as file:
            print(file.read(), flush=True)
    ray.shutdown()


main()
