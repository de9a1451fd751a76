"""`examples/own_parts`: six parts of somebody's own, from the command line and from Python, through everything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest
from PIL import Image

from sadapt import api
from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.runs import checkpoint, metrics_file
from sadapt.runs.recorder import Options
from tests.trees import same

EXAMPLES = Path(__file__).parent.parent / "examples"
PARTS = {
    "marginal": "smoothed",
    "feedback": "further",
    "bandit": "wandering",
    "network": "linear",
    "learner": "online",
}
FLAGS = [word for kind, name in PARTS.items() for word in (f"--{kind}", name)]
SIZES = ["--lamps", "4", "--random-episodes", "8", "--horizon", "20", "--num-envs", "8"]
QUIET = Options(tensorboard=False, clock=False)


@pytest.fixture
def own(examples):
    """The examples' parts, under JAX's standard rules."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def sadapt(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sadapt", *words]
    return subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=check, timeout=300)


def policy(folder: Path) -> dict:
    tensors, _ = checkpoint.read(max((folder / "checkpoints").glob("step-*.safetensors")))
    return {name: tensor for name, tensor in tensors.items() if name.startswith("learner/params/")}


def test_trained_killed_resumed_and_swept_from_the_command_line(tmp_path):
    words = ["lamps", "--import", "own_parts", *FLAGS, *SIZES, "--total-timesteps", "300000", "--tensorboard", "off"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    sadapt("train", *words, "--out", str(whole), "--quiet")
    often = ["--checkpoint-interval", "0.001", "--quiet"]
    command = [sys.executable, "-m", "sadapt", "train", *words, "--out", str(cut), *often]
    killed = subprocess.Popen(command, cwd=EXAMPLES)
    while not list(cut.glob("checkpoints/step-*.safetensors")) and killed.poll() is None:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    refused = sadapt("resume", str(cut), check=False)
    assert (refused.returncode, "give --import own_parts" in refused.stderr) == (2, True)
    sadapt("resume", str(cut), "--import", "own_parts", "--quiet")
    assert json.loads((cut / "status.json").read_text())["state"] == "finished"
    same(policy(whole), policy(cut))
    assert json.loads((cut / "config.json").read_text())["settings"]["imports"] == ["own_parts"]

    plan = tmp_path / "plan.toml"
    keys = "\n".join(f'{kind} = "{name}"' for kind, name in PARTS.items())
    plan.write_text(
        f'[[fast]]\nenv = "lamps"\n{keys}\nseed = 1\nwander = [0.1, 0.3]\nlamps = 4\nrandom_episodes = 8\n'
        "num_envs = 8\ntotal_timesteps = 20_000\n"
    )
    sweep = ["sweep", str(plan), "--import", "own_parts", "--out", str(tmp_path / "results"), "--no-estimate"]
    sadapt(*sweep, "--workers", str(min(2, os.cpu_count() or 1)))
    assert len(list((tmp_path / "results").rglob("metrics.csv"))) == 2
    assert "0 to do" in sadapt(*sweep).stdout


def test_evaluated_filmed_and_exported_from_the_command_line(own, tmp_path, capsys):
    run, file, film = tmp_path / "run", tmp_path / "policy.safetensors", tmp_path / "film.gif"
    words = ["lamps", "--import", "own_parts", *FLAGS, *SIZES, "--total-timesteps", "20000", "--tensorboard", "off"]
    assert main(["train", *words, "--out", str(run), "--quiet"]) == 0
    assert main(["export", str(run), "--out", str(file), "--import", "own_parts"]) == 0
    assert main(["watch", str(file), "--steps", "3", "--out", str(film), "--import", "own_parts"]) == 0
    capsys.readouterr()
    assert main(["eval", str(file), "--episodes", "2", "--json", "--import", "own_parts"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["length"]["mean"] == 20
    assert main(["plot", str(run), "--out", str(tmp_path / "c.png")]) == 0
    assert main(["list", "--import", "own_parts"]) == 0
    assert "keep a row of failing lamps lit" in capsys.readouterr().out
    of_ours = ["lamps", "--import", "own_parts", "--lamps", "3"]
    assert main(["probe", *of_ours, "--marginal", "smoothed", "--episodes", "3", "--quiet"]) == 0
    assert main(["film", *of_ours, "--steps", "2", "--out", str(tmp_path / "three.gif")]) == 0
    with Image.open(tmp_path / "three.gif") as three, Image.open(film) as every:
        assert three.size != every.size
    with Image.open(film) as gif:
        assert gif.n_frames >= 3  # type: ignore[attr-defined]


def test_names_objects_and_functions_give_the_same_run(own, tmp_path):
    """The same parts by name, as functions, and as objects where they need not know the run."""
    import own_parts

    from sadapt.motivation.marginals import InputSpec

    world = own_parts.world.lamps("lamps", own_parts.world.LampSettings(lamps=4, horizon=20))
    sizes = {"num_envs": 8, "random_episodes": 8, "total_timesteps": 20_000}
    spec = InputSpec("lamps", world.input_shape, world.obs_dtype, 0, 1)
    given = {
        "names": ("lamps", {**PARTS, "lamps": 4, "horizon": 20}),
        "functions": (world, {
            "marginal": own_parts.marginal.smoothed, "bandit": own_parts.bandit.wandering,
            "feedback": own_parts.feedback.further,
            "network": own_parts.network.linear, "learner": own_parts.learner.online,
        }),
        "objects": (world, {
            "marginal": own_parts.marginal.smoothed(spec), "bandit": own_parts.bandit.wandering(2),
            "feedback": own_parts.feedback.further(),
            "network": own_parts.network.linear, "learner": own_parts.learner.online,
        }),
    }  # fmt: skip
    runs = {}
    for way, (env, parts) in given.items():
        runs[way] = api.train(env, **parts, **sizes, out=tmp_path / way, options=QUIET)
    texts = [run.metrics.read_text() for run in runs.values()]
    assert texts[0] == texts[1] == texts[2]
    for row in metrics_file.read(runs["names"].metrics):
        assert row["feedback"] >= max(row["feedback_entropy"], row["feedback_surprise"])

    _, functions = given["functions"]
    with pytest.raises(UserError, match="pass it again"):
        api.load(runs["functions"].path)
    again = api.evaluate(runs["functions"].path, episodes=2, env=world, **functions)
    assert again.measures == api.evaluate(runs["names"].path, episodes=2).measures
    file = api.export(runs["objects"].path, tmp_path / "p.safetensors", env=world, **functions)
    assert api.load(file, env=world, **functions).act([[[0], [1], [0], [1]]], [[[0.5]] * 4]) in range(5)
    film = api.watch(runs["objects"].path, tmp_path / "f.gif", env=world, parts=functions, steps=2)
    assert film.exists()
    assert api.resume(runs["objects"].path, env=world, **functions).path == runs["objects"].path
    assert api.probe(world, episodes=2, marginal=own_parts.marginal.smoothed).env == "lamps"


def test_a_strangers_file_imports_nothing(own, tmp_path):
    (tmp_path / "trap.py").write_text("raise SystemExit('the trap was imported')")
    run = api.train("tetris", objective="random", total_timesteps=2_000, out=tmp_path / "run", options=QUIET)
    record = json.loads(run.config.read_text())
    record["settings"]["imports"] = ["trap"]
    run.config.write_text(json.dumps(record))
    os.chdir(tmp_path)
    for call in (api.load, api.resume, api.evaluate):
        with pytest.raises(UserError, match="a file alone imports nothing"):
            call(run.path)
    assert "trap" not in sys.modules


BROKEN = """
import jax.numpy as jnp
from sadapt.envs import Env, Step
from sadapt.learners.networks import Network
from sadapt.motivation.bandits import ucb
from sadapt.motivation.feedback import Feedback
from sadapt.motivation.marginals import bernoulli
from sadapt.registry import register
import own_parts

def shape(spec, xp=None):
    return bernoulli(spec.shape)._replace(feature_shape=(3,))

def types(spec, xp=None):
    good = bernoulli(spec.shape)
    return good._replace(update=lambda state, obs: (good.update(state, obs), jnp.ones(())))

def nan(spec, xp=None):
    return bernoulli(spec.shape)._replace(entropy=lambda state: jnp.float32(jnp.nan))

def raising(spec, xp=None):
    return bernoulli(spec.shape)._replace(log_prob=lambda state, obs: 1 / 0)

def nothing(spec, xp=None):
    return None

def many(xp=None):
    return Feedback(lambda measures, random, arm: jnp.stack([measures["entropy"], measures["surprise"]]), "entropy")

def undefined(xp=None):
    return Feedback(lambda measures, random, arm: jnp.log(-measures["entropy"]), "entropy")

def undefined_down(xp=None):
    return Feedback(lambda measures, random, arm: measures["entropy"] / (1 - arm), "entropy")

def unknown(xp=None):
    return Feedback(lambda measures, random, arm: measures["enthalpy"], "enthalpy")

def branching(xp=None):
    return Feedback(lambda measures, random, arm: jnp.float32(1) if arm else jnp.float32(2), "entropy")

def nameless(xp=None):
    return Feedback(lambda measures, random, arm: measures["entropy"], None)

def distant():
    return lambda measures, random, arm: 1.0

def high(arms, xp=None):
    return ucb(arms)._replace(select=lambda draws, state: (state, jnp.int32(7)))

def forgetful(arms, xp=None):
    return ucb(arms)._replace(update=lambda state, arm, f: state.means)

def wide(spec):
    return Network(lambda key: {}, lambda seen: seen.obs, lambda params, views: jnp.zeros((len(views), 99)))

def blind(spec):
    return Network(lambda key: {}, lambda seen: seen.time, lambda p, v: jnp.full((len(v), spec.outputs), jnp.nan))

def drifting(task):
    good = own_parts.learner.online(task)
    return good._replace(update=lambda k, s, v, n: (s._replace(params=()), {"loss": jnp.float32(0)}))

def floating(task):
    good = own_parts.learner.online(task)
    def act(key, state, views, step):
        state, action = good.act(key, state, views, step)
        return state, action.astype(jnp.float32)
    return good._replace(act=act)

def lying(name):
    good = own_parts.world.lamps("lying")
    return own_parts.world.lamps("lying").__class__(**{**vars(good), "obs_shape": (1, 7, 1), "name": name})

for kind, made in (("marginal", shape), ("marginal", types), ("marginal", nan), ("marginal", raising),
                   ("marginal", nothing), ("feedback", many), ("feedback", undefined), ("feedback", undefined_down),
                   ("feedback", unknown), ("feedback", branching), ("feedback", nameless), ("feedback", distant),
                   ("bandit", high), ("bandit", forgetful), ("network", wide),
                   ("network", blind), ("learner", drifting), ("learner", floating), ("env", lying)):
    register(kind, made.__name__, made)
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lamps", "--marginal", "shape"], "feature_shape says (3,)"),
        (["lamps", "--marginal", "types"], "update changes the types of its state"),
        (["lamps", "--marginal", "nan"], "entropy gave nan; it must be one finite number"),
        (["lamps", "--marginal", "raising"], "raised ZeroDivisionError"),
        (["lamps", "--marginal", "nothing"], "its factory made None, not a Marginal"),
        (["lamps", "--feedback", "many"], "hear gave float32[2] for an episode; it must be one finite number"),
        (["lamps", "--feedback", "undefined"], "hear gave nan for an episode; it must be one finite number"),
        (["lamps", "--feedback", "undefined_down"], "hear gave inf for an episode; it must be one finite number"),
        (["lamps", "--feedback", "unknown"], "raised KeyError ('enthalpy')"),
        (["lamps", "--feedback", "branching"], "eval_shape raised TracerBoolConversionError"),
        (["lamps", "--feedback", "nameless"], "of is None; it must be the name of a measure"),
        (["lamps", "--feedback", "distant"], "not a Feedback"),
        (["lamps", "--bandit", "high"], "an int32 from 0 to 1"),
        (["lamps", "--bandit", "forgetful"], "update changes the types of its state"),
        (["lamps", "--network", "wide"], "it must give float32[batch, 7]"),
        (["lamps", "--network", "blind"], "values that are not finite"),
        (["lamps", "--learner", "drifting"], "update changes the types of the state"),
        (["lamps", "--learner", "floating"], "they must be int32["),
        (["lying"], "reset gives an observation uint8[1, 6, 1], but the Env says uint8[1, 7, 1]"),
        (["lamps", "--marginal", "smooth"], "did you mean 'smoothed'?"),
        (["lamps", "--bandit", "wanderer"], "did you mean 'wandering'?"),
        (["lamps", "--feedback", "farther"], "did you mean 'further'?"),
        (["lamp"], "did you mean 'lamps'?"),
        (["lamps", "--import", "no_such_module"], "No module named 'no_such_module'"),
        (["lamps", "--import", "twice"], "is already registered"),
    ],
)
def test_what_is_wrong_with_a_part_costs_a_paragraph(own, tmp_path, capsys, monkeypatch, words, said):
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "twice.py").write_text(
        "from sadapt.registry import register\ndef mine(arms): ...\nregister('bandit', 'ucb', mine)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    imports = ["--import", "own_parts", "--import", "broken"]
    assert main(["train", *words, *imports, "--random-episodes", "2", "--out", str(tmp_path / "run"), "--quiet"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "run").exists()
    sys.modules.pop("broken", None)
