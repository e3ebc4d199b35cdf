# SPDX-License-Identifier: MIT
"""Trains with Lightning: "automatic" optimization, "accumulated" gradients of two batches, or "manual" steps.
With "leak", keeps 1 MiB of each step."""

import json
import logging
import sys
import warnings

import torch

torch.backends.cudnn.enabled = False
warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
import pytorch_lightning  # noqa: E402

BATCHES, WIDTH = 20, 256
accumulated = 2 if "accumulated" in sys.argv else 1


class Model(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1))
        self.automatic_optimization = "manual" not in sys.argv
        self.kept = []

    def training_step(self, batch, number):
        features = self.layers[0](batch[0].repeat(128, 1))
        if "leak" in sys.argv and number % accumulated == 0:
            self.kept.append(features.detach())
        loss = self.layers(batch[0]).square().mean()
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


batches = torch.utils.data.TensorDataset(torch.randn(8 * BATCHES, WIDTH))
trainer = pytorch_lightning.Trainer(
    max_epochs=1,
    accelerator="gpu",
    devices=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    accumulate_grad_batches=accumulated,
)
model = Model()
trainer.fit(model, torch.utils.data.DataLoader(batches, batch_size=8))
print(
    json.dumps(
        {"line": Model.training_step.__code__.co_firstlineno + 1, "steps": trainer.global_step, "source": "optimizer"}
    ),
    flush=True,
)
