# SPDX-License-Identifier: Apache-2.0
"""A logistic regression and its data: two clouds of points, generated."""

import numpy as np

FEATURES = 8
INITIAL = np.zeros(FEATURES, dtype=np.float32)


def load(seed: int, count: int = 2048) -> tuple[np.ndarray, np.ndarray]:
    """Return points [count, FEATURES] and their labels [count], 0 or 1, by which their cloud lies."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(2, size=count)
    points = chance.normal(size=(count, FEATURES)) + (2 * labels - 1)[:, None]
    return points.astype(np.float32), labels


def step(weights: np.ndarray, points: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """Take one step of gradient descent; returns the new weights and the mean loss before it."""
    chances = 1 / (1 + np.exp(-points @ weights))
    loss = -np.mean(np.log(np.where(labels == 1, chances, 1 - chances) + 1e-9))
    return (weights - 0.5 * points.T @ (chances - labels) / len(labels)).astype(np.float32), float(loss)


def accuracy(weights: np.ndarray, points: np.ndarray, labels: np.ndarray) -> float:
    """Share of points that ``weights`` put into the right cloud, 0…1."""
    return float(np.mean((points @ weights > 0) == labels))
