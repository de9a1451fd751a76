"""A mixture whose parts get the marginals that the user names, and auto's otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sadapt.errors import UserError, nearest
from sadapt.motivation.marginals.auto import AutoSettings, auto
from sadapt.motivation.marginals.base import InputSpec, Marginal
from sadapt.motivation.marginals.mixture import mixture
from sadapt.registry import Choice, find, made


@dataclass(frozen=True)
class MixtureSettings(AutoSettings):
    """How the parts of a world are modelled."""

    part_marginals: str = ""
    """Marginals of parts by name, as in `image=categorical,direction=kt`; auto picks the others."""


def of_parts(spec: InputSpec, settings: MixtureSettings = MixtureSettings(), *, xp: Any = None) -> Marginal:
    """The mixture of a world that shows several parts."""
    chosen = _chosen(spec, settings.part_marginals)
    usual = AutoSettings(settings.pseudo_count, settings.probability_clip, settings.std_floor)

    def each(part: InputSpec, xp: Any) -> Marginal:
        if part.source not in chosen:
            return auto(part, usual, xp=xp)
        name = chosen[part.source]
        return made("marginal", Marginal, Choice(name, find("marginal", name).defaults()), {}, part, xp=xp)

    return mixture(spec, each, xp=xp)


def _chosen(spec: InputSpec, given: str) -> dict[str, str]:
    """Names of marginals by the names of parts."""
    chosen: dict[str, str] = {}
    for word in filter(None, given.replace(" ", "").split(",")):
        part, equals, marginal = word.partition("=")
        if not equals or not marginal:
            raise UserError(f"--part-marginals has {word!r}; expected PART=MARGINAL, separated by commas")
        if part not in (names := [each.source for each in spec.parts]):
            raise UserError(f"{spec.source!r} has no part {part!r}: {nearest(part, names)}")
        chosen[part] = marginal
    return chosen
