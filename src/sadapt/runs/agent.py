"""A trained agent: what acting takes, from a run's folder or from one exported file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt import __version__
from sadapt.composite import changed
from sadapt.envs.layout import read as read_map
from sadapt.errors import UserError, nearest
from sadapt.motivation import objectives
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.doubts import told_in
from sadapt.motivation.episode import Episode
from sadapt.motivation.feedback import MEASURED, RandomAgent, as_plain, from_plain, known_by_entropy
from sadapt.motivation.objectives import ARMS
from sadapt.registry import Own
from sadapt.runs import checkpoint, config
from sadapt.runs.checkpoint import Damaged
from sadapt.runs.folder import RunFolder, find, require_modules
from sadapt.training.driver import shapes
from sadapt.training.program import Program, build
from sadapt.training.settings import Settings

PARAMS, BANDIT = "learner/params/", "bandit/"
"""Where a checkpoint keeps the policy, and what the bandit thinks."""
READABLE = (__version__, "0.1.0")
"""Versions whose policies have the same parameters."""
Array = jax.Array


class Agent:
    """A policy with the settings it was trained under; `act` is for one observation."""

    def __init__(self, prog: Program, settings: Settings, params: Any, facts: dict[str, Any], source: str) -> None:
        self.program, self.settings, self.env = prog, settings, prog.env
        self.params, self.facts, self.source = params, facts, source
        known = "random" in facts
        self.random = from_plain(facts["random"], source) if known else known_by_entropy(facts["h_random"])
        self.h_random = float(self.random.mean["entropy"])
        self.step = int(facts["step"])

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
                f"{self.source} is a run of {self.title}, which knows no other arm: --arm is for runs of s-adapt"
            )
        return ARMS.index(name)

    def act_in(self, key: Array, episode: Episode, epsilon: float = 0.0) -> Array:
        """Best action in one episode under way, or a random one with probability epsilon."""
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
        shape = self.program.marginal.feature_shape
        seen = Augmented(
            obs=jnp.asarray(obs, self.env.obs_dtype),
            theta=jnp.zeros(shape) if theta is None else jnp.asarray(theta, jnp.float32),
            time=jnp.float32(time),
            arm=jnp.float32(self.arm(arm)),
        )
        return int(self._best(seen))

    def save(self, path: str | Path) -> Path:
        """The policy and its settings as one safetensors file."""
        path = Path(path)
        if path.suffix != ".safetensors":
            raise UserError(f"an exported policy must end in .safetensors; got {str(path)!r}")
        path.parent.mkdir(parents=True, exist_ok=True)
        checkpoint.write(path, checkpoint.tensors_of(self.params), self.facts)
        return path


def load(path: str | Path, *, trust: bool = False, own: Own | None = None) -> Agent:
    """The agent in an exported file, or in a run's newest good checkpoint.

    Modules that it needs are imported only if they are trusted, or have been imported already; `own` are the parts
    that were handed to `train` as objects, by their kind.
    """
    path = Path(path)
    if path.is_file():
        try:
            tensors, facts = checkpoint.read(path)
            require_modules(checkpoint.require_run(facts)["settings"], str(path), trust=trust)
            return _agent(tensors, facts, str(path), own)
        except (Damaged, KeyError) as damage:
            raise UserError(f"{path} is no exported policy: {damage}") from damage
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
    raise UserError(f"{folder} has no checkpoint yet: `sadapt resume {folder}` trains it to the first one")


def _agent_in(folder: RunFolder, tensors: dict[str, np.ndarray], facts: dict[str, Any], own: Own | None) -> Agent:
    """Of a checkpoint, what an agent needs."""
    settings = facts["settings"]
    if folder.layout.exists():
        text, trained = read_map(folder.layout), config.from_dict(settings, str(folder))
        settings = config.to_dict(changed(trained, "layout", text if "\n" in text else text + "\n"))
    params = _below(PARAMS, tensors)
    told = {**facts, "settings": settings, "random": _random(tensors), "arms": None}
    told["warnings"] = list(folder.warnings)
    agent = _agent(params, told, str(folder), own)
    bandit = agent.program.parts.bandit
    standing = bandit.standing(checkpoint.tree_like(jax.eval_shape(bandit.init), _below(BANDIT, tensors)))
    agent.facts["arms"] = {name: np.asarray(part).tolist() for name, part in standing._asdict().items()}
    return agent


def _random(tensors: dict[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """The random agent, in the types that JSON knows; of a checkpoint of before, its entropy alone."""
    if "h_random" in tensors:
        return as_plain(known_by_entropy(float(tensors["h_random"])))
    found = RandomAgent(*(_below(f"random/{part}/", tensors) for part in MEASURED))
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
