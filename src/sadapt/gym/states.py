"""States of bandits and normalisers as arrays with names, to be kept in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

UNDER_WAY = "pending"
"""What is not saved of a bandit: the episodes under way."""
WHOLE = "state"
"""What a state is called that is one array."""


def saved(state: Any) -> dict[str, np.ndarray]:
    """The arrays of a state by name, but for the episodes under way."""
    return {name: np.asarray(part) for name, part in _parts(state).items() if name != UNDER_WAY}


def restored(state: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """A state like this one with arrays that `saved` named."""
    parts = {**_parts(state), **arrays}
    if hasattr(state, "_asdict"):
        return type(state)(**parts)
    if isinstance(state, tuple | list):
        return type(state)(parts.values())
    return parts if isinstance(state, dict) else parts[WHOLE]


def _parts(state: Any) -> dict[str, Any]:
    if hasattr(state, "_asdict"):
        return dict(state._asdict())
    if isinstance(state, tuple | list):
        return {str(index): part for index, part in enumerate(state)}
    return dict(state) if isinstance(state, dict) else {WHOLE: state}
