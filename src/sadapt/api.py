"""What the commands do, as calls: `from sadapt import train, load, evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

from sadapt.composite import all_changed
from sadapt.envs.base import AnyEnv, Env, HostEnv
from sadapt.envs.registry import make_any
from sadapt.errors import UserError
from sadapt.fields import Count, checked, field_of, fields_of
from sadapt.motivation import probe as probing
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.probe import Report
from sadapt.options import documented
from sadapt.registry import KINDS, OWN, Own, import_modules, own_name, register
from sadapt.report import curves
from sadapt.runs import evaluation, session, watching
from sadapt.runs.agent import Agent
from sadapt.runs.agent import load as load_agent
from sadapt.runs.display import chosen
from sadapt.runs.evaluation import Evaluation
from sadapt.runs.filming import film as film_world
from sadapt.runs.folder import RunFolder, find
from sadapt.runs.listing import Comparison, Listed
from sadapt.runs.player import Player
from sadapt.runs.recorder import Display, Options
from sadapt.studies import (
    adaptation,
    bench,
    claims,
    compare,
    figures,
    list_runs,
    list_worlds,
    list_zoo,
    seasons,
    sweep,
    table,
    write_report,
)
from sadapt.training.memory import require_episodes
from sadapt.training.parts import env_of, marginal_of, no_world
from sadapt.training.presets import preset as preset_settings
from sadapt.training.settings import Settings

__all__ = [
    "Agent",
    "Comparison",
    "Evaluation",
    "Listed",
    "Options",
    "Player",
    "RunFolder",
    "Settings",
    "adaptation",
    "bench",
    "claims",
    "compare",
    "evaluate",
    "export",
    "figures",
    "film_world",
    "list_runs",
    "list_worlds",
    "list_zoo",
    "load",
    "plot",
    "probe",
    "register",
    "resume",
    "seasons",
    "settings",
    "sweep",
    "table",
    "train",
    "watch",
    "write_report",
]
Run = str | Path | RunFolder
"""A folder of a run, what `train` returned, an exported policy, or `zoo:NAME`."""
Shown = Display | Literal["auto"] | None
"""A function called with a run's progress; `auto` shows a bar on terminals and in notebooks; None shows nothing."""


def _own(**given: Any) -> tuple[dict[str, str], Own]:
    """Names of parts, and those that were handed over as objects or functions, which have a name made for them."""
    named: dict[str, str] = {}
    own: dict[str, Any] = {}
    for kind, part in given.items():
        if part is None:
            continue
        if isinstance(part, str):
            named[kind] = part
        else:
            own[kind] = part
            named[kind] = own_name(part)
    return named, own


@documented
def settings(env: str, *, preset: str = "fast", imports: str | tuple[str, ...] = (), **changes: Any) -> Settings:
    """A preset for a world, with any setting changed by its name: `settings("tetris", seed=3, learning_rate=1e-3)`."""
    given = (imports,) if isinstance(imports, str) else imports
    modules = checked(fields_of(Settings)["imports"], "imports", given)
    import_modules(modules)
    parts = {kind: changes.pop(kind) for kind in KINDS if kind in changes}
    found = preset_settings(env, preset, stream=changes.get("stream") is True, **parts)
    return all_changed(found, {**changes, "imports": modules} if modules else changes)


@overload
def train(env: str | AnyEnv | Settings, *, num_seeds: int, **options: Any) -> list[RunFolder]: ...
@overload
def train(env: str | AnyEnv | Settings, **options: Any) -> RunFolder: ...
@documented
def train(
    env: str | AnyEnv | Settings,
    *,
    preset: str = "fast",
    marginal: Any = None,
    feedback: Any = None,
    bandit: Any = None,
    network: Any = None,
    learner: Any = None,
    start_from: Run | Agent | None = None,
    num_seeds: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    options: Options | None = None,
    display: Shown = "auto",
    **changes: Any,
) -> RunFolder | list[RunFolder]:
    """Trains one run into a folder, as `sadapt train` does; returns the folder, which every other call accepts.

    env: a world from `sadapt.list_worlds()`, `gym:ID`, `atari:GAME`, an `Env` or `HostEnv`, or whole `Settings`.
    preset: where the defaults come from: `fast` (PQN, minutes on a core) or `paper` (the paper's DQN).
    marginal, feedback, bandit, network, learner: a part by name, as an object (`Marginal`, `Feedback`, `Bandit`,
        `Network`, `Learner`) or as a function that makes one.
    start_from: a run, an exported policy, an `Agent` or `zoo:NAME` whose network training starts from.
    num_seeds: number of seeds to train at once, starting from `seed`; then a list of folders is returned.
    out: the run's folder; by default runs/ENV/OBJECTIVE-LEARNER-sSEED.
    overwrite: replace an existing run.
    options: how the run is stored (`sadapt.Options`): checkpoints, TensorBoard, Weights & Biases.
    display: a function called with the run's progress before the first step and after every chunk of steps; `auto`
        shows a bar on terminals and in notebooks, None nothing.

    Ctrl-C saves the run and raises `sadapt.errors.Stop`. Every other option is a setting, by its name; what is not
    given is as the preset, the world and the parts have it:
    """
    named, own = _own(marginal=marginal, feedback=feedback, bandit=bandit, network=network, learner=learner)
    if start_from is not None:
        changes = {**changes, "start_from": start_from.source if isinstance(start_from, Agent) else str(start_from)}
    if isinstance(env, Settings):
        wanted = all_changed(env, {**named, **changes})
    else:
        world, own_world = _own(env=env)
        own = {**own, **own_world}
        if isinstance(env, HostEnv):
            changes = {"num_envs": 8, **changes}
        wanted = settings(world["env"], preset=preset, **named, **changes)
    seeds = 1 if num_seeds is None else num_seeds
    with chosen(wanted, display) as shown:
        folders = session.train(
            wanted, out, num_seeds=seeds, overwrite=overwrite, options=options, display=shown, own=own
        )
    return folders[0] if num_seeds is None else folders


