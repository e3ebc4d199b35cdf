# SPDX-License-Identifier: MIT
"""Trains as one rank. The first argument names the stage of DeepSpeed's ZeRO. With "leak", keeps 1 MiB of each step."""

import json
import os
import sys
import warnings

import torch

torch.backends.cudnn.enabled = False
warnings.filterwarnings("ignore")
os.environ.update(
    RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="0", DS_SKIP_CUDA_CHECK="1"
)
import deepspeed  # noqa: E402

STEPS, WIDTH = 20, 256
kept = []


def train(engine):
    inputs = torch.randn(8, WIDTH, device="cuda", dtype=torch.bfloat16)
    copies = inputs.repeat(WIDTH, 1)
    if "leak" in sys.argv:
        kept.append(copies)
    engine.backward(engine(inputs).float().square().mean())
    engine.step()


layers = torch.nn.Sequential(torch.nn.Linear(WIDTH, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
engine, *_ = deepspeed.initialize(
    model=layers,
    model_parameters=layers.parameters(),
    config={
        "train_micro_batch_size_per_gpu": 8,
        "optimizer": {"type": "Adam", "params": {"torch_adam": True, "lr": 1e-3}},
        "zero_optimization": {"stage": int(sys.argv[1])},
        "bf16": {"enabled": True},
        "steps_per_print": 1000,
    },
)
for number in range(STEPS):
    train(engine)
print(
    json.dumps(
        {
            "line": train.__code__.co_firstlineno + 2,
            "steps": STEPS,
            "source": "nvtx" if sys.argv[1] == "3" else "optimizer",
        }
    ),
    flush=True,
)
