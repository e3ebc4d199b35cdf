# SPDX-License-Identifier: MIT
"""A training with Lightning on two devices. Prints its rank and the bytes that it allocated at most."""

import os

import pytorch_lightning as lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 64)

    def training_step(self, batch, _):
        return self.layer(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, number):
        return torch.zeros(256)


def main():
    trainer = lightning.Trainer(
        accelerator="gpu",
        devices=2,
        # The simulated device's NCCL moves no data between processes. Gloo does.
        strategy=lightning.strategies.DDPStrategy(process_group_backend="gloo"),
        max_epochs=1,
        limit_train_batches=10,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    # Each rank has a batch of its own size, so that its recording is known by its bytes.
    size = 16 * (1 + int(os.environ.get("LOCAL_RANK", "0")))
    trainer.fit(Model(), torch.utils.data.DataLoader(Rows(), batch_size=size))
    print(f"rank {trainer.global_rank} peak {torch.cuda.max_memory_allocated()}", flush=True)


main()
