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
    """A world from `sadapt list`, gym:ID or atari:GAME."""
    policy: str = "random"
    """Who acts: random, "always ACTION", or a scripted policy that `sadapt probe` lists for this world."""
    seed: Seed = 0
    """Random seed."""
    steps: Steps = None
    """Maximum number of steps; by default the world's horizon."""
    fps: Count = 10
    """Frames per second."""
    layout: OptionalFile = None
    """Your own map: `#` wall, `A` agent, `G` goal, `b` butterfly, `.` free."""
    obs_key: OptionalName = None
    """Which part of a dictionary observation to use, in Gymnasium worlds that have one."""
    out: OptionalFile = None
    """Where to write the film; by default ENV-POLICY.gif in the current folder."""
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
