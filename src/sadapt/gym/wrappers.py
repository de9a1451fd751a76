"""Surprise-adaptive motivation around any Gymnasium environment, or around many at once, for any learner."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from sadapt.errors import UserError
from sadapt.gym.motive import Motive, SurpriseSettings, arm_index, settings_from
from sadapt.gym.sight import Sight
from sadapt.gym.views import View, view
from sadapt.motivation.objectives import usable_baseline

NOT_BEGUN = "call reset() first: the episode has not begun, or has ended"


class _Motivated:
    """What both wrappers offer beside Gymnasium's interface."""

    _motive: Motive

    @property
    def training(self) -> bool:
        """Whether bandit and normaliser learn; set it to False for evaluation."""
        return self._motive.training

    @training.setter
    def training(self, training: bool) -> None:
        self._motive.training = bool(training)

    @property
    def forced_arm(self) -> int | None:
        """The arm of all episodes that begin from now on, for evaluation; None leaves the choice to the bandit."""
        return self._motive.forced_arm

    @forced_arm.setter
    def forced_arm(self, arm: str | int | None) -> None:
        self._motive.forced_arm = arm_index(arm)

    @property
    def h_random(self) -> float | None:
        """The random agent's entropy that the bandit compares with."""
        return self._motive.h_random

    def state_dict(self) -> dict[str, Any]:
        """Bandit, normaliser, baseline and draws as plain numbers and lists, to be kept beside the user's model."""
        return self._motive.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what `state_dict` gave; episodes under way stay as they are."""
        self._motive.load_state_dict(state)


class SurpriseWrapper(_Motivated, gymnasium.Wrapper, RecordConstructorArgs):
    """Pays (-1)^alpha * surprise, and shows theta, t/T and alpha beside the observation.

    The options are the fields of `sadapt.gym.motive.SurpriseSettings`. An episode ends with the environment's own, or
    after `horizon` steps; theta ends with it, so a truncated episode of surprise is told as terminated too.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], objective: str = "s-adapt", marginal: str = "auto", **options: Any
    ) -> None:
        RecordConstructorArgs.__init__(self, objective=objective, marginal=marginal, **options)
        gymnasium.Wrapper.__init__(self, env)
        settings = settings_from({"objective": objective, "marginal": marginal, **options})
        self._sight, self._motive, self._view = _composed(env, 1, env.observation_space, settings)
        self.observation_space = self._view.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._motive.reseed(seed)
        batch, entries = self._entries(obs)
        self._motive.begin(np.zeros(1, np.intp), self._sight.seen(entries))
        return self._looked(batch, entries), {**info, "objective": int(self._motive.arm[0])}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        motive = self._motive
        if not motive.under_way[0]:
            raise ResetNeeded(NOT_BEGUN)
        obs, reward, terminated, truncated, info = self.env.step(action)
        batch, entries = self._entries(obs)
        paid = motive.absorb(self._sight.seen(entries), np.array([reward], np.float64))
        truncated = bool(truncated or motive.clock[0] >= motive.horizon)
        info = {
            **info,
            "extrinsic_reward": float(reward),
            "intrinsic_reward": paid.intrinsic.item(),
            "surprise": paid.surprise.item(),
            "entropy": paid.entropy.item(),
            "objective": motive.arm.item(),
        }
        if terminated or truncated:
            ended = motive.close(np.zeros(1, np.intp), paid.entropy)
            info["surprise_episode"] = {name: part[0].tolist() for name, part in ended.items()}
        terminated = bool(terminated or (truncated and motive.horizon_is_terminal))
        return self._looked(batch, entries), paid.reward.item(), terminated, truncated, info

    def _entries(self, obs: Any) -> tuple[np.ndarray, np.ndarray]:
        batch = np.asarray(obs)[None]
        return batch, self._sight.entries(batch)

    def _looked(self, batch: np.ndarray, entries: np.ndarray) -> Any:
        return _row(_look(self._view, self._motive, batch, entries), 0)


