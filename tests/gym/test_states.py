"""States as arrays with names, and back again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from sadapt.gym.states import restored, saved


class Pulls(NamedTuple):
    """A state with episodes under way."""

    means: np.ndarray
    pending: np.ndarray


@pytest.mark.parametrize(
    ("state", "names"),
    [
        (Pulls(np.ones(2), np.ones(2)), {"means"}),
        ({"means": np.ones(2), "pending": np.ones(2)}, {"means"}),
        ((np.ones(2), np.zeros(3)), {"0", "1"}),
        ([np.ones(2)], {"0"}),
        (np.ones(2), {"state"}),
        ((), set()),
    ],
    ids=["named", "dictionary", "tuple", "list", "array", "nothing"],
)
def test_saved_and_restored(state, names):
    """What was saved is taken over; episodes under way stay those of the state that takes it."""
    kept = saved(state)
    assert set(kept) == names
    doubled = restored(state, {name: 2 * part for name, part in kept.items()})
    assert type(doubled) is type(state)
    for name, part in saved(doubled).items():
        np.testing.assert_array_equal(part, 2 * kept[name])
    if "means" in names:
        pending = doubled["pending"] if isinstance(doubled, dict) else doubled.pending
        np.testing.assert_array_equal(pending, np.ones(2))
