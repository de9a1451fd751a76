"""A trained agent: what acting takes, from a run's folder or from one exported file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt import __version__
from sadapt.errors import UserError, nearest
from sadapt.motivation import objectives
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.episode import Episode
from sadapt.motivation.objectives import ARMS
from sadapt.runs import checkpoint, config
from sadapt.runs.checkpoint import Damaged
from sadapt.runs.folder import RunFolder, find
from sadapt.training.program import Program, program
from sadapt.training.world import world

PARAMS = "learner/params/"
Array = jax.Array


class Agent:
    """A policy with the settings it was trained under; `act` and `values` are for one observation."""

    def __init__(self, prog: Program, params: Any, facts: dict[str, Any], source: str) -> None:
        self.program, self.params, self.facts, self.source = prog, params, facts, source
        self.settings, self.env = prog.settings, prog.env
        self.h_random = float(facts["h_random"])
        self.step = int(facts["step"])

    @property
    def title(self) -> str:
        """The agent's name for people."""
        return objectives.objective(self.settings.objective).title

    @property
    def preferred_arm(self) -> int:
        """The arm it was made for; of S-Adapt the one that its bandit thinks better of."""
        row = objectives.objective(self.settings.objective)
        return int(np.argmax(self.facts["arm_means"])) if row.arm is None else row.arm

    def arm(self, name: str | None) -> int:
        """An arm by name; None is the preferred one."""
        if name is None:
            return self.preferred_arm
        if name not in ARMS:
            raise UserError(f"unknown arm {name!r}: {nearest(name, ARMS)}")
        own = objectives.objective(self.settings.objective).arm
        if own is not None and (self.settings.objective not in ARMS or ARMS[own] != name):
            raise UserError(
                f"{self.source} is a run of {self.title}, which knows no other arm: --arm is for runs of s-adapt"
            )
        return ARMS.index(name)

    def act_in(self, key: Array, episode: Episode, epsilon: float = 0.0) -> Array:
        """Best action in one episode under way, or a random one with probability epsilon."""
        coin, choice = jax.random.uniform(key, (2,))
        anything = (choice * self.env.num_actions).astype(jnp.int32)
        if self.program.network is None:
            return anything
        view = self.program.network.view(self.program.rules.look(episode))
        q = self.program.network.apply(self.params, jax.tree.map(lambda x: x[None], view))[0]
        return jnp.where(coin < epsilon, anything, jnp.argmax(q).astype(jnp.int32))

    def values(self, obs: Any, theta: Any = None, time: float = 0.0, arm: str | None = None) -> np.ndarray:
        """Q of every action; theta are the marginal's features and time is t / T (Extrinsic needs neither)."""
        network = self.program.network
        if network is None:
            raise UserError(f"{self.source} is a run of Random, which has no values")
        shape = self.program.marginal.feature_shape
        seen = Augmented(
            obs=jnp.asarray(obs, self.env.obs_dtype),
            theta=jnp.zeros(shape) if theta is None else jnp.asarray(theta, jnp.float32),
            time=jnp.float32(time),
            arm=jnp.float32(self.arm(arm)),
        )
        view = jax.tree.map(lambda x: jnp.asarray(x)[None], network.view(seen))
        return np.asarray(network.apply(self.params, view))[0]

    def act(self, obs: Any, theta: Any = None, time: float = 0.0, arm: str | None = None) -> int:
        """The best action."""
        return int(np.argmax(self.values(obs, theta, time, arm)))

    def save(self, path: str | Path) -> Path:
        """The policy and its settings as one safetensors file."""
        path = Path(path)
        if path.suffix != ".safetensors":
            raise UserError(f"an exported policy must end in .safetensors; got {str(path)!r}")
        path.parent.mkdir(parents=True, exist_ok=True)
        checkpoint.write(path, checkpoint.tensors_of(self.params), self.facts)
        return path


def load(path: str | Path) -> Agent:
    """The agent in an exported file, or in a run's newest good checkpoint."""
    path = Path(path)
    if path.is_file():
        try:
            tensors, facts = checkpoint.read(path)
            return _agent(tensors, facts, str(path))
        except (Damaged, KeyError) as damage:
            raise UserError(f"{path} is no exported policy: {damage}") from damage
    folder = find(path)
    for newest in folder.checkpoints.newest():
        try:
            tensors, facts = checkpoint.read(newest)
            return _agent(*_policy_part(folder, tensors, facts), str(folder))
        except Damaged as damage:
            checkpoint.log.warning("checkpoint %s is not used: %s", newest, damage)
    raise UserError(f"{folder} has no usable checkpoint: `sadapt resume {folder}` trains it to the next one")


def _policy_part(
    folder: RunFolder, tensors: dict[str, np.ndarray], facts: dict[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Of a checkpoint, what an agent needs."""
    params = {name.removeprefix(PARAMS): tensor for name, tensor in tensors.items() if name.startswith(PARAMS)}
    return params, {
        **facts,
        "layout_text": folder.layout.read_text(encoding="utf-8") if folder.layout.exists() else None,
        "h_random": float(tensors["h_random"]),
        "arm_means": tensors["bandit/means"].tolist(),
        "arm_counts": tensors["bandit/counts"].tolist(),
    }


def _agent(tensors: dict[str, np.ndarray], facts: dict[str, Any], source: str) -> Agent:
    if facts["version"] != __version__:
        raise UserError(f"{source} is from sadapt {facts['version']}, this is {__version__}: install that version")
    settings = config.from_dict(facts["settings"], source)
    prog = program(world(settings, layout_text=facts["layout_text"]), settings)
    if prog.network is None:
        return Agent(prog, (), facts, source)
    params = checkpoint.tree_like(jax.eval_shape(prog.network.init, jax.random.key(0)), tensors)
    return Agent(prog, params, facts, source)
