"""From names to objects: the parts that a run's settings ask for, the only place that looks names up."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sadapt.envs.base import AnyEnv, Env, Facts, HostEnv
from sadapt.envs.registry import make_any
from sadapt.errors import UserError
from sadapt.fields import MOST
from sadapt.learners.base import Learner, Payment, Task
from sadapt.learners.idle import idle
from sadapt.learners.networks import Network, Spec, per_arm
from sadapt.motivation.bandits import Bandit, patient
from sadapt.motivation.building import build_bandit, build_feedback, build_marginal, build_normaliser
from sadapt.motivation.episode import EpisodeRules, episodes
from sadapt.motivation.feedback import Feedback
from sadapt.motivation.inputs import input_spec
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.marginals.forgetting import MemorySettings
from sadapt.motivation.normalisation import Normaliser, unnormalised
from sadapt.motivation.objectives import ARMS, OBJECTIVES, Objective, payment
from sadapt.motivation.stream import Stretches, stream
from sadapt.registry import OWN, Choice, Own, called, find, is_foreign, made
from sadapt.training import contracts
from sadapt.training.settings import MotivationSettings, Settings

CHUNK, CHUNK_OUTSIDE = 16_384, 1_024
"""Environment steps between looks at the clock, about half a second's worth in JAX and outside of it."""


GROUPS = 8
"""Streams side by side in a world with regimes, if nothing is asked for."""


class Sizes(NamedTuple):
    """How much of everything."""

    num_envs: int
    """Worlds side by side that are learned in."""
    total_steps: int
    """Environment steps of the run."""
    planned_steps: int
    """Environment steps that schedules go by; others than the run's in a run that was extended."""
    random_episodes: int
    """Episodes of random play that measure the baseline."""
    rows_every: int | None
    """Environment steps between rows of metrics; None leaves it to the length of the run."""


class Parts(NamedTuple):
    """Everything that a training program is composed of, beside its world."""

    objective: Objective
    marginal: Marginal
    bandit: Bandit
    feedback: Feedback
    on_death: str
    rules: EpisodeRules
    normaliser: Normaliser
    task: Task
    """What the learner is told; its network among it."""
    learner: Learner
    sizes: Sizes


def parts(env: AnyEnv, settings: Settings, own: Own | None = None) -> Parts:
    """The parts that the settings name, or that were handed over in their place."""
    own, row, wanted = own or {}, objective_of(settings), settings.motivation
    horizon = settings.horizon or env.horizon
    memory = memory_of(horizon, wanted)
    marginal = marginal_of(env, settings.marginal, own, memory)
    bandit = bandit_of(env, row, settings, own)
    feedback = feedback_of(env, settings.feedback, own)
    on_death = env.on_death if wanted.on_death == "auto" else wanted.on_death
    ends: Any = {"feedback": feedback, "on_death": on_death, "horizon": horizon, "death_is_terminal": not row.intrinsic}
    if wanted.stream:
        stretches = stretches_of(row, env, settings)
        rules = stream(env, marginal, bandit, stretches=stretches, **ends)
        # Regimes add to every reward, and what is added must fade; in units of the random agent they do not.
        fades = math.inf if stretches.relative else remembered(horizon, wanted)
        normaliser = build_normaliser(row, stretches.refill or 1, wanted, half_life=fades, cyclic=True)
    else:
        rules = episodes(env, marginal, bandit, horizon_is_terminal=wanted.horizon_is_terminal(row), **ends)
        normaliser = build_normaliser(row, rules.horizon, wanted)
    sizes = Sizes(
        num_envs=settings.num_envs,
        total_steps=settings.total_timesteps,
        planned_steps=settings.planned,
        random_episodes=wanted.random_episodes,
        rows_every=settings.log_interval,
    )
    theta = marginal.feature_shape if row.sees_theta else None
    task = Task(
        env=env,
        marginal=marginal,
        horizon=rules.horizon,
        clock=rules.clock,
        refill=None if rules.stream is None else rules.stream.refill,
        network=partial(network_of, env, theta, settings, own, per_arm_networks(settings)),
        payment=paid_by(row, normaliser),
        num_envs=sizes.num_envs,
        total_steps=sizes.planned_steps,
        last_step=sizes.total_steps,
        chunk_steps=CHUNK_OUTSIDE if isinstance(env, HostEnv) else CHUNK,
    )
    learner = idle(task) if row.reward is None else made("learner", Learner, settings.learner, own, task)
    _require_countable(sizes.total_steps, learner.chunk_steps)
    return Parts(
        objective=row,
        marginal=marginal,
        bandit=bandit,
        feedback=feedback,
        on_death=on_death,
        rules=rules,
        normaliser=normaliser,
        task=task,
        learner=learner,
        sizes=sizes,
    )


