"""Model-assisted search: its parts against closed forms, and that it learns."""

import numpy as np
import pytest

from edgeperf.errors import InvalidInput
from search.assisted import area_gained
from search.front import hypervolume, nondominated, scaled
from search.gaussian import SmoothGuess
from search.optimiser import Setting, optimiser
from search.space import space


def test_the_area_gained_is_the_difference_of_hypervolumes():
    rng = np.random.default_rng(0)
    front, points = rng.random((15, 2)) * 1.3, rng.random((40, 2)) * 1.3 - 0.1
    reference = np.array([1.1, 1.1])
    before = hypervolume(front, reference)
    gained = [hypervolume(np.vstack((front, point)), reference) - before for point in points]
    assert area_gained(front, points) == pytest.approx(gained, abs=1e-12)


def test_a_smooth_function_is_guessed_between_its_points():
    inputs = np.linspace(0, 6, 30)[:, None]
    guess = SmoothGuess(inputs, np.sin(inputs[:, 0]) + 2)
    middle, doubt = guess.predict(np.array([[2.1], [9.0]]))
    assert guess.undrawn(middle[:1])[0] == pytest.approx(np.sin(2.1) + 2, abs=0.02)
    assert doubt[1] > 5 * doubt[0]


def covered(algorithm, seed, budget=60):
    """Share of the true hypervolume on a made-up trade over 184 networks that genes decide smoothly."""
    searched = space(["mobilenet-v3", "mnasnet"])

    def objectives(vectors):
        size = vectors[:, [3, 5]].sum(axis=1) / 7
        width = vectors[:, [2, 4]].sum(axis=1) / 7
        return np.column_stack((np.exp(-2 * size) + (width - 0.6) ** 2, size**2 + 0.3 * width + 0.05 * vectors[:, 0]))

    truth = objectives(searched.all())
    front = truth[nondominated(truth)]
    setting = Setting(
        space=searched,
        population=10,
        objectives=2,
        warm_start=np.empty((0, len(searched.counts)), dtype=np.int64),
        describe=lambda vectors: vectors.astype(float),
    )
    searcher, asked = optimiser(algorithm, setting), []
    for generation in range(budget):
        rng = np.random.default_rng((seed, generation))
        vectors = searcher.ask(rng)
        asked += list(objectives(vectors))
        searcher.tell(vectors, objectives(vectors), np.zeros(len(vectors)), rng)
        if len(asked) >= budget:
            break
    low, high, reference = front.min(axis=0), front.max(axis=0), np.array([1.1, 1.1])
    found = scaled(np.array(asked[:budget]), low, high)
    return hypervolume(found, reference) / hypervolume(scaled(front, low, high), reference)


def test_it_covers_more_than_chance_at_the_same_budget():
    learned, chance = (np.mean([covered(name, seed) for seed in range(3)]) for name in ("assisted", "random"))
    assert learned > chance
    assert learned > 0.99


def test_it_takes_two_objectives():
    setting = Setting(
        space=space(["mnasnet"]), population=10, objectives=3, warm_start=np.empty((0, 3), dtype=np.int64),
        describe=lambda vectors: vectors,
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="two objectives"):
        optimiser("assisted", setting)
