"""Five synthetic speakers told apart by the spectrum of an eighth of a second: a stand-in for MUFF's subject SR.

Source and filter: glottal pulses or noise, shaped by the formants of a few vowels (Peterson and Barney, 1952) or by the
band of a fricative. Speakers differ in pitch, length of the vocal tract, jitter and breathiness; clips in what is said,
speed, loudness and background noise. As in the Keras example behind SR, the network sees the magnitudes of one FFT.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch import Tensor, nn

import mutiny
from mutiny.core.random import generator_for

RATE, SAMPLES, PHONES = 8000, 1024, 4
BINS = SAMPLES // 2

# one row per speaker: pitch in Hz, formants relative to the table, jitter, breathiness
SPEAKERS = np.array(
    [
        (95.0, 0.94, 0.01, 0.05),
        (119.0, 1.00, 0.03, 0.15),
        (149.0, 1.07, 0.02, 0.03),
        (186.0, 1.14, 0.01, 0.20),
        (233.0, 1.22, 0.02, 0.08),
    ]
)
# one row per vowel: four formants in Hz
VOWELS = np.array(
    [
        (270, 2290, 3010, 3700),
        (390, 1990, 2550, 3600),
        (530, 1840, 2480, 3500),
        (660, 1720, 2410, 3500),
        (730, 1090, 2440, 3400),
        (570, 840, 2410, 3300),
        (300, 870, 2240, 3300),
        (640, 1190, 2390, 3400),
    ],
    dtype=float,
)
FRICATIVES = np.array([1700.0, 2300.0, 2900.0])  # center of the band in Hz


def spectra(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One clip per label as log magnitudes ``(n, 1, BINS)`` of its FFT, scaled to about [-2, 2]."""
    n, time = len(labels), np.arange(SAMPLES) / RATE
    pitch, tract, jitter, breath = SPEAKERS[labels].T
    tract = tract * np.exp(rng.normal(0, 0.01, n))
    voiced, noise = _pulses(pitch, jitter, rng), rng.normal(0, 1, (n, SAMPLES))
    voiced += noise * (breath * np.exp(rng.normal(0, 0.4, n)))[:, None]

    lengths = rng.gamma(8, 0.045 / 8, (n, PHONES)) / rng.uniform(0.75, 1.35, (n, 1))
    ends = np.cumsum(lengths, axis=1) - lengths[:, :1] * rng.random((n, 1))  # clips start within the first phone
    ends[:, -1] = np.inf
    begins = np.concatenate([np.full((n, 1), -np.inf), ends[:, :-1]], axis=1)
    loudness = np.exp(rng.normal(0, 0.3, (n, PHONES)))
    fricative = rng.random((n, PHONES)) < 0.2
    vowel, hiss = rng.integers(len(VOWELS), size=(n, PHONES)), rng.integers(len(FRICATIVES), size=(n, PHONES))

    frequency, window = np.fft.rfftfreq(SAMPLES, 1 / RATE)[1:], np.hanning(SAMPLES)
    speech = np.zeros((n, BINS), dtype=complex)
    for phone in range(PHONES):
        is_noise = fricative[:, phone, None]
        shape = _smooth_step(time, begins[:, phone]) * _smooth_step(-time, -ends[:, phone]) * loudness[:, phone, None]
        source = np.fft.rfft(np.where(is_noise, 0.5 * noise, voiced) * shape * window)[:, 1:]
        formants = VOWELS[vowel[:, phone]] * tract[:, None]
        band = FRICATIVES[hiss[:, phone]] * tract
        speech += source * np.where(is_noise, _band(frequency, band), _tract(frequency, formants))

    speech /= np.sqrt((abs(speech) ** 2).mean(axis=1, keepdims=True))
    background = np.fft.rfft(rng.normal(0, 1, (n, SAMPLES)) * window)[:, 1:] / np.sqrt(SAMPLES * 3 / 8)
    background *= 10 ** (rng.uniform(-40, -15, (n, 1)) / 20)
    loud = 10 ** (rng.uniform(-6, 6, (n, 1)) / 20)
    decibels = 20 * np.log10(abs(speech + background) * loud + 1e-3)
    return ((decibels + 20) / 20).astype(np.float32)[:, None]


