"""Rendered roads: a stand-in for MUFF's subject UD (Udacity), the steering angle from a frame of a front camera.

A flat road in perspective with curvature, lateral offset and heading error. The driver aims at the lane's center a
little ahead (pure pursuit), with an unsteady hand. Right is positive; the angle is in [-1, 1] as in the simulator.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter
from torch import nn

import mutiny
from mutiny.core.random import generator_for

HEIGHT, WIDTH = 32, 64
FOCAL, CAMERA, HORIZON = 45.0, 1.3, 11.0  # pixels, metres above the road, row
HALF_ROAD, LINE, DASH = 3.6, 0.25, 3.0  # metres: center to edge line, width of lines, length of dashes and gaps
AHEAD, GAIN, UNSTEADY = 10.0, 18.0, 0.05  # metres to the point aimed at, angle per curvature, scale of Laplace noise
SPREAD = np.array([0.013, 0.45, 0.07])  # standard deviations of curvature in 1/m, offset in m, heading in radians


def steering(road: np.ndarray) -> np.ndarray:
    """The steady driver's angle ``(n,)`` for ``(n, 3)`` curvature, offset and heading of the lane seen from the car."""
    return np.clip(GAIN * 2 * _center(road, np.float64(AHEAD)) / AHEAD**2, -1, 1)


def _center(road: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Metres from the camera's axis to the lane's center, to the right; the last axis of ``road`` is consumed."""
    curvature, offset, heading = np.moveaxis(road, -1, 0)
    return offset + heading * distance + curvature * distance**2 / 2


def frames(road: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One RGB frame ``(n, 3, HEIGHT, WIDTH)`` in [-1, 1] per row of ``(n, 3)`` curvature, offset and heading."""
    n = len(road)

    def uniform(low: float, high: float) -> np.ndarray:
        return rng.uniform(low, high, (n, 1, 1))

    horizon = HORIZON + uniform(-2, 2)
    rows, columns = np.arange(HEIGHT)[:, None], np.arange(WIDTH)
    below = rows - horizon
    distance = CAMERA * FOCAL / np.maximum(below, 0.3)
    pixel = distance / FOCAL
    across = (columns - (WIDTH - 1) / 2) * pixel - _center(road[:, None, None], distance)
    half = HALF_ROAD * uniform(0.8, 1.2)

    # each layer: how much it covers (n, HEIGHT, WIDTH) and its colour (n, 3)
    tarmac = _cover(half + 0.5 - abs(across), pixel)
    edges = _line(abs(across) - half, pixel) * uniform(0, 1)
    dashes = _line(across, pixel) * ((distance + uniform(0, 2 * DASH)) % (2 * DASH) < DASH) * uniform(0, 1)
    ridge = gaussian_filter(rng.normal(0, 1, (n, 1, WIDTH)), (0, 0, 6)) * 12 * uniform(0, 1)
    sky = np.clip(0.5 - below - np.clip(ridge, 0, None), 0, 1)
    haze = uniform(0, 0.5) * np.exp(-np.clip(below, 0, None) / 2.5)

    green = rng.random((n, 1))
    meadow = green * (0.25, 0.42, 0.15) + (1 - green) * (0.55, 0.45, 0.3)
    grey = rng.uniform(0.25, 0.45, (n, 1)) + rng.normal(0, 0.01, (n, 3))
    blue = rng.random((n, 1))
    heaven = blue * (0.45, 0.65, 0.9) + (1 - blue) * (0.8, 0.8, 0.8)

    ground = _paint(meadow, 1 + _texture(rng, n, 1.0, 0.12))
    ground = _over(ground, tarmac, _paint(grey, 1 + _texture(rng, n, 0.7, 0.06)))
    ground = _over(ground, edges, np.full((1, 3, 1, 1), 0.9))
    ground = _over(ground, dashes, np.array([0.85, 0.7, 0.2])[:, None, None])
    shade = 1 - uniform(0, 0.6) * (gaussian_filter(rng.normal(0, 1, (n, HEIGHT, WIDTH)), (0, 1.5, 8)) > 0.06)
    ground *= shade[:, None]
    clouds = _paint(heaven, 1 + _texture(rng, n, 3.0, 0.06) - 0.02 * (HEIGHT - rows) / HEIGHT)
    picture = _over(ground, haze, heaven[:, :, None, None])
    picture = _over(picture, sky, clouds)
    picture = picture * uniform(0.4, 1.2)[:, None] + rng.normal(0, 0.05, picture.shape)
    return (2 * np.clip(picture, 0, 1) - 1).astype(np.float32)


def _cover(inside: np.ndarray, pixel: np.ndarray) -> np.ndarray:
    """Share of a pixel that is covered, from the distance of its center to the border; positive is inside."""
    return np.clip(inside / pixel + 0.5, 0, 1)


def _line(across: np.ndarray, pixel: np.ndarray) -> np.ndarray:
    return _cover(LINE / 2 - abs(across), pixel) * np.minimum(1, LINE / pixel)


def _paint(colour: np.ndarray, brightness: np.ndarray) -> np.ndarray:
    return colour[:, :, None, None] * brightness[:, None]


def _over(under: np.ndarray, cover: np.ndarray, colour: np.ndarray) -> np.ndarray:
    return under + (colour - under) * cover[:, None]


def _texture(rng: np.random.Generator, n: int, smooth: float, strength: float) -> np.ndarray:
    texture = gaussian_filter(rng.normal(0, 1, (n, HEIGHT, WIDTH)), (0, smooth, smooth))
    return strength * texture / texture.std()


def _split(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = generator_for(0, "roads", name)
    road = np.clip(rng.normal(0, 1, (n, 3)), -2.5, 2.5) * SPREAD
    angle = np.clip(steering(road) + rng.laplace(0, UNSTEADY, n), -1, 1)
    pictures = np.empty((n, 3, HEIGHT, WIDTH), dtype=np.float32)
    for start in range(0, n, 250):
        pictures[start : start + 250] = frames(road[start : start + 250], rng)
    return pictures, angle


class Dave2(nn.Sequential):
    """Nvidia's five convolutions and four linear layers (Bojarski et al., 2016), narrower, for smaller frames."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 12, 5, stride=2, padding=2), nn.ELU(),
            nn.Conv2d(12, 18, 5, stride=2, padding=2), nn.ELU(),
            nn.Conv2d(18, 24, 5, stride=2, padding=2), nn.ELU(),
            nn.Conv2d(24, 32, 3, padding=1), nn.ELU(),
            nn.Conv2d(32, 32, 3), nn.ELU(), nn.Flatten(),
            nn.Linear(32 * 2 * 6, 100), nn.ELU(),
            nn.Linear(100, 50), nn.ELU(),
            nn.Linear(50, 10), nn.ELU(),
            nn.Linear(10, 1),
        )  # fmt: skip


def roads(_data: Path | None = None, *, train: int = 6000, test: int = 1500) -> mutiny.Subject:
    """Steering within 0.3, from so many frames; no files needed."""
    return mutiny.Subject(
        task=mutiny.Regression(0.3),
        train=_split("train", train),
        test=_split("test", test),
        recipe=mutiny.Recipe(Dave2, epochs=10, batch_size=64, learning_rate=2e-3, schedule="onecycle"),
        name="roads",
    )
