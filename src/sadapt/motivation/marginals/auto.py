"""The marginal that suits a world, among the exact ones: by what its observation space says of the entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sadapt.motivation.marginals.base import InputSpec, Marginal
from sadapt.motivation.marginals.bernoulli import BernoulliSettings, of_bits
from sadapt.motivation.marginals.categorical import categorical
from sadapt.motivation.marginals.gaussian import GaussianSettings, of_numbers
from sadapt.motivation.marginals.mixture import mixture

FEW = 32
"""Values of a whole number up to which they are categories rather than quantities."""


@dataclass(frozen=True)
class AutoSettings(GaussianSettings, BernoulliSettings):
    """How entries are modelled: bits as Bernoulli, other numbers as Gaussian, choices as categories."""


def auto(spec: InputSpec, settings: AutoSettings = AutoSettings(), *, xp: Any = None) -> Marginal:
    """Mixture, categorical, Bernoulli or Gaussian, with the reason."""
    if spec.parts:
        found = mixture(spec, partial(auto, settings=settings), xp=xp)
        return found._replace(told=f"mixture, since there are {len(spec.parts)} parts ({found.told})")
    if spec.groups:
        ones = " and ".join(map(str, spec.groups)) if len(spec.groups) < 4 else f"{len(spec.groups)} groups of"
        return categorical(spec, xp=xp)._replace(told=f"categorical, since exactly one of {ones} channels is set")
    if spec.binary:
        bits = of_bits(spec, BernoulliSettings(settings.pseudo_count, settings.probability_clip), xp=xp)
        return bits._replace(told="bernoulli, since every entry is 0 or 1")
    values = spec.values
    if values is not None and 2 <= values <= FEW:
        return categorical(spec, xp=xp)._replace(
            told=f"categorical, since entries are whole numbers of {values} values"
        )
    numbers = of_numbers(spec, GaussianSettings(settings.pseudo_count, settings.std_floor), xp=xp)
    why = "are whole numbers of many values" if spec.spacing else "can be any number"
    return numbers._replace(told=f"gaussian, since entries {why} ({np.min(spec.low):g} to {np.max(spec.high):g})")