def _pulses(pitch: np.ndarray, jitter: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Derivative of the glottal flow ``(n, SAMPLES)`` at a pitch that glides through the clip and trembles."""
    n = len(pitch)
    glide = np.linspace(-0.5, 0.5, SAMPLES) * rng.normal(0, 0.08, (n, 1))
    tremble = np.repeat(rng.normal(0, 1, (n, SAMPLES // 64)), 64, axis=1) * jitter[:, None]
    rate = (pitch * np.exp(rng.normal(0, 0.035, n)))[:, None] * np.exp(glide + tremble)
    phase = (np.cumsum(rate / RATE, axis=1) + rng.random((n, 1))) % 1
    rising = 0.5 * (1 - np.cos(np.pi * phase / 0.4))
    falling = np.cos(np.pi / 2 * (phase - 0.4) / 0.16)
    flow = np.where(phase < 0.4, rising, np.where(phase < 0.56, falling, 0.0))
    slope = np.diff(flow, axis=1, prepend=flow[:, :1])
    return slope / slope.std(axis=1, keepdims=True)


def _smooth_step(time: np.ndarray, at: np.ndarray) -> np.ndarray:
    """From 0 to 1 within about 10 ms around each time."""
    return 1 / (1 + np.exp(np.clip((at[:, None] - time) / 0.0025, -50, 50)))


def _tract(frequency: np.ndarray, formants: np.ndarray) -> np.ndarray:
    """Transfer function ``(n, BINS)`` of resonances in series."""
    response = np.ones((len(formants), len(frequency)), dtype=complex)
    for formant in formants.T[:, :, None]:
        width = 50 + 0.04 * formant
        response *= formant**2 / (formant**2 - frequency**2 + 1j * frequency * width)
    return response


def _band(frequency: np.ndarray, center: np.ndarray) -> np.ndarray:
    """A band one third as wide as its center frequency, ``(n, BINS)``."""
    return np.exp(-(((frequency - center[:, None]) / (0.33 * center[:, None])) ** 2))


def _split(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = generator_for(0, "speakers", name)
    labels = rng.integers(len(SPEAKERS), size=n)
    return np.concatenate([spectra(part, rng) for part in np.array_split(labels, -(-n // 250))]), labels


class Residual(nn.Module):
    """Convolutions with a shortcut around them, then half the length."""

    def __init__(self, before: int, after: int, convolutions: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for number in range(convolutions):
            layers += [nn.Conv1d(before if number == 0 else after, after, 3, padding=1), nn.ReLU()]
        self.path = nn.Sequential(*layers[:-1])
        self.shortcut = nn.Conv1d(before, after, 1)
        self.act = nn.ReLU()
        self.pool = nn.MaxPool1d(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(self.act(self.path(x) + self.shortcut(x)))


class SpeakerNet(nn.Sequential):
    """The Keras example's five residual blocks (18 convolutions here) and two linear layers, narrower."""

    def __init__(self) -> None:
        sizes = [(1, 8, 2), (8, 16, 2), (16, 32, 3), (32, 32, 3), (32, 32, 3)]
        blocks = [Residual(*size) for size in sizes]
        head = [nn.AvgPool1d(2), nn.Flatten(), nn.Linear(32 * 8, 64), nn.ReLU(), nn.Linear(64, len(SPEAKERS))]
        super().__init__(*blocks, *head)


def speakers(_data: Path | None = None, *, train: int = 4000, test: int = 1000) -> mutiny.Subject:
    """Who speaks, from so many clips; no files needed."""
    return mutiny.Subject(
        task=mutiny.Classification(len(SPEAKERS), "logits"),
        train=_split("train", train),
        test=_split("test", test),
        recipe=mutiny.Recipe(SpeakerNet, epochs=8, batch_size=64, learning_rate=3e-3, schedule="onecycle"),
        name="speakers",
    )
