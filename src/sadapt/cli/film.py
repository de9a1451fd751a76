"""The command `film`: one episode of an agent that has learned nothing, in any world."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import arg

from sadapt.cli.common import EnvName, Imports, OptionalFile, OptionalName, require_parts
from sadapt.errors import UserError, nearest
from sadapt.fields import Count, Seed
from sadapt.registry import import_modules

if TYPE_CHECKING:
    import numpy as np

    from sadapt.envs.base import AnyEnv, Env, HostEnv, Policy
    from sadapt.motivation.outside import Blind

Steps = Annotated[
    Count | None, tyro.conf.DisallowNone, arg(metavar="INT", aliases=["--horizon"], help_behavior_hint="")
]


@dataclass(frozen=True)
class FilmCommand:
    """Film one episode of a random or scripted agent."""

    env: EnvName
    """A world of `sadapt list`, gym:ID or atari:GAME."""
    policy: str = "random"
    """Who acts: random, "always ACTION", or a policy that `sadapt probe` shows for this world."""
    seed: Seed = 0
    """Seed of every random draw."""
    steps: Steps = None
    """Steps to film at most; the world's horizon if not given."""
    fps: Count = 10
    """Frames per second."""
    layout: OptionalFile = None
    """A map of your own: `#` wall, `A` agent, `G` goal, `b` butterfly, `.` free."""
    obs_key: OptionalName = None
    """Which part of a dictionary observation to see, in Gymnasium worlds that show one."""
    out: OptionalFile = None
    """Where to write the film; ENV-POLICY.gif here if not given."""
    imports: Imports = ()

    def run(self) -> None:
        import_modules(self.imports)
        require_parts(env=self.env)
        from sadapt.envs.base import HostEnv
        from sadapt.film import save

        env = self._made()
        play = _frames_outside if isinstance(env, HostEnv) else _frames
        steps = self.steps or env.horizon
        frames = play(env, _policy(env, self.policy), seed=self.seed, steps=steps)  # type: ignore[arg-type]
        name = f"{self.env}-{self.policy}.gif".replace(":", "-").replace("/", "-").replace(" ", "-")
        print(save(frames, self.out or Path(name), fps=self.fps))

    def _made(self) -> AnyEnv:
        """The world; one that does not say how long its episodes are is filmed for as long as was asked for."""
        from sadapt.composite import all_changed
        from sadapt.envs.registry import make
        from sadapt.training.parts import env_of
        from sadapt.training.settings import Settings

        if self.layout is not None:
            return make(self.env, self.layout)
        given = {"horizon": self.steps, "obs_key": self.obs_key}
        changes = {name: value for name, value in given.items() if value is not None}
        return env_of(all_changed(Settings(world=self.env), changes), {})  # type: ignore[arg-type]


def _policy(env: AnyEnv, name: str) -> Policy | Blind:
    """A policy by the name that `sadapt probe` gives it."""
    from sadapt.envs.base import HostEnv
    from sadapt.motivation import outside
    from sadapt.motivation.baseline import constant_policies, random_policy

    policies: dict[str, Policy | Blind]
    if isinstance(env, HostEnv):
        policies = {"random": outside.uniform(env), **outside.constants(env)}
    else:
        policies = {"random": random_policy(env), **env.scripted, **constant_policies(env)}
    if name not in policies:
        raise UserError(f"unknown policy {name!r} in {env.name!r}: {nearest(name, policies)}")
    return policies[name]


def _frames(env: Env, policy: Policy, *, seed: int, steps: int) -> Iterator[np.ndarray]:
    """Pictures of one episode, the first before any action."""
    import jax
    import jax.numpy as jnp

    from sadapt.keys import from_seed
    from sadapt.motivation.bandits import fixed
    from sadapt.motivation.episode import episodes
    from sadapt.motivation.rollout import advance, begin
    from sadapt.registry import Choice
    from sadapt.training.parts import marginal_of

    marginal = marginal_of(env, Choice("auto"), {})
    rules = episodes(env, marginal, fixed(0), on_death=env.on_death, horizon=steps)
    act = lambda key, episode: policy(key, episode.world, marginal.features(episode.marginal))  # noqa: E731
    step = jax.jit(advance(env, rules, act))
    key_begin, key_play = jax.random.split(from_seed(seed))
    episode = begin(env, rules, key_begin, jnp.zeros((), jnp.int32))
    yield env.render(episode.world)
    for key in jax.random.split(key_play, steps):
        episode, transition = step(key, episode)
        yield env.render(episode.world)
        if transition.closed:
            return


def _frames_outside(env: HostEnv, policy: Blind, *, seed: int, steps: int) -> Iterator[np.ndarray]:
    """The same of a world that is not written in JAX."""
    import jax
    import numpy as np

    from sadapt.keys import from_seed

    key_begin, key_play = jax.random.split(from_seed(seed))
    chance, all_of_them = np.random.default_rng(seed), np.ones(1, bool)
    with closing(env.open(1)) as worlds:
        worlds.restart(key_begin, all_of_them)
        yield worlds.render()
        for key in jax.random.split(key_play, steps):
            answer = worlds.step(key, np.array([policy(chance)]))
            yield worlds.render()
            if answer.terminated[0] and env.on_death == "end":
                return
            if answer.terminated[0]:
                worlds.restart(jax.random.fold_in(key, 1), all_of_them)
