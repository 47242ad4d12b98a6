# SPDX-License-Identifier: Apache-2.0
"""The network and its data: scikit-learn's digits."""

from __future__ import annotations

from typing import Any

import torch
from pytorch_lightning import LightningDataModule, LightningModule
from torch import Tensor, nn
from torch.utils.data import DataLoader, Subset, TensorDataset


class SmallCNN(LightningModule):
    """Two convolutions and a linear layer; images [N, 1, 8, 8] → logits [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(64 * 16, 10),
        )
        self.loss_of = nn.CrossEntropyLoss()

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
        images, labels = batch
        loss = self.loss_of(self(images), labels)
        self.log("train_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        self._score(batch)

    def test_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        self._score(batch)

    def _score(self, batch: tuple[Tensor, Tensor]) -> None:
        images, labels = batch
        hits = (self(images).argmax(1) == labels).float().mean()
        self.log("accuracy", hits, on_epoch=True, sync_dist=True, batch_size=len(labels))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class Digits(LightningDataModule):
    """A site's share of the training digits, and all of the held-out ones."""

    def __init__(self, site: int = 0, sites: int = 1) -> None:
        from sklearn.datasets import load_digits  # NVFlare's server imports this file for the network alone
        from sklearn.model_selection import train_test_split

        super().__init__()
        digits = load_digits()
        images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
        labels = torch.tensor(digits.target)
        train, held_out = train_test_split(
            torch.arange(len(labels)), test_size=0.2, random_state=0, stratify=digits.target
        )
        self.held_out = TensorDataset(images[held_out], labels[held_out])
        self.mine = Subset(TensorDataset(images[train], labels[train]), range(site, len(train), sites))

    def train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(self.mine, batch_size=32, shuffle=True)

    def val_dataloader(self) -> DataLoader[Any]:
        return DataLoader(self.held_out, batch_size=360)

    def test_dataloader(self) -> DataLoader[Any]:
        return self.val_dataloader()
