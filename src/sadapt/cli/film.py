"""The command `film`: one episode of an agent that has learned nothing, in any world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import arg

from sadapt.cli.common import EnvName, Imports, OptionalFile, OptionalName, require_parts
from sadapt.fields import Count, Seed
from sadapt.registry import import_modules

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
        from sadapt.runs.filming import film

        name = f"{self.env}-{self.policy}.gif".replace(":", "-").replace("/", "-").replace(" ", "-")
        print(
            film(
                self.env,
                self.out or Path(name),
                policy=self.policy,
                seed=self.seed,
                steps=self.steps,
                fps=self.fps,
                layout=self.layout,
                obs_key=self.obs_key,
            )
        )
