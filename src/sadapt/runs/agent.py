"""A trained agent: what acting takes, from a run's folder or from one exported file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt import __version__, zoo
from sadapt.composite import changed
from sadapt.envs.layout import read as read_map
from sadapt.errors import UserError, nearest
from sadapt.fields import Share, checked, field_of, told
from sadapt.motivation import objectives
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.doubts import told_in
from sadapt.motivation.episode import Episode
from sadapt.motivation.feedback import MEASURED, RandomAgent, as_plain, from_plain, known_by_entropy
from sadapt.motivation.objectives import ARMS
from sadapt.registry import Own
from sadapt.runs import checkpoint, config
from sadapt.runs.checkpoint import Damaged
from sadapt.runs.folder import RunFolder, find, only, require_modules
from sadapt.training.driver import shapes
from sadapt.training.program import Program, build
from sadapt.training.settings import Settings

if TYPE_CHECKING:
    from sadapt.runs.player import Player

PARAMS, BANDIT = "learner/params/", "bandit/"
"""Where a checkpoint keeps the policy, and what the bandit thinks."""
READABLE = (__version__, "0.1.0")
"""Versions whose policies have the same parameters."""
ROUNDING = 1e-4
"""How far beyond a world's bounds what it shows may lie."""
Array = jax.Array


class Agent:
    """A policy with the settings it was trained under.

    `act` is for one augmented observation; `player()` keeps theta, time and arm over an episode.
    """

    def __init__(self, prog: Program, settings: Settings, params: Any, facts: dict[str, Any], source: str) -> None:
        self.program, self.settings, self.env = prog, settings, prog.env
        self.params, self.facts, self.source = params, facts, source
        known = "random" in facts
        self.random: RandomAgent = from_plain(facts["random"], source) if known else known_by_entropy(facts["h_random"])
        """What random play was measured to be, before it was trained."""
        self.h_random: float = float(self.random.mean["entropy"])
        """The mean entropy of random play, in nats."""
        self.step: int = int(facts["step"])
        """Environment steps that it was trained for."""

    def __repr__(self) -> str:
        on = f" on {ARMS[self.preferred_arm]}" if self.program.parts.objective.adaptive else ""
        made = f"{self.settings.learner.name}, {self.step:,} steps"
        return f"<Agent {self.source!r}: {self.title}{on} in {self.settings.env}, {made}>"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was doubtful about its training."""
        return told_in(self.facts)

    @property
    def title(self) -> str:
        """The agent's name for people."""
        return objectives.objective(self.settings.objective).title

    @property
    def preferred_arm(self) -> int:
        """The arm it was made for; of S-Adapt the one that its bandit thinks better of."""
        arm = self.program.parts.objective.arm
        return int(np.argmax(self.facts["arms"]["means"])) if arm is None else arm

    def arm(self, name: str | None) -> int:
        """An arm by name; None is the preferred one."""
        if name is None:
            return self.preferred_arm
        if name not in ARMS:
            raise UserError(f"unknown arm {name!r}: {nearest(name, ARMS)}")
        own = self.program.parts.objective.arm
        if own is not None and (self.settings.objective not in ARMS or ARMS[own] != name):
            raise UserError(
                f"{self.source} is a run of {self.title}, which has no other arm: --arm is for runs of s-adapt"
            )
        return ARMS.index(name)

    def act_in(self, key: Array, episode: Episode, epsilon: float = 0.0) -> Array:
        """Best action in a running episode, or a random one with probability epsilon."""
        coin, choice = jax.random.uniform(key, (2,))
        anything = (choice * self.env.num_actions).astype(jnp.int32)
        if self.program.learner.policy is None:
            return anything
        return jnp.where(coin < epsilon, anything, self._best(self.program.rules.look(episode)))

    def _best(self, seen: Augmented) -> Array:
        learner = self.program.learner
        assert learner.policy is not None
        views = jax.tree.map(lambda x: jnp.asarray(x)[None], learner.view(seen))
        return learner.policy(self.params, views)[0]

    def act(self, obs: Any, theta: Any = None, time: float = 0.0, arm: str | None = None) -> int:
        """The best action; theta are the marginal's features and time is t / T (Extrinsic needs neither)."""
        if self.program.learner.policy is None:
            raise UserError(f"{self.source} is a run of Random, which has no policy: draw its actions uniformly")
        seen = Augmented(
            obs=jnp.asarray(self.observed(obs, self.env.policy_shape)),
            theta=jnp.asarray(self._theta(theta)),
            time=jnp.float32(checked(field_of(Share), "time", time)),
            arm=jnp.float32(self.arm(arm)),
        )
        return int(self._best(seen))

    def observed(self, obs: Any, shape: tuple[int, ...]) -> np.ndarray:
        """An observation as the world shows it; refuses what it cannot have shown."""
        given, env = _numbers("an observation", obs), self.env
        if given.shape != shape:
            raise UserError(f"{self.settings.env} shows observations of shape {shape}; got {given.shape}")
        if given.size and (given.min() < env.low - ROUNDING or given.max() > env.high + ROUNDING):
            raise UserError(
                f"{self.settings.env} shows values from {env.low:g} to {env.high:g}; got {given.min():g} to "
                f"{given.max():g}: scale them as the world does"
            )
        return given.astype(env.obs_dtype)

    def _theta(self, theta: Any) -> np.ndarray:
        """Theta as the marginal has it; a policy that sees it must be given it."""
        shape = self.program.marginal.feature_shape
        if theta is None:
            if self.program.parts.objective.sees_theta:
                raise UserError(
                    f"{self.title} sees theta, of shape {shape}, beside the observation: give it, or let "
                    "agent.player() keep it for you"
                )
            return np.zeros(shape, np.float32)
        given = _numbers("theta", theta)
        if given.shape != shape:
            raise UserError(f"theta has shape {shape} in {self.settings.env}; got {given.shape}")
        return given.astype(np.float32)

    def player(self, arm: str | None = None, *, epsilon: float = 0.0, seed: int = 0) -> Player:
        """Plays episodes in a world of yours: `player.reset(obs)`, then `player.act(obs)` for every observation."""
        from sadapt.runs.player import Player

        return Player(self, arm, epsilon=epsilon, seed=seed)

    def save(self, path: str | Path, *, half: bool = False) -> Path:
        """The policy and its settings as one safetensors file; `half` keeps 16 bits of every number."""
        path = Path(path)
        if path.suffix != ".safetensors":
            raise UserError(f"an exported policy must end in .safetensors; got {str(path)!r}")
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = checkpoint.tensors_of(self.params)
        if half:
            tensors = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
        checkpoint.write(path, tensors, self.facts)
        return path


