"""Atari through ale-py's vector environment, preprocessed as Mnih et al. (2015) do it, on screens of any size."""

from __future__ import annotations

import importlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Eye, HostEnv, Kind, Step, WorldFailed
from sadapt.envs.table import AtariSettings
from sadapt.errors import UserError, installing, nearest
from sadapt.registry import find

Array = jax.Array
SIDE, SKIP, STACK = 84, 4, 4
"""As Mnih et al. have it; `fast` sees a smaller side."""
PICTURE = 252
"""Side of what is shown in films, about."""
LONGEST = 27_000
"""Steps after which every game is stopped: half an hour of frames."""
HORIZON = 2_048
"""Freeway's own clock ends a game after about 2,045 actions, each held for four frames."""


def freeway(name: str = "atari-freeway", settings: AtariSettings = AtariSettings()) -> HostEnv:
    """Freeway, the paper's."""
    hints = find("env", "atari-freeway").hints
    return atari("freeway", hints["actions"], name, settings, horizon=HORIZON, about=hints["about"])


def game(name: str, settings: AtariSettings = AtariSettings()) -> HostEnv:
    """Any game of ale-py by its ROM's name: `atari:pong`, `atari:montezuma_revenge` or `atari:MontezumaRevenge`."""
    title = rom(name.partition(":")[2])
    return atari(title, minimal_actions(title), name, settings, horizon=LONGEST, about=f"{title} on Atari")


def rom(given: str) -> str:
    """The ROM's name, also from Gymnasium's spelling of it."""
    known = _ale_py("ale_py.roms").get_all_rom_ids()
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", given).lower().replace("-", "_")
    if spelled not in known:
        raise UserError(f"unknown Atari game {given!r}: {nearest(spelled, known)}")
    return spelled


def minimal_actions(title: str) -> tuple[str, ...]:
    """What a game's joystick can do, by name."""
    ale_py = _ale_py("ale_py")
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.loadROM(_ale_py("ale_py.roms").get_rom_path(title))
    return tuple(action.name.lower() for action in ale.getMinimalActionSet())


def _ale_py(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(f"Atari needs ale-py: {installing('atari')}") from error


def atari(
    title: str, actions: tuple[str, ...], name: str, settings: AtariSettings, *, horizon: int, about: str
) -> HostEnv:
    """Grey frames of `screen_size` squared, four at a time for the policy, one of `frame_size` for the marginal."""
    side, size = settings.screen_size, settings.frame_size
    if side % size:
        possible = ", ".join(str(each) for each in range(1, side + 1) if side % each == 0)
        raise UserError(f"--frame-size must divide {side}, the --screen-size ({possible}); got {size}")
    block = side // size

    def look(obs: Array) -> Array:
        """Means of blocks, added up as whole numbers, which XLA does ten times as fast."""
        cells = obs.reshape(*obs.shape[:-3], size, block, size, block, 1)
        return jnp.sum(cells, axis=(-4, -2), dtype=jnp.int32) / (255 * block * block)

    return HostEnv(
        name=name,
        obs_shape=(side, side, 1),
        obs_dtype=np.uint8,
        channels=("grey",),
        actions=actions,
        horizon=horizon,
        marginal_channels=(0,),
        high=255.0,
        stack=STACK,
        eye=Eye(look, (size, size, 1)),
        kinds=(Kind(name, (size, size, 1), np.float32, 0.0, 1.0),),
        about=about,
        open=lambda num_envs: AtariWorlds(title, num_envs, side, settings.noop_max),
        aside=True,
    )


class AtariWorlds:
    """Games side by side, in ale-py's own threads."""

    def __init__(self, title: str, num_envs: int, side: int, noop_max: int) -> None:
        self._title = title
        self._worlds: Any = _ale_py("ale_py.vector_env").AtariVectorEnv(
            title,
            num_envs,
            img_height=side,
            img_width=side,
            frameskip=SKIP,
            stack_num=1,
            noop_max=noop_max,
            use_fire_reset=False,
            episodic_life=False,
            repeat_action_probability=0.0,
        )
        self._latest = np.zeros((num_envs, side, side, 1), np.uint8)

    def step(self, key: Array, actions: np.ndarray) -> Step:
        try:
            obs, reward, ended, cut, _ = self._worlds.step(np.ascontiguousarray(actions, np.int64))
        except Exception as error:
            raise WorldFailed(
                f"atari {self._title} raised {type(error).__name__} ({error}) on {actions.tolist()}"
            ) from error
        self._latest = np.moveaxis(obs, 1, -1)
        return Step(self._latest, np.asarray(reward, np.float32), ended | cut, {})  # type: ignore[arg-type]

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        seeds = np.asarray(jax.random.randint(key, which.shape, 0, np.iinfo(np.int32).max))
        obs, _ = self._worlds.reset(seed=seeds[which], options={"reset_mask": np.asarray(which, bool)})
        self._latest = np.moveaxis(obs, 1, -1)
        return self._latest

    def render(self) -> np.ndarray:
        """The first game's screen as the agent sees it, larger."""
        times = max(1, PICTURE // len(self._latest[0]))
        return np.kron(self._latest[0], np.ones((times, times, 3), np.uint8))

    def close(self) -> None:
        self._worlds.close()
