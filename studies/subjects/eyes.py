"""Rendered eyes: a stand-in for MUFF's subject UE (UnityEyes), gaze angles from an image and the head's angles.

Geometry: the iris lies on an eyeball that turns with the gaze, the lids on a head that turns with the head, and the
picture is cropped around the lids; so the iris within the lids tells the gaze only together with the head's angles.
Angles are (pitch, yaw) in radians as the camera sees them: up and right in the picture are positive.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor, nn

import mutiny
from mutiny.core.random import generator_for

HEIGHT, WIDTH = 24, 40
TOLERANCE = float(np.deg2rad(5))
HEAD_RANGE = np.deg2rad([15, 20])
EYE_RANGE = np.deg2rad([12, 22])  # of the eye in the head

IRIS_DEPTH, LID_DEPTH, IRIS_RADIUS = 10.5, 9.0, 5.6  # from the center of the eyeball, in mm; a pixel is about 1 mm


def images(gaze: np.ndarray, head: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One grey picture ``(n, 1, HEIGHT, WIDTH)`` in [-1, 1] per pair of angles, each ``(n, 2)``."""
    n = len(gaze)

    def uniform(low: float, high: float) -> np.ndarray:
        return rng.uniform(low, high, (n, 1, 1))

    mm = uniform(0.92, 1.08)
    y = (np.arange(HEIGHT)[:, None] - (HEIGHT - 1) / 2) * mm + uniform(-1, 1)
    x = (np.arange(WIDTH) - (WIDTH - 1) / 2) * mm + uniform(-1.5, 1.5)
    gaze_x, gaze_y, gaze_z = _direction(gaze)
    head_x, head_y, head_z = _direction(head)
    ball_x, ball_y = -LID_DEPTH * head_x, -LID_DEPTH * head_y

    # lids: two parabolas; the upper one follows the gaze, as real lids do
    tilt = uniform(-0.06, 0.06)
    across = 1 - (x / (14.5 * np.hypot(head_x, head_z) * uniform(0.93, 1.07))) ** 2
    squint = uniform(0.75, 1.1)
    upper = -(6.0 - 4.0 * gaze_y) * squint * across + tilt * x
    lower = (4.5 + 1.5 * gaze_y) * squint * across + tilt * x
    inside = _soft(y - upper, 0.4) * _soft(lower - y, 0.4)

    # eyeball: shaded sclera, an iris seen at an angle, pupil
    bulge = np.clip(1 - ((x - ball_x) ** 2 + (y - ball_y) ** 2) / 15.0**2, 0, 1)
    ball = uniform(0.7, 0.95) * (0.6 + 0.4 * np.sqrt(bulge))
    iris_x, iris_y = x - ball_x - IRIS_DEPTH * gaze_x, y - ball_y - IRIS_DEPTH * gaze_y
    radius = np.sqrt(iris_x**2 + iris_y**2 + ((iris_x * gaze_x + iris_y * gaze_y) / gaze_z) ** 2)
    iris = uniform(0.15, 0.5) * (1 - 0.4 * (radius / IRIS_RADIUS) ** 4) + 0.04 * np.sin(2.5 * radius)
    ball = _mix(ball, iris, _soft(IRIS_RADIUS - radius, 0.35))
    ball = _mix(ball, 0.04, _soft(uniform(1.7, 2.9) - radius, 0.3))
    ball *= 1 - 0.5 * np.exp(-np.clip(y - upper, 0, None) / 1.5)  # the upper lid's shadow

    # skin: texture, crease and lashes
    texture = gaussian_filter(rng.normal(0, 1, (n, HEIGHT, WIDTH)), (0, 2, 2))
    skin = uniform(0.35, 0.8) * (1 + 0.05 * texture / texture.std())
    crease = y - upper + uniform(1.8, 3.2)
    skin = skin * (1 - uniform(0.1, 0.4) * np.exp(-((crease / 0.9) ** 2)) * _soft(across + 0.15, 0.05))
    picture = _mix(skin, ball, inside)
    lashes = np.exp(-(((y - upper + 0.3) / 0.8) ** 2)) * _soft(across, 0.05)
    picture = picture * (1 - uniform(0.3, 0.8) * lashes)

    # light: from one side, a reflection on the cornea, noise of the camera
    side = uniform(0, 2 * np.pi)
    picture = picture * (1 + uniform(0, 0.35) * (np.cos(side) * x / 20 + np.sin(side) * y / 12)) * uniform(0.6, 1.15)
    glint_x = x - ball_x - 0.7 * IRIS_DEPTH * gaze_x - 3.0 * np.cos(side)
    glint_y = y - ball_y - 0.7 * IRIS_DEPTH * gaze_y - 2.0 * np.sin(side)
    picture = _mix(picture, 1.0, 0.9 * inside * np.exp(-(glint_x**2 + glint_y**2) / 0.8))
    picture = picture + rng.normal(0, 1, (n, HEIGHT, WIDTH)) * uniform(0.01, 0.05)
    return (2 * np.clip(picture, 0, 1) - 1).astype(np.float32)[:, None]


def _direction(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit vectors from (pitch, yaw): x to the right, y down as rows are counted, z to the camera."""
    pitch, yaw = angles.T[:, :, None, None]
    return np.cos(pitch) * np.sin(yaw), -np.sin(pitch), np.cos(pitch) * np.cos(yaw)


def _soft(distance: np.ndarray, width: float) -> np.ndarray:
    """0 outside, 1 inside, with an edge of that width."""
    return 1 / (1 + np.exp(-np.clip(distance / width, -40, 40)))


def _mix(under: np.ndarray, over: np.ndarray | float, share: np.ndarray) -> np.ndarray:
    return under + (over - under) * share


def _split(name: str, n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = generator_for(0, "eyes", name)
    head = rng.uniform(-1, 1, (n, 2)) * HEAD_RANGE
    gaze = head + rng.uniform(-1, 1, (n, 2)) * EYE_RANGE
    parts = np.array_split(np.arange(n), -(-n // 250))
    pictures = np.concatenate([images(gaze[part], head[part], rng) for part in parts])
    return {"image": pictures, "head": head.astype(np.float32)}, gaze


class EyeNet(nn.Module):
    """LeNet-like: two convolutions with max pooling, a linear layer; the head's angles join before the last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 10, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(10, 24, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(24 * 3 * 7, 200), nn.ReLU(),
        )  # fmt: skip
        self.gaze = nn.Linear(200 + 2, 2)

    def forward(self, image: Tensor, head: Tensor) -> Tensor:
        return self.gaze(torch.cat([self.features(image), head], dim=1))


def eyes(_data: Path | None = None, *, train: int = 8000, test: int = 2000) -> mutiny.Subject:
    """Gaze within 5 degrees, from so many pictures; no files needed."""
    return mutiny.Subject(
        task=mutiny.Regression(TOLERANCE),
        train=_split("train", train),
        test=_split("test", test),
        recipe=mutiny.Recipe(EyeNet, epochs=10, batch_size=64, learning_rate=4e-3, schedule="onecycle"),
        name="eyes",
    )