def memory_of(horizon: int, wanted: MotivationSettings) -> MemorySettings:
    """What the marginal forgets: as the settings ask for, and in a stream half of it in half a horizon."""
    asked = MemorySettings(wanted.half_life, wanted.window)
    if not wanted.stream or asked.half_life is not None or asked.window is not None:
        return asked
    return MemorySettings(half_life=max(horizon / 2, 1.0))


def stretches_of(row: Objective, env: AnyEnv, settings: Settings) -> Stretches:
    """How a stream is cut into decisions, as long as what is remembered; where it is refilled, from one to the next."""
    horizon, wanted, groups = settings.horizon or env.horizon, settings.motivation, groups_of(env, settings)
    half_life = remembered(horizon, wanted)
    refill = wanted.refill or (horizon if env.runs_down else None)
    return Stretches(
        steps=wanted.stretch or refill or (1 if math.isinf(half_life) else round(half_life)),
        random_envs=groups * wanted.random_envs,
        scouts=scouts_of(row, env, settings),
        groups=groups,
        stay=wanted.stay,
        relative=wanted.relative and row.reward == "surprise",
        refill=refill,
    )


def groups_of(env: AnyEnv, settings: Settings) -> int:
    """Streams side by side: as many as are asked for, or as can be where nothing is; one without regimes to share."""
    wanted, worlds = settings.motivation.groups, settings.num_envs
    if not isinstance(env, Env) or env.reset_in is None:
        return 1
    if wanted is None:
        return max(number for number in range(1, GROUPS + 1) if worlds % number == 0)
    if worlds % wanted:
        raise UserError(
            f"--groups {wanted} must divide the parallel worlds, of which there are {worlds}: change it or --num-envs"
        )
    return wanted


def scouts_of(row: Objective, env: AnyEnv, settings: Settings) -> int:
    """Worlds of each arm and group that keep to it, where a bandit chooses between them for the others."""
    scouts, worlds = settings.motivation.scouts if row.adaptive else 0, settings.num_envs // groups_of(env, settings)
    if scouts and len(ARMS) * scouts >= worlds:
        raise UserError(
            f"--scouts {scouts} takes {len(ARMS) * scouts} of the {worlds} parallel worlds, and none is "
            "left to choose for: lower it, or raise --num-envs"
        )
    return scouts


def remembered(horizon: int, wanted: MotivationSettings) -> float:
    """Steps that the marginal's memory goes back, about: its half-life or its window."""
    memory = memory_of(horizon, wanted)
    return memory.half_life or memory.window or math.inf


def objective_of(settings: Settings) -> Objective:
    """The run's agent; the task's may be shown what those see that are paid by surprise, as if on one of their arms."""
    row = OBJECTIVES[settings.objective]
    if settings.as_arm == "auto":
        return row
    if row.reward != "extrinsic":
        raise UserError(f"--as-arm is only for the objective extrinsic: leave it out with {settings.objective}")
    return row._replace(sees_theta=True, arm=ARMS.index(settings.as_arm))


def per_arm_networks(settings: Settings) -> bool:
    """Whether every arm has a network of its own."""
    return OBJECTIVES[settings.objective].adaptive and settings.arms == "apart"


def _require_countable(total: int, chunk: int) -> None:
    """Refuses a run whose last step, at the end of a chunk, 32 bits do not count."""
    largest = MOST // chunk * chunk
    if not largest:
        raise UserError(f"{chunk} steps would be taken at a time, but at most {MOST} can be counted: lower --num-envs")
    if total > largest:
        raise UserError(
            f"--total-timesteps must be at most {largest} here, where {chunk} steps are taken at a time; got {total}"
        )


