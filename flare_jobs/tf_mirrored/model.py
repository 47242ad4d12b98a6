# SPDX-License-Identifier: Apache-2.0
"""The network and its data: scikit-learn's digits."""

from __future__ import annotations

import numpy as np
import tensorflow as tf


class SmallCNN(tf.keras.Sequential):
    """Two convolutions and a dense layer; images [N, 8, 8, 1] → logits [N, 10].

    Layers have names of their own: NVFlare carries weights by them, and Keras would count them up.
    """

    def __init__(self, **kwargs: object) -> None:
        layers = tf.keras.layers
        super().__init__(
            [
                tf.keras.Input((8, 8, 1)),
                layers.Conv2D(32, 3, padding="same", activation="relu", name="first"),
                layers.Conv2D(64, 3, padding="same", activation="relu", name="second"),
                layers.MaxPooling2D(name="pool"),
                layers.Flatten(name="flat"),
                layers.Dense(10, name="logits"),
            ],
            **kwargs,
        )


def load() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return (training, held-out) images [N, 8, 8, 1] in 0…1 with labels [N]."""
    from sklearn.datasets import load_digits  # NVFlare's server imports this file for the network alone
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    images = (digits.images / 16.0).astype("float32")[..., None]
    train_x, held_x, train_y, held_y = train_test_split(
        images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
    )
    return (train_x, train_y), (held_x, held_y)


def accuracy(model: tf.keras.Model, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of ``images`` that ``model`` classifies rightly, 0…1."""
    return float(np.mean(np.argmax(model(images, training=False).numpy(), axis=1) == labels))


def weights_of(model: tf.keras.Model) -> dict[str, list[np.ndarray]]:
    """Return the weights by layer, as NVFlare carries them."""
    return {layer.name: layer.get_weights() for layer in model.layers}
