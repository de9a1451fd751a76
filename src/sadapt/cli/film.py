"""The command `film`: one episode of an agent that has learned nothing, in any world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sadapt.cli.common import EnvName, Imports, OptionalCount, OptionalFile
from sadapt.cli.flags import changed_flags, parsed_in_world
from sadapt.fields import Count, Seed

FILMED = ("world",)
"""Whose settings matter."""


@dataclass(frozen=True, kw_only=True)
class FilmCommand:
    """Film one episode of a random or scripted agent; `sadapt film ENV --help` shows the world's own settings too."""

    env: EnvName
    """A world from `sadapt list`, gym:ID, atari:GAME, or your own with --import."""
    policy: str = "random"
    """Who acts: random, "always ACTION", or a scripted policy that `sadapt probe` lists for this world."""
    seed: Seed = 0
    """Random seed."""
    steps: OptionalCount = None
    """Maximum number of steps; by default the world's horizon."""
    fps: Count = 10
    """Frames per second."""
    out: OptionalFile = None
    """Where to write the film; by default ENV-POLICY.gif in the current folder."""
    imports: Imports = ()

    @staticmethod
    def parse(words: list[str]) -> FilmCommand:
        """Reads the flags, those of the world's settings among them."""
        return parsed_in_world(FilmCommand, "film", words, {}, FILMED)

    def run(self) -> None:
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
                **changed_flags(self, FILMED),
            )
        )
