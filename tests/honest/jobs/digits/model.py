"""Two layers with BatchNorm between."""

from torch import nn


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))
