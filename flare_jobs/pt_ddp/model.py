# SPDX-License-Identifier: Apache-2.0
"""The network and its data: scikit-learn's digits, generated images, or CIFAR-10 where it can be reached."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset


class SmallCNN(nn.Module):
    """Two convolutions and a linear layer; images [N, channels, H, W] → logits [N, 10]."""

    def __init__(self, channels: int = 1, width: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(2 * width * 16, 10),
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)


CHANNELS = {"digits": 1, "cifar10": 3, "generated": 3}


def load(dataset: str, data_path: str) -> tuple[TensorDataset, TensorDataset]:
    """Return (training, held-out) images [N, C, H, W] in 0…1 with labels [N]; ``data_path`` is a folder."""
    if dataset == "generated":
        return _generated(16384, seed=1), _generated(128, seed=2)
    return _cifar10(data_path) if dataset == "cifar10" else _digits(Path(data_path, "digits.pt"))


def _generated(count: int, seed: int) -> TensorDataset:
    """Images [count, 3, 64, 64]: one of ten patterns each, in noise. They are enough to fill a GPU."""
    patterns = torch.rand(10, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    chance = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=chance)
    noise = torch.rand(count, 3, 64, 64, generator=chance)
    return TensorDataset(0.5 * (patterns[labels] + noise), labels)


def _digits(kept: Path) -> tuple[TensorDataset, TensorDataset]:
    """Split scikit-learn's digits and keep them in a file: the ranks that follow need not import it."""
    if not kept.exists():
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split

        digits = load_digits()
        images, labels = digits.images[:, None].astype("float32") / 16, digits.target
        parts = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
        torch.save([torch.as_tensor(part) for part in parts], kept)
    train_x, held_x, train_y, held_y = torch.load(kept)
    return TensorDataset(train_x, train_y), TensorDataset(held_x, held_y)


def _cifar10(data_path: str) -> tuple[TensorDataset, TensorDataset]:
    from torchvision.datasets import CIFAR10

    def tensors(train: bool) -> TensorDataset:
        data = CIFAR10(Path(data_path), train=train, download=True)
        images = torch.from_numpy(data.data).permute(0, 3, 1, 2).float() / 255
        return TensorDataset(images, torch.tensor(data.targets))

    return tensors(train=True), tensors(train=False)


@torch.no_grad()
def accuracy(model: nn.Module, data: TensorDataset, device: torch.device) -> float:
    """Share of ``data`` that ``model`` classifies rightly, 0…1."""
    model.eval()
    images, labels = (tensor.to(device) for tensor in data.tensors)
    hits = sum(
        (model(x).argmax(1) == y).sum() for x, y in zip(images.split(1024), labels.split(1024), strict=True)
    )
    return float(hits) / len(labels)
