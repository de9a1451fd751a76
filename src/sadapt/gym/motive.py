"""What the wrappers share: theta, time, arm and sums of every world's episode, one bandit and one normaliser for all.

The mathematics is that of `sadapt.motivation`, on NumPy arrays whose first axis is the world's index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError, nearest
from sadapt.gym.sight import Sight
from sadapt.motivation import objectives
from sadapt.motivation.bandits import BanditState, fixed, patient, ucb
from sadapt.motivation.marginals import MAX_COUNT, Marginal, MarginalState, bernoulli, gaussian, marginal_family
from sadapt.motivation.normalisation import NormaliserState, running
from sadapt.motivation.objectives import ARMS, OBJECTIVES, feedback, usable_baseline

BOOTSTRAP = ("auto", "terminal", "through")
BLOCK = 2**14
"""Entries that are worked on at once, so that intermediate results stay in the cache and off the system's pages."""
BANDIT = {"means": np.float32, "counts": np.float32, "heard": np.int32}
"""What is saved of the bandit: all but the episodes under way."""
SIGNED = OBJECTIVES["s-adapt"]
"""The row that pays (-1)^alpha * surprise, whatever arm it is on."""


@dataclass(frozen=True, kw_only=True)
class SurpriseSettings:
    """Options of the wrappers."""

    objective: str = "s-adapt"
    """What is paid: s-adapt, s-min, s-max or extrinsic."""
    marginal: str = "auto"
    """Family of the state marginal; auto is Bernoulli where observations are binary, else Gaussian."""
    marginal_channels: Sequence[int] | None = None
    """Channels that the marginal models; None leaves it to the world, or takes all of them."""
    obs_mode: str = "dict"
    """What the learner sees: dict, channels, flat or none."""
    horizon: int | None = None
    """Steps in an episode, T; None takes the time limit of the environment."""
    h_random: float | None = None
    """A random agent's entropy in nats, which s-adapt needs: see `estimate_random_entropy`."""
    normalise: bool = True
    """Subtract the running mean of rewards and divide by their running deviation, per arm."""
    baseline: str = "global"
    """One running mean of the reward (global), or one per time step (time)."""
    reward_clip: float = math.inf
    """Normalised rewards stay within this distance of 0."""
    intrinsic_scale: float = 1.0
    """Factor of the surprise in the reward."""
    extrinsic_scale: float = 0.0
    """Factor of the task's reward, added to it."""
    bootstrap: str = "auto"
    """Whether the horizon is told as terminated too (terminal) or not (through); auto does so for surprise."""
    pseudo_count: float = 0.0
    """Imagined all-zero observations before the first."""
    probability_clip: float = 1e-4
    """Bernoulli probabilities stay this far from 0 and 1."""
    std_floor: float = 0.1
    """Least standard deviation of the Gaussian marginal, in units of the observation."""
    ucb_c: float = math.sqrt(2)
    """Exploration of the bandit."""
    patient_episodes: int = 0
    """The first episodes take the arms by turns and are then forgotten: three quarters of them all is a good share."""
    seed: int | None = None
    """Seed of the draws that break the bandit's ties; a seed given to `reset` replaces it."""


def settings_from(options: Mapping[str, Any]) -> SurpriseSettings:
    """Settings by their names; an unknown name is an error."""
    known = {field.name for field in fields(SurpriseSettings)}
    for name in options:
        if name not in known:
            raise UserError(f"the surprise wrappers have no option {name!r}: {nearest(name, known)}")
    return SurpriseSettings(**options)


class Paid(NamedTuple):
    """What a step came to, per world."""

    reward: np.ndarray
    intrinsic: np.ndarray
    surprise: np.ndarray
    entropy: np.ndarray


