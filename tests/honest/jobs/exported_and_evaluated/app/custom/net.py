# SPDX-License-Identifier: Apache-2.0
"""A small network, and the points of each site."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


def points(number):
    """Return the points of the site of that number, and their classes."""
    x = torch.randn(600, 16, generator=torch.Generator().manual_seed(number))
    return x, (x @ torch.randn(16, 4, generator=torch.Generator().manual_seed(0))).argmax(1)