def at_random(given: Parts) -> Parts:
    """The same for an agent that acts uniformly, whose episodes are measured alike."""
    return given._replace(objective=OBJECTIVES["random"], normaliser=unnormalised(), learner=idle(given.task))


def no_world(given: Any) -> UserError:
    """The refusal of what is not a world; an environment of Gymnasium's is told how to become one."""
    hint = ": register it with gymnasium.register and give its id as 'gym:ID'"
    return UserError(
        f"env is {given!r}; it must be the name of a world, an Env or a HostEnv"
        + (hint if all(hasattr(given, each) for each in ("reset", "step", "render")) else "")
    )


def env_of(settings: Settings, own: Own) -> AnyEnv:
    """The run's world: as it was handed over, or by its name."""
    if "env" in own:
        env = own["env"]
        if not isinstance(env, Env | HostEnv):
            raise no_world(env)
    elif settings.env.startswith(OWN):
        raise UserError(
            f"this run's world was passed in Python ({settings.env}) and is not registered: pass it again "
            "(env=...), or register it under a name and train again"
        )
    elif not find("env", settings.env).foreign:
        return make_any(settings.env, settings.world.settings)
    else:
        env = called("world", settings.env, make_any, settings.env, settings.world.settings)
    if isinstance(env, Env):
        contracts.check_env(env)
    return env


def marginal_of(env: Facts, choice: Choice, own: Own, memory: MemorySettings = MemorySettings()) -> Marginal:
    """The run's marginal, over what the world shows it."""
    marginal = build_marginal(input_spec(env), choice, own, memory)
    if is_foreign("marginal", choice, own):
        contracts.check_marginal(choice.name, marginal, env)
    return marginal


def feedback_of(env: Facts, choice: Choice, own: Own) -> Feedback:
    """What the run's bandit hears."""
    feedback = build_feedback(choice, own)
    if is_foreign("feedback", choice, own):
        contracts.check_feedback(choice.name, feedback, env, len(ARMS))
    return feedback


def bandit_of(env: AnyEnv, row: Objective, settings: Settings, own: Own) -> Bandit:
    """The run's bandit, as patient as the settings ask for."""
    bandit = build_bandit(row, settings.bandit, own)
    if not row.adaptive:
        return bandit
    if is_foreign("bandit", settings.bandit, own):
        contracts.check_bandit(settings.bandit.name, bandit, len(ARMS))
    wanted = settings.motivation
    if wanted.stream:
        ahead = settings.planned / (stretches_of(row, env, settings).steps * groups_of(env, settings))
    else:
        ahead = settings.planned / (settings.horizon or env.horizon)
    return patient(bandit, round(wanted.bandit_patience * ahead))


def network_of(
    env: Facts, theta: tuple[int, ...] | None, settings: Settings, own: Own, apart: bool, outputs: int
) -> Network:
    """The run's network with so many outputs, or one per arm."""
    spec = Spec(
        source=env.name,
        obs_shape=env.policy_shape,
        theta_shape=theta,
        outputs=outputs,
        agent_channel=env.agent_channel,
        scale=1 / env.high if np.dtype(env.obs_dtype).kind == "u" and env.high > 1 else 1.0,
    )
    choice = settings.network
    if choice.name == "auto" and "network" not in own and "learner" not in own:
        usual = find("learner", settings.learner.name).hints.get("network")
        choice = choice if usual is None else Choice(usual)
    network = made("network", Network, choice, own, spec)
    if is_foreign("network", choice, own):
        contracts.check_network(choice.name, network, spec, env)
    return per_arm(network, len(ARMS)) if apart else network


def paid_by(row: Objective, normaliser: Normaliser) -> Payment:
    """`payment(statistics, arm, time, surprise, extrinsic)`: the objective's reward, normalised."""
    return lambda state, arm, time, surprise, extrinsic: normaliser.apply(
        state, arm, time, payment(row, arm, surprise, extrinsic)
    )
