"""Gymnasium knows the worlds as soon as both packages are imported, in whichever order."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

import sadapt
from sadapt.envs import make
from sadapt.gym.registration import register_all
from tests.gym.ids import ID_OF, IDS, WORLDS

COUNT = "sum(id.startswith('sadapt/') for id in gymnasium.registry)"


def printed(code: str) -> list[str]:
    """What a process of its own prints, in which a warning is an error."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    "imports",
    [
        "import sadapt, gymnasium",
        "import gymnasium, sadapt",
        "import sadapt; from gymnasium import spaces; import gymnasium",
        "import sadapt; import gymnasium.vector",
        "import sadapt.registry, sadapt.envs; import gymnasium",
    ],
)
def test_importing_both_registers_in_either_order_and_leaves_jax_alone(imports):
    assert printed(f"import sys; {imports}; print({COUNT}, 'jax' in sys.modules)") == ["16", "False"]


def test_importing_the_package_leaves_gymnasium_alone():
    assert printed("import sys, sadapt; print('gymnasium' in sys.modules)") == ["False"]


def test_gymnasium_is_itself_after_being_waited_for():
    """Its loader and its spec are those that Python would have found, and nobody waits any longer."""
    code = (
        "import sys, sadapt, gymnasium, importlib.machinery as machinery\n"
        "waiting = [finder for finder in sys.meta_path if type(finder).__module__.startswith('sadapt')]\n"
        "print(type(gymnasium.__loader__).__name__, gymnasium.__spec__.loader is gymnasium.__loader__, len(waiting))\n"
    )
    assert printed(code) == ["SourceFileLoader", "True", "0"]


def test_a_world_can_be_made_when_the_package_came_first():
    code = "import sadapt, gymnasium\nenv = gymnasium.make('sadapt/Tetris-v0')\nprint(*env.reset(seed=0)[0].shape)\n"
    assert printed(code) == ["10", "4", "2"]


@pytest.mark.parametrize("name", WORLDS)
def test_the_ids_agree_with_the_worlds(name):
    world, id = make(name), ID_OF[name]
    assert world.name == name
    assert gymnasium.spec(id).max_episode_steps == world.horizon
    camel = "".join(part.capitalize() for part in name.split("-")).replace("Minatar", "MinAtar")
    assert id == f"sadapt/{camel}-v0"


def test_registering_again_is_silent():
    before = {id: gymnasium.spec(id) for id in IDS}
    register_all()
    assert {id: gymnasium.spec(id) for id in IDS} == before
    assert sadapt.__version__
