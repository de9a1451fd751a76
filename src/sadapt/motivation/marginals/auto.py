"""The marginal that suits a world: Bernoulli where every entry is a bit, Gaussian elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sadapt.motivation.marginals.base import InputSpec, Marginal
from sadapt.motivation.marginals.bernoulli import BernoulliSettings, of_bits
from sadapt.motivation.marginals.gaussian import GaussianSettings, of_numbers


@dataclass(frozen=True)
class AutoSettings(GaussianSettings, BernoulliSettings):
    """How entries are modelled: bits as Bernoulli, other numbers as Gaussian."""


def auto(spec: InputSpec, settings: AutoSettings = AutoSettings(), *, xp: Any = None) -> Marginal:
    """Bernoulli or Gaussian."""
    if spec.binary:
        return of_bits(spec, BernoulliSettings(settings.pseudo_count, settings.probability_clip), xp=xp)
    return of_numbers(spec, GaussianSettings(settings.pseudo_count, settings.std_floor), xp=xp)
