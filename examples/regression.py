"""A regression network: disease progression after one year (scikit-learn's diabetes data), within 0.5 deviations.

mutiny assess examples/regression.py:subject --operators WI,NI --originals 5
mutiny select examples/regression.py:subject --budget 20 --originals 5
"""

import numpy as np
from sklearn.datasets import load_diabetes
from torch import nn

import mutiny

inputs, target = load_diabetes(return_X_y=True)
inputs = (inputs / inputs.std(axis=0)).astype(np.float32)
target = (target - target.mean()) / target.std()


def build():
    return nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))


subject = mutiny.Subject(
    recipe=mutiny.Recipe(build, epochs=60, learning_rate=3e-3, weight_decay=1e-3),
    task=mutiny.Regression(tolerance=0.5, metric="mse"),
    train=(inputs[:270], target[:270]),
    test=(inputs[270:370], target[270:370]),
    pool=(inputs[370:], target[370:]),
    name="diabetes regression",
)