def _numbers(what: str, given: Any) -> np.ndarray:
    """An array of finite numbers."""
    try:
        found = np.asarray(given)
        if found.dtype.kind in "buif" and np.isfinite(found).all():
            return found
    except ValueError:  # lists of different lengths
        pass
    raise UserError(f"{what} must be an array of finite numbers; got {told(given)}")


def load(path: str | Path | RunFolder, *, trust: bool = False, own: Own | None = None) -> Agent:
    """The agent in an exported file, or in a run's newest good checkpoint.

    Modules that it needs are imported only if they are trusted, or have been imported already; `own` are the parts
    that were handed to `train` as objects, by their kind.
    """
    path = only(path)
    file = zoo.located(path)
    if file.is_file():
        try:
            tensors, facts = checkpoint.read(file)
            require_modules(checkpoint.require_run(facts)["settings"], str(path), trust=trust)
            return _agent(_widened(tensors), facts, str(path), own)
        except (Damaged, KeyError) as damage:
            if zoo.is_named(path):
                raise zoo.broken(path, damage) from damage
            raise UserError(f"{path} is not an exported policy: {damage}") from damage
    folder = find(path)
    folder.read_settings(trust=trust)
    for newest in folder.checkpoints.newest():
        try:
            tensors, facts = checkpoint.read(newest)
            return _agent_in(folder, tensors, checkpoint.require_run(facts), own)
        except Damaged as damage:
            checkpoint.log.warning("checkpoint %s is not used: %s", newest, damage)
    if folder.checkpoints.paths() or folder.read_status().get("state") == "finished":
        raise UserError(f"{folder} has no checkpoint that can be used: {folder.anew()}")
    raise UserError(f"{folder} has no checkpoint yet: `sadapt resume {folder.named}` trains it to the first one")


def _widened(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Numbers that were kept in 16 bits, in the 32 that networks have."""
    return {name: x.astype(np.float32) if x.dtype == np.float16 else x for name, x in tensors.items()}


def _agent_in(folder: RunFolder, tensors: dict[str, np.ndarray], facts: dict[str, Any], own: Own | None) -> Agent:
    """Of a checkpoint, what an agent needs."""
    settings = facts["settings"]
    if folder.layout.exists():
        text, trained = read_map(folder.layout), config.from_dict(settings, str(folder))
        settings = config.to_dict(changed(trained, "layout", text if "\n" in text else text + "\n"))
    params = _below(PARAMS, tensors)
    known = {**facts, "settings": settings, "random": _random(tensors), "arms": None}
    known["warnings"] = list(folder.warnings)
    agent = _agent(params, known, str(folder), own)
    bandit, rules = agent.program.parts.bandit, agent.program.rules
    stored = checkpoint.tree_like(jax.eval_shape(rules.bandit), _below(BANDIT, tensors))
    standing = bandit.standing(rules.told(stored))
    agent.facts["arms"] = {name: np.asarray(part).tolist() for name, part in standing._asdict().items()}
    return agent


def _random(tensors: dict[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """The random agent, or that of the first group, in the types that JSON knows; of old checkpoints, its entropy."""
    if "h_random" in tensors:
        return as_plain(known_by_entropy(float(tensors["h_random"])))
    held = [_below(f"random/{part}/", tensors) for part in MEASURED]
    found = RandomAgent(*({name: np.ravel(x)[0] for name, x in each.items()} for each in held))
    try:
        return as_plain(found)
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged(f"it holds no random agent ({error})") from error


def _below(prefix: str, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _agent(tensors: dict[str, np.ndarray], facts: dict[str, Any], source: str, own: Own | None) -> Agent:
    if facts["version"] not in READABLE:
        raise UserError(f"{source} is from sadapt {facts['version']}, this is {__version__}: install that version")
    if "arms" not in facts:
        facts = {**facts, "arms": {"means": facts["arm_means"], "counts": facts["arm_counts"]}}
    settings = config.from_dict(facts["settings"], source)
    prog = build(settings, own)
    params = checkpoint.tree_like(shapes(prog).learner.params, tensors)
    return Agent(prog, settings, params, facts, source)