class SurpriseVectorWrapper(_Motivated, VectorWrapper):
    """The same for a vector environment: one bandit and one normaliser for all worlds.

    Steps in which a world only resets (NEXT_STEP) are paid 0 and enter neither theta nor normaliser nor bandit. Infos
    are arrays with masks, as Gymnasium's; in SAME_STEP `final_obs` is what the learner would have seen.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], objective: str = "s-adapt", marginal: str = "auto", **options: Any
    ) -> None:
        VectorWrapper.__init__(self, env)
        settings = settings_from({"objective": objective, "marginal": marginal, **options})
        mode = env.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise UserError(
                f"{_named(env)} says {mode!r} in metadata['autoreset_mode']; the wrapper must know how worlds reset: "
                "set it to a gymnasium.vector.AutoresetMode"
            )
        self._mode = mode
        self._sight, self._motive, self._view = _composed(env, env.num_envs, env.single_observation_space, settings)
        self.single_observation_space = self._view.space
        self.observation_space = batch_space(self._view.space, env.num_envs)
        self._over = np.zeros(env.num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        asked = np.array((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        obs, infos = self.env.reset(seed=seed, options=copy.copy(options))  # type: ignore[arg-type]
        given = [seed] if isinstance(seed, int) else [one for one in seed or () if one is not None]
        if given:
            self._motive.reseed(given)
        entries = self._sight.entries(obs)
        self._motive.begin(np.flatnonzero(asked), self._sight.seen(entries)[asked])
        self._over = self._over & ~asked
        return _look(self._view, self._motive, obs, entries), infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        motive, fresh = self._motive, self._over
        resetting = self._mode is AutoresetMode.NEXT_STEP
        if not (motive.under_way | fresh if resetting else motive.under_way).all():
            raise ResetNeeded(NOT_BEGUN)
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        infos = dict(infos)
        over = terminations | truncations
        ended = np.flatnonzero(over)
        same_step = self._mode is AutoresetMode.SAME_STEP and ended.size > 0
        last = self._with_final(obs, infos, ended) if same_step else obs
        entries = self._sight.entries(last)
        seen = self._sight.seen(entries)
        idle = fresh if resetting and fresh.any() else None
        paid = motive.absorb(seen, np.asarray(rewards, np.float64), idle)
        if idle is not None:
            begun = np.flatnonzero(idle)
            motive.begin(begun, seen[begun])
        self._check_clock(over)
        self._tell(infos, rewards, paid, ~fresh if idle is not None else np.ones(self.num_envs, bool))
        if ended.size:
            summary = motive.close(ended, paid.entropy)
            infos["surprise_episode"] = {name: _scattered(part, ended, over) for name, part in summary.items()}
            infos["_surprise_episode"] = over.copy()
        if same_step:
            seen_last = _look(self._view, motive, last, entries)
            infos["final_obs"] = _rows(seen_last, ended, self.num_envs)
            entries = self._sight.entries(obs)
            motive.begin(ended, self._sight.seen(entries)[ended])
        self._over = np.zeros_like(over) if self._mode is AutoresetMode.SAME_STEP else over.copy()
        ends = over if motive.horizon_is_terminal else terminations
        return _look(self._view, motive, obs, entries), paid.reward, ends, truncations, infos

    def _with_final(self, obs: Any, infos: dict[str, Any], ended: np.ndarray) -> np.ndarray:
        """Observations with the last ones in the worlds that have ended."""
        if "final_obs" not in infos:
            raise UserError(
                f"{_named(self.env)} says that worlds reset in the step that ends them (SAME_STEP), but its infos lack "
                "'final_obs': put the last observations there, or choose another autoreset_mode"
            )
        last = np.array(obs)
        for world in ended:
            last[world] = infos["final_obs"][world]
        return last

    def _check_clock(self, over: np.ndarray) -> None:
        late = (self._motive.clock >= self._motive.horizon) & ~over
        if late.any():
            raise UserError(
                f"the episode in world {int(np.argmax(late))} goes on after the horizon of {self._motive.horizon} "
                "steps: make the worlds with this max_episode_steps, or give the wrapper their longer horizon"
            )

    def _tell(self, infos: dict[str, Any], rewards: np.ndarray, paid: Any, counted: np.ndarray) -> None:
        """Puts what every step tells into Gymnasium's vector infos."""
        told = {
            "extrinsic_reward": np.array(rewards, np.float64),
            "intrinsic_reward": paid.intrinsic,
            "surprise": paid.surprise,
            "entropy": paid.entropy,
            "objective": self._motive.arm.copy(),
        }
        for name, values in told.items():
            infos[name], infos[f"_{name}"] = values, counted.copy()


def estimate_random_entropy(
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any], episodes: int = 100, seed: int = 0, **options: Any
) -> float:
    """H_rand: the mean final entropy of `episodes` episodes of random play, which `env` plays and is seeded for.

    `options` are those of the wrapper that will use the number; of a vector environment every world plays its share.
    """
    if not isinstance(episodes, int) or episodes < 1:
        raise UserError(f"episodes is {episodes!r}; it must be a whole number from 1")
    silent = {**options, "objective": "extrinsic", "obs_mode": "none", "normalise": False, "h_random": None,
              "intrinsic_scale": 1.0, "extrinsic_scale": 0.0}  # fmt: skip
    env.action_space.seed(seed)
    entropies = (
        _entropies_of_many(SurpriseVectorWrapper(env, **silent), episodes, seed)
        if isinstance(env, VectorEnv)
        else _entropies_of_one(SurpriseWrapper(env, **silent), episodes, seed)
    )
    return usable_baseline(float(np.mean(entropies)), _named(env))


