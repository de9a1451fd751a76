"""Options of the wrappers: what they are, and what can be refused about them before any step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from sadapt.composite import Composite, all_changed, group, part
from sadapt.errors import UserError
from sadapt.fields import Count, Number, OneOf, Seed, Whole
from sadapt.motivation.building import ADAPTING, ADAPTING_WITH, PaymentSettings
from sadapt.motivation.feedback import RandomAgent, from_plain, known_by_entropy, usable
from sadapt.motivation.marginals.forgetting import MemorySettings
from sadapt.motivation.objectives import OBJECTIVES, Objective, objective
from sadapt.registry import Choice, Own, own_name


@dataclass(frozen=True)
class SurpriseSettings(Composite):
    """Options of the wrappers: their own, those of the reward, and those of their parts."""

    objective: Annotated[str, OneOf(OBJECTIVES)] = "s-adapt"
    """What is rewarded: s-adapt, s-min, s-max or extrinsic."""
    marginal_channels: tuple[int, ...] | None = None
    """Channels that the marginal models, by number; by default the world's choice, or all of them."""
    obs_key: str | None = None
    """Which part of a dictionary observation learner and marginal see; `a.b` is part b of part a."""
    obs_mode: Literal["dict", "channels", "flat", "none"] = "dict"
    """What the learner sees: dict, channels, flat or none."""
    horizon: Count | None = None
    """Steps per episode, T; by default the environment's time limit."""
    random: Any = None
    """A random agent's measures, from `estimate_random`; s-adapt needs them for comparison."""
    h_random: Number | None = None
    """Its entropy in nats alone, which is enough for the feedback `entropy`; see `estimate_random_entropy`."""
    intrinsic_scale: Number = 1.0
    """Factor of the surprise in the reward."""
    extrinsic_scale: Number = 0.0
    """Factor of the task's reward, added to it."""
    patient_episodes: Whole = 0
    """First episodes, in which arms take turns and which are then forgotten; three quarters of all is a good share."""
    seed: Seed | None = None
    """Seed of the draws that break the bandit's ties; a seed given to `reset` replaces it."""
    payment: PaymentSettings = group(PaymentSettings)
    memory: MemorySettings = group(MemorySettings)
    marginal: Choice = part("marginal", "auto")
    feedback: Choice = part("feedback", ADAPTING["feedback"])
    bandit: Choice = part("bandit", ADAPTING["bandit"])


KINDS = ("marginal", "feedback", "bandit")


def settings_from(options: Mapping[str, Any]) -> tuple[SurpriseSettings, Own]:
    """Settings by their names, and parts that are objects or functions; an unknown name is an error."""
    own = {kind: options[kind] for kind in KINDS if not isinstance(options.get(kind, ""), str)}
    named = {**options, **{kind: own_name(part) for kind, part in own.items()}}
    usual = [kind for kind, name in ADAPTING.items() if named.get(kind, name) == name]
    changes = {name: to for kind in usual for name, to in ADAPTING_WITH.get(kind, {}).items()}
    return all_changed(SurpriseSettings(), {**changes, **named}), own


def paying(settings: SurpriseSettings) -> Objective:
    """The row of the objective, if the wrappers can pay it."""
    row = objective(settings.objective)
    if row.reward is None:
        raise UserError(
            f"objective {settings.objective!r} is a policy, not a reward: sample the actions yourself, "
            "and choose 'extrinsic' to have surprise and entropy in the infos"
        )
    if not row.intrinsic and (settings.intrinsic_scale, settings.extrinsic_scale) != (1.0, 0.0):
        raise UserError(
            "objective 'extrinsic' pays the task's reward alone; to mix it with surprise, choose s-adapt, s-min or "
            "s-max and give extrinsic_scale"
        )
    return row


def known_random(source: str, settings: SurpriseSettings, row: Objective, of: str) -> RandomAgent | None:
    """The random agent as it was given, by its measures or by its entropy alone."""
    if settings.random is not None:
        return usable(from_plain(settings.random, "random"), of, source)
    if settings.h_random is not None and of == "entropy":
        return usable(known_by_entropy(settings.h_random), of, source)
    if row.adaptive:
        lacks = "is not given" if settings.h_random is None else "h_random, its entropy alone, does not tell"
        instead = "" if settings.h_random is None else ", or feedback='entropy' to go by the entropy"
        raise UserError(
            f"objective {settings.objective!r} compares {of} with a random agent's, which {lacks}: "
            f"pass random=sadapt.gym.estimate_random(env){instead}"
        )
    return None if settings.h_random is None else known_by_entropy(settings.h_random)