def resume(
    run: Run,
    *,
    total_timesteps: int | None = None,
    options: Options | None = None,
    display: Shown = "auto",
    trust: bool = False,
    env: AnyEnv | None = None,
    **parts: Any,
) -> RunFolder:
    """Continues a run from its last checkpoint, as `sadapt resume` does.

    `total_timesteps` extends it beyond its planned end; schedules stay as planned. Objects that were passed to `train`
    must be passed again, by their kind. `trust` imports the modules that the run names, if they have not been imported.
    """
    _, own = _own(env=env, **_kinds(parts))
    folder = find(run)
    with chosen(folder.read_settings(trust=trust), display) as shown:
        return session.resume(
            folder.path, options=options, display=shown, own=own, trust=trust, total_timesteps=total_timesteps
        )


def load(run: Run, *, trust: bool = False, env: AnyEnv | str | None = None, **parts: Any) -> Agent:
    """Loads the agent in a run's folder, in an exported file or in the zoo; objects and `trust` as in `resume`."""
    own = _own(env=make_any(env) if isinstance(env, str) else env, **_kinds(parts))[1]
    return load_agent(run, trust=trust, own=own)


def _kinds(parts: dict[str, Any]) -> dict[str, Any]:
    for kind in parts:
        if kind not in KINDS:
            raise UserError(f"unknown kind of part {kind!r}: choose one of: {', '.join(KINDS)}")
    return parts


def evaluate(
    run: Run | Agent,
    *,
    episodes: int = 100,
    arm: str | None = None,
    seed: int = 0,
    epsilon: float = 0.0,
    random: bool = True,
    env: AnyEnv | str | None = None,
    trust: bool = False,
    **parts: Any,
) -> Evaluation:
    """Plays whole episodes, greedily except for a share `epsilon` of random actions, as `sadapt eval` does.

    A random agent plays as many, and its measures are in `.random`, unless `random` is false.
    `env` is another world with the same shapes, or the object that the agent was trained in.
    """
    agent = run if isinstance(run, Agent) else load(run, trust=trust, env=env, **parts)
    return evaluation.evaluate(agent, episodes=episodes, arm=arm, seed=seed, epsilon=epsilon, random=random)


def watch(
    run: Run | Agent,
    path: str | Path,
    *,
    compare: Run | Agent | None = None,
    arm: str | None = None,
    seed: int = 0,
    steps: int | None = None,
    fps: int = 12,
    epsilon: float = 0.0,
    env: AnyEnv | str | None = None,
    trust: bool = False,
    parts: Own | None = None,
) -> Path:
    """Films one episode (GIF or MP4), as `sadapt watch` does; `compare` shows a second agent next to it."""
    both = [
        each if isinstance(each, Agent) else load(each, trust=trust, env=env, **(parts or {}))
        for each in (run, compare)
        if each is not None
    ]
    second = both[1] if len(both) > 1 else None
    return watching.watch(both[0], path, compare=second, arm=arm, seed=seed, steps=steps, fps=fps, epsilon=epsilon)


def plot(runs: Run | Sequence[Run], out: str | Path | None = None, *, each: bool = False) -> Path:
    """Draws the runs of one world into one figure (.png, .svg or .pdf), as `sadapt plot` does."""
    several = [runs] if isinstance(runs, str | Path | RunFolder) else runs
    return curves.plot([Path(each) for each in several], out, each=each)


def export(run: Run | Agent, path: str | Path, *, trust: bool = False, **parts: Any) -> Path:
    """Writes policy and settings into one safetensors file, as `sadapt export` does."""
    return (run if isinstance(run, Agent) else load(run, trust=trust, **parts)).save(path)


def probe(
    env: str | AnyEnv,
    *,
    marginal: Any = "auto",
    layout: str | Path | None = None,
    episodes: int = 100,
    seed: int = 0,
    on_death: str | None = None,
    on_progress: probing.Progress | None = None,
    **changes: Any,
) -> Report:
    """Measures in which direction a world's entropy can be pushed further, as `sadapt probe` does.

    `changes` are settings of the marginal and, if the world is given by name, of the world.
    """
    named, own = _own(marginal=marginal)
    world: AnyEnv
    if isinstance(env, str):
        mapped = {} if layout is None else {"layout": str(layout)}
        wanted = settings(env, **named, **changes, **mapped)
        world = env_of(wanted, {})
    elif isinstance(env, Env | HostEnv):
        wanted, world = all_changed(Settings(world=OWN + env.name), {**named, **changes}), env  # type: ignore[arg-type]
    else:
        raise no_world(env)
    found: Marginal = marginal_of(world, wanted.marginal, own)
    episodes = checked(field_of(Count), "episodes", episodes)
    if isinstance(world, Env):
        require_episodes(world, found, episodes)
    return probing.probe(world, found, episodes=episodes, seed=seed, on_death=on_death, on_progress=on_progress)