def _entropies_of_one(env: SurpriseWrapper, episodes: int, seed: int) -> list[float]:
    """Final entropies of random play."""
    found = []
    for episode in range(episodes):
        env.reset(seed=seed if episode == 0 else None)
        info: dict[str, Any] = {}
        while "surprise_episode" not in info:
            *_, info = env.step(env.action_space.sample())
        found.append(info["surprise_episode"]["entropy"])
    return found


def _entropies_of_many(envs: SurpriseVectorWrapper, episodes: int, seed: int) -> list[float]:
    """The same, of equally many episodes in each world, so that short ones are not preferred."""
    envs.reset(seed=seed)
    share = -(-episodes // envs.num_envs)
    found: list[list[float]] = [[] for _ in range(envs.num_envs)]
    while any(len(own) < share for own in found):
        *_, terminations, truncations, infos = envs.step(envs.action_space.sample())
        over = terminations | truncations
        for world in np.flatnonzero(over):
            found[world].append(float(infos["surprise_episode"]["entropy"][world]))
        if over.any() and envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            envs.reset(options={"reset_mask": over})
    return [entropy for own in found for entropy in own[:share]]


def _composed(env: Any, worlds: int, space: Any, settings: SurpriseSettings) -> tuple[Sight, Motive, View]:
    """What the two wrappers are made of: how observations are read, what is made of them, how it is shown."""
    source, world, channels = _named(env), _world(env), settings.marginal_channels
    if channels is None and world is not None and world.obs_shape == space.shape:
        channels = world.marginal_channels
    sight = Sight(source, space, channels)
    horizon = _time_limit(env) if settings.horizon is None else settings.horizon
    if horizon is None:
        raise UserError(
            f"{source} does not say how long an episode is: give horizon=STEPS, or put a TimeLimit around it"
        )
    motive = Motive(worlds, sight, horizon, settings)
    return sight, motive, view(settings.obs_mode, sight, motive.theta_bounds(sight))


def _named(env: Any) -> str:
    """What messages call an environment."""
    spec = getattr(env, "spec", None)
    return spec.id if spec is not None else type(env.unwrapped).__name__


def _world(env: Any) -> Any:
    """The facts of a world of this package, which name the channels that its marginal models; None for others."""
    inner = env.unwrapped
    if isinstance(inner, VectorEnv) and getattr(inner, "envs", None):
        inner = inner.envs[0].unwrapped  # type: ignore[attr-defined]
    world = getattr(inner, "world", None)
    if world is None and isinstance(inner, VectorEnv) and inner.spec is not None and inner.spec.namespace == "sadapt":
        from sadapt.envs.registry import make

        name, layout = inner.spec.id, inner.spec.kwargs.get("layout")
        return make(gymnasium.spec(name).kwargs["name"], layout)
    return world if hasattr(world, "marginal_channels") else None


def _time_limit(env: Any) -> int | None:
    """The number of steps after which `env` truncates, if it tells."""
    inner = env.unwrapped
    if isinstance(inner, VectorEnv):
        spec = inner.spec
        known = [
            getattr(inner, "max_episode_steps", None),
            _time_limit(inner.envs[0]) if getattr(inner, "envs", None) else None,  # type: ignore[attr-defined]
            spec and (spec.kwargs.get("max_episode_steps") or spec.max_episode_steps),
        ]
        return next((limit for limit in known if limit), None)
    if env.has_wrapper_attr("_max_episode_steps"):
        return env.get_wrapper_attr("_max_episode_steps")
    return env.spec.max_episode_steps if env.spec is not None else None


def _look(view: View, motive: Motive, obs: Any, entries: np.ndarray) -> Any:
    if motive.settings.obs_mode == "none":
        return obs
    return view.look(obs, entries, motive.theta, motive.time(), motive.alpha())


def _row(batch: Any, world: int) -> Any:
    """One world's part of what several see."""
    return {name: part[world] for name, part in batch.items()} if isinstance(batch, dict) else batch[world]


def _rows(batch: Any, which: np.ndarray, worlds: int) -> np.ndarray:
    """The parts of some worlds as an array of objects, None elsewhere."""
    rows = np.full(worlds, None, dtype=object)
    for world in which:
        rows[world] = copy.deepcopy(_row(batch, int(world)))
    return rows


def _scattered(part: np.ndarray, which: np.ndarray, over: np.ndarray) -> np.ndarray:
    """Values of some worlds as an array for all of them, zero elsewhere."""
    spread = np.zeros((len(over), *part.shape[1:]), part.dtype)
    spread[which] = part
    return spread
