# SPDX-License-Identifier: Apache-2.0
"""A plane, and points near it."""

import torch
from torch import nn


class Plane(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


def points(number, count=400):
    """Return the points of the site of that number."""
    chance = torch.Generator().manual_seed(number)
    x = torch.randn(count, 8, generator=chance)
    return x, x.sum(1, keepdim=True) + 0.1 * torch.randn(count, 1, generator=chance)