class Motive:
    """Episodes of `worlds` side by side."""

    def __init__(self, worlds: int, sight: Sight, horizon: int, settings: SurpriseSettings) -> None:
        self.settings, self.horizon = settings, horizon
        self._row = _paying(settings)
        if settings.bootstrap not in BOOTSTRAP:
            raise UserError(f"unknown bootstrap {settings.bootstrap!r}: {nearest(settings.bootstrap, BOOTSTRAP)}")
        self.horizon_is_terminal = {"auto": self._row.intrinsic, "terminal": True, "through": False}[settings.bootstrap]
        self._bernoulli = _is_bernoulli(sight, settings.marginal)
        self.marginal = self._make_marginal(sight.seen_shape)
        self._block = max(1, BLOCK // math.prod(sight.seen_shape))
        if not 1 <= horizon < MAX_COUNT:
            raise UserError(f"the horizon must be at least 1 step and less than {MAX_COUNT}; got {horizon}")
        if self._row.arm is None:
            self._bandit = patient(ucb(len(ARMS), c=settings.ucb_c, xp=np), settings.patient_episodes, xp=np)
        else:
            self._bandit = fixed(self._row.arm, arms=len(ARMS), xp=np)
        self._normaliser = running(len(ARMS), horizon, baseline=settings.baseline, clip=settings.reward_clip, xp=np)
        self.h_random = _known_baseline(sight.source, settings)
        self.training = True
        self.forced_arm: int | None = None
        self.bandit: BanditState = self._bandit.init()
        self.normaliser: NormaliserState = self._normaliser.init()
        self._generator = np.random.default_rng(settings.seed)
        self._seen: MarginalState = _side_by_side(self.marginal.init(), worlds)
        self.theta: np.ndarray = self.marginal.features(self._seen)
        """theta as the policy sees it; to be copied by whoever shows it."""
        self.clock = np.zeros(worlds, np.int32)
        self.arm = np.zeros(worlds, np.int32)
        self.under_way = np.zeros(worlds, bool)
        self._pulled = np.zeros(worlds, bool)
        self._extrinsic, self._surprise = np.zeros((2, worlds))

    def _make_marginal(self, shape: tuple[int, ...]) -> Marginal:
        wanted = self.settings
        if self._bernoulli:
            return bernoulli(shape, clip=wanted.probability_clip, pseudo_count=wanted.pseudo_count, xp=np)
        return gaussian(shape, std_floor=wanted.std_floor, pseudo_count=wanted.pseudo_count, xp=np)

    def theta_bounds(self, sight: Sight) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest that theta can become."""
        if self._bernoulli:
            return np.zeros(sight.seen_shape, np.float32), np.ones(sight.seen_shape, np.float32)
        low, high = sight.seen_bound(sight.low), sight.seen_bound(sight.high)
        if self.settings.pseudo_count:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        least = np.full(sight.seen_shape, self.settings.std_floor**2, np.float32)
        with np.errstate(over="ignore"):
            most = np.maximum(np.square(high - low), least)
        return np.concatenate([low, least], axis=-1), np.concatenate([high, most], axis=-1)

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
        begun = self.marginal.update(_side_by_side(self.marginal.init(), len(which)), seen)
        for everywhere, here in zip(self._seen, begun, strict=True):
            everywhere[which] = here
        self.theta[which] = self.marginal.features(begun)
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
        surprise = -self._in_blocks(self.marginal.log_prob_at, self.theta, seen)
        self._seen = self.marginal.update(self._seen, seen)
        self.theta = self.marginal.features(self._seen)
        entropy = self._in_blocks(self.marginal.entropy_at, self.theta)
        intrinsic = objectives.reward(SIGNED, self.arm, surprise, extrinsic, xp=np)
        if idle is not None:
            for values in (surprise, entropy, intrinsic):
                values[idle] = 0
        reward = self._payment(intrinsic, extrinsic, idle)
        self._extrinsic += extrinsic
        self._surprise += surprise
        self.clock += 1
        return Paid(reward, intrinsic, surprise, entropy)

    def _in_blocks(self, function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
        """`function` of all worlds, some at a time."""
        if len(self.clock) <= self._block:
            return function(*arrays)
        starts = range(0, len(self.clock), self._block)
        return np.concatenate([function(*(array[at : at + self._block] for array in arrays)) for at in starts])

    def _payment(self, intrinsic: np.ndarray, extrinsic: np.ndarray, idle: np.ndarray | None) -> np.ndarray:
        """intrinsic_scale * z + extrinsic_scale * task, where z is the normalised reward of the objective."""
        wanted = self.settings
        paid = intrinsic if self._row.intrinsic else extrinsic.astype(np.float32)
        if wanted.normalise:
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
        h_random = np.float32(math.nan if self.h_random is None else self.h_random)
        heard = feedback(entropy[which], h_random)
        means, counts = np.empty((2, len(which), len(ARMS)), np.float32)
        for i, world in enumerate(which):
            if self._pulled[world]:
                if self.training and self.h_random is not None:
                    self.bandit = self._bandit.update(self.bandit, self.arm[world], heard[i])
                else:
                    self.bandit = self._bandit.abandon(self.bandit, self.arm[world])
            means[i], counts[i] = self.bandit.means, self.bandit.counts
        self.under_way[which] = False
        return {
            "extrinsic_return": self._extrinsic[which],
            "intrinsic_return": objectives.reward(SIGNED, self.arm[which], self._surprise[which], 0.0, xp=np),
            "length": self.clock[which],
            "arm": self.arm[which],
            "surprise": self._surprise[which] / self.clock[which],
            "entropy": entropy[which],
            "h_random": np.full(len(which), h_random),
            "feedback": heard,
            "arm_means": means,
            "arm_counts": counts,
        }

    def time(self) -> np.ndarray:
        """t / T."""
        return self.clock.astype(np.float32) / np.float32(self.horizon)

    def alpha(self) -> np.ndarray:
        """The direction of the episode: 0 = maximise surprise, 1 = minimise it."""
        return self.arm.astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        """Bandit, normaliser, baseline and draws as plain numbers and lists; episodes under way are not among them."""
        return {
            "bandit": {name: getattr(self.bandit, name).tolist() for name in BANDIT},
            "normaliser": {name: part.tolist() for name, part in self.normaliser._asdict().items()},
            "h_random": self.h_random,
            "generator": self._generator.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over what `state_dict` gave, also of another process; episodes under way go on as they are."""
        try:
            bandit = {name: np.asarray(state["bandit"][name], dtype) for name, dtype in BANDIT.items()}
            normaliser = {
                name: np.asarray(state["normaliser"][name], part.dtype)
                for name, part in self.normaliser._asdict().items()
            }
            h_random, generator = state["h_random"], state["generator"]
        except (KeyError, TypeError) as error:
            raise UserError(
                f"the state lacks {error}; it must be what state_dict() of a surprise wrapper gave"
            ) from error
        wrong = [
            name
            for mine, loaded in ((self.bandit, bandit), (self.normaliser, normaliser))
            for name, part in loaded.items()
            if part.shape != getattr(mine, name).shape
        ]
        if wrong:
            raise UserError(
                f"the state's {' and '.join(wrong)} have other sizes than this wrapper's: "
                "give it the horizon and baseline of the one that was saved"
            )
        self.bandit = self.bandit._replace(**bandit)
        self.normaliser = NormaliserState(**normaliser)
        self.h_random = self.h_random if h_random is None else h_random
        self._generator.bit_generator.state = generator


def arm_index(arm: str | int | None) -> int | None:
    """An arm by its name or number; None stays None."""
    if arm is None or arm in ARMS:
        return None if arm is None else ARMS.index(str(arm))
    if isinstance(arm, int) and 0 <= arm < len(ARMS):
        return arm
    raise UserError(f"forced_arm is {arm!r}; it must be 's-max' (0), 's-min' (1), or None to leave it to the bandit")


def _paying(settings: SurpriseSettings) -> objectives.Objective:
    row = objectives.objective(settings.objective)
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


def _is_bernoulli(sight: Sight, kind: str) -> bool:
    if kind == "auto":
        return sight.binary
    if marginal_family(kind) is gaussian:
        return False
    if not sight.binary:
        raise UserError(
            f"a Bernoulli marginal needs 0/1 observations; {sight.source} shows {sight.space}: use marginal='gaussian'"
        )
    return True


def _known_baseline(source: str, settings: SurpriseSettings) -> float | None:
    if settings.h_random is not None:
        return usable_baseline(float(settings.h_random), source)
    if settings.objective == "s-adapt":
        raise UserError(
            "objective 's-adapt' compares entropies with a random agent's, and h_random is not given: "
            "pass h_random=sadapt.gym.estimate_random_entropy(env)"
        )
    return None


def _side_by_side(one: MarginalState, worlds: int) -> MarginalState:
    """The state of one world, for each of several."""
    return type(one)(*(np.repeat(np.asarray(part)[None], worlds, axis=0) for part in one))
