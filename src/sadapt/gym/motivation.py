"""What the wrappers share: theta, time, arm and sums of every world's episode, one bandit and one normaliser for all.

The mathematics is that of `sadapt.motivation`, on NumPy arrays whose first axis is the world's index.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.gym.marginals import marginals
from sadapt.gym.observations import Observations
from sadapt.gym.settings import SurpriseSettings, known_random, paying
from sadapt.gym.shortcuts import normaliser_of
from sadapt.gym.states import restored, saved
from sadapt.motivation import objectives
from sadapt.motivation.bandits import BanditState, patient
from sadapt.motivation.building import build_bandit, build_feedback
from sadapt.motivation.doubts import on_the_floor, without_spread
from sadapt.motivation.feedback import RandomAgent, as_plain, from_plain, usable
from sadapt.motivation.marginals import MAX_COUNT
from sadapt.motivation.normalisation import NormaliserState
from sadapt.motivation.objectives import ARMS, OBJECTIVES
from sadapt.registry import Own

SIGNED = OBJECTIVES["s-adapt"]
"""The row that pays (-1)^alpha * surprise, whatever arm it is on."""


class Paid(NamedTuple):
    """What a step came to, per world."""

    reward: np.ndarray
    intrinsic: np.ndarray
    surprise: np.ndarray
    entropy: np.ndarray


class Motivation:
    """Episodes of `worlds` side by side."""

    def __init__(
        self, worlds: int, observations: Observations, horizon: int, settings: SurpriseSettings, own: Own
    ) -> None:
        self.settings, self.horizon = settings, horizon
        self._row = paying(settings)
        self.horizon_is_terminal = settings.payment.horizon_is_terminal(self._row)
        spec = observations.input_spec()
        self._binary = spec.binary
        self.marginal, self._marginals = marginals(spec, worlds, settings.marginal, own, settings.memory)
        if not 1 <= horizon < MAX_COUNT:
            raise UserError(f"the horizon must be at least 1 step and less than {MAX_COUNT}; got {horizon}")
        bandit = build_bandit(self._row, settings.bandit, own, xp=np)
        self._bandit = patient(bandit, settings.patient_episodes, xp=np) if self._row.adaptive else bandit
        self._normaliser = normaliser_of(self._row, horizon, settings.payment)
        self._feedback = build_feedback(settings.feedback, own, xp=np)
        self.compared = self._feedback.of
        self.random = known_random(observations.source, settings, self._row, self.compared)
        self.training = True
        self.forced_arm: int | None = None
        self.bandit: BanditState = self._bandit.init()
        self.normaliser: NormaliserState = self._normaliser.init()
        self._generator = np.random.default_rng(settings.seed)
        self.clock = np.zeros(worlds, np.int32)
        self.arm = np.zeros(worlds, np.int32)
        self.under_way = np.zeros(worlds, bool)
        self._pulled = np.zeros(worlds, bool)
        self._extrinsic, self._surprise = np.zeros((2, worlds))
        self._ended = np.zeros(worlds, np.int64)

    @property
    def theta(self) -> np.ndarray:
        """theta as the policy sees it; to be copied by whoever shows it."""
        return self._marginals.theta

    def theta_bounds(self, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest that theta can become."""
        spec = observations.input_spec()
        if self.marginal.feature_bounds is None:
            most = np.full(self.marginal.feature_shape, np.inf, np.float32)
            return -most, most
        return self.marginal.feature_bounds(spec.low, spec.high)

    def doubts(self, random: RandomAgent, episodes: int) -> tuple[str, ...]:
        """What is doubtful about the signal, by so many episodes of a random agent."""
        floor = on_the_floor(random, self.marginal, self.settings.marginal.settings, str, binary=self._binary)
        return tuple(filter(None, [floor or without_spread(random, self.compared, episodes, str)]))

    def reseed(self, seed: int | Sequence[int]) -> None:
        """Draws from now on follow from `seed`, one number or several."""
        self._generator = np.random.default_rng(seed)

    def draws(self) -> np.ndarray:
        """Uniform draws that break a tie of the arms."""
        return self._generator.random(len(ARMS), np.float32)

    def begin(self, which: np.ndarray, seen: np.ndarray) -> None:
        """New episodes in the worlds with the indices `which`; their first observations are `seen`."""
        for world in which:
            if self.under_way[world] and self._pulled[world]:
                self.bandit = self._bandit.abandon(self.bandit, self.arm[world])
            self.arm[world], self._pulled[world] = self._choose()
        self._marginals.begin(which, seen)
        self.under_way[which] = True
        for sums in (self.clock, self._extrinsic, self._surprise):
            sums[which] = 0

    def _choose(self) -> tuple[int, bool]:
        """An arm, and whether the bandit waits for its feedback."""
        if self.forced_arm is not None:
            return self.forced_arm, False
        pulled, arm = self._bandit.select(self.draws(), self.bandit)
        if self.training:
            self.bandit = pulled
        return int(arm), self.training

    def absorb(self, seen: np.ndarray, extrinsic: np.ndarray, idle: np.ndarray | None = None) -> Paid:
        """One step of all worlds; in the worlds of the mask `idle` nothing happens, and their rows mean nothing."""
        surprise = -self._marginals.log_prob(seen)
        self._marginals.add(seen)
        entropy = self._marginals.entropy()
        intrinsic = objectives.payment(SIGNED, self.arm, surprise, extrinsic, xp=np)
        if idle is not None:
            for values in (surprise, entropy, intrinsic):
                values[idle] = 0
        reward = self._payment(intrinsic, surprise, extrinsic, idle)
        self._extrinsic += extrinsic
        self._surprise += surprise
        self.clock += 1
        return Paid(reward, intrinsic, surprise, entropy)

    def _payment(
        self, intrinsic: np.ndarray, surprise: np.ndarray, extrinsic: np.ndarray, idle: np.ndarray | None
    ) -> np.ndarray:
        """intrinsic_scale * z + extrinsic_scale * task, where z is the normalised reward of the objective."""
        wanted = self.settings
        paid = intrinsic
        if self._row.reward != SIGNED.reward:
            paid = objectives.payment(self._row, self.arm, surprise, extrinsic.astype(np.float32), xp=np)
        if self.training:
            told = (self.arm, self.clock, paid)
            if idle is not None:
                arm, clock, reward = (part[~idle] for part in told)
                told = (arm, clock, reward)
            self.normaliser = self._normaliser.update(self.normaliser, *told)
        paid = self._normaliser.apply(self.normaliser, self.arm, self.clock, paid)
        reward = wanted.intrinsic_scale * paid.astype(np.float64)
        if wanted.extrinsic_scale:
            reward += wanted.extrinsic_scale * extrinsic
        if idle is not None:
            reward[idle] = 0
        return reward

    def close(self, which: np.ndarray, entropy: np.ndarray) -> dict[str, np.ndarray]:
        """Ends the episodes of the worlds with the indices `which`; the bandit hears their feedback one by one."""
        told = {
            "return": self._extrinsic[which],
            "length": self.clock[which],
            "surprise": (self._surprise[which] / self.clock[which]).astype(np.float32),
            "entropy": entropy[which],
        }
        self._ended[which] += 1
        unknown = np.full(len(which), math.nan, np.float32)
        heard = unknown if self.random is None else self._heard(which, told, self.random)
        means, counts = np.empty((2, len(which), len(ARMS)), np.float32)
        for i, world in enumerate(which):
            if self._pulled[world]:
                if self.training and self.random is not None:
                    self.bandit = self._bandit.update(self.bandit, self.arm[world], heard[i])
                else:
                    self.bandit = self._bandit.abandon(self.bandit, self.arm[world])
            means[i], counts[i] = self._bandit.standing(self.bandit)
        self.under_way[which] = False
        return {
            "extrinsic_return": self._extrinsic[which],
            "intrinsic_return": objectives.payment(SIGNED, self.arm[which], self._surprise[which], 0.0, xp=np),
            "length": self.clock[which],
            "arm": self.arm[which],
            "surprise": self._surprise[which] / self.clock[which],
            "entropy": entropy[which],
            "h_random": unknown if self.random is None else np.full(len(which), self.random.mean["entropy"]),
            "feedback": heard,
            "arm_means": means,
            "arm_counts": counts,
        }

    def _heard(self, which: np.ndarray, told: Mapping[str, np.ndarray], random: RandomAgent) -> np.ndarray:
        """The feedback of the episodes that end in the worlds `which`; the bandit is told of no other than numbers."""
        heard = np.empty(len(which), np.float32)
        for i, world in enumerate(which):
            measures = {name: values[i] for name, values in told.items()}
            heard[i] = self._feedback.hear(measures, random, self.arm[world])
            if self.training and self._pulled[world] and self._row.adaptive and not np.isfinite(heard[i]):
                numbers = ", ".join(f"{name} {value:g}" for name, value in measures.items())
                raise UserError(
                    f"the feedback {self.settings.feedback.name!r} of episode {self._ended[world]} in world {world} is "
                    f"{heard[i]:g}; the bandit needs a finite number. The episode had {numbers}"
                )
        return heard

    @property
    def h_random(self) -> float | None:
        """The random agent's entropy."""
        return None if self.random is None else float(self.random.mean["entropy"])

    def time(self) -> np.ndarray:
        """t / T."""
        return self.clock.astype(np.float32) / np.float32(self.horizon)

    def alpha(self) -> np.ndarray:
        """The direction of the episode: 0 = maximise surprise, 1 = minimise it."""
        return self.arm.astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        """Bandit, normaliser, baseline and draws as plain numbers and lists; episodes under way are not among them."""
        return {
            "bandit": {name: part.tolist() for name, part in saved(self.bandit).items()},
            "normaliser": {name: part.tolist() for name, part in saved(self.normaliser).items()},
            "random": None if self.random is None else as_plain(self.random),
            "generator": self._generator.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over what `state_dict` gave, also of another process; episodes under way go on as they are."""
        try:
            self._require_same_bandit(state["bandit"])
            bandit, normaliser = (
                {name: np.asarray(state[key][name], part.dtype) for name, part in saved(mine).items()}
                for key, mine in (("bandit", self.bandit), ("normaliser", self.normaliser))
            )
            random, generator = state["random"], state["generator"]
            known = self.random if random is None else from_plain(random, "the state")
        except (KeyError, TypeError) as error:
            raise UserError(f"the state lacks {error}; it must come from state_dict() of a surprise wrapper") from error
        wrong = [
            name
            for mine, loaded in ((self.bandit, bandit), (self.normaliser, normaliser))
            for name, part in loaded.items()
            if part.shape != saved(mine)[name].shape
        ]
        if wrong:
            raise UserError(
                f"the state's {' and '.join(wrong)} have other sizes than this wrapper's: "
                "give it the saved wrapper's horizon and baseline"
            )
        if known is not None and self._row.adaptive:
            usable(known, self.compared, "the state")
        self.bandit, self.normaliser = restored(self.bandit, bandit), restored(self.normaliser, normaliser)
        self.random = known
        self._generator.bit_generator.state = generator

    def _require_same_bandit(self, given: Mapping[str, Any]) -> None:
        """Refuses what another bandit has learned: parts of the same name need not mean the same."""
        mine = set(saved(self.bandit))
        if self._row.adaptive and set(given) != mine:
            raise UserError(
                f"the state is that of a bandit that keeps {_listed(given)}; this wrapper's, "
                f"{self.settings.bandit.name!r}, keeps {_listed(mine)}: make the wrapper with the bandit and feedback "
                "of the one that was saved, such as bandit='ucb', feedback='entropy'"
            )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def arm_index(arm: str | int | None) -> int | None:
    """An arm by its name or number; None stays None."""
    if arm is None or arm in ARMS:
        return None if arm is None else ARMS.index(str(arm))
    if isinstance(arm, int) and 0 <= arm < len(ARMS):
        return arm
    raise UserError(f"forced_arm is {arm!r}; it must be 's-max' (0), 's-min' (1), or None to leave it to the bandit")
