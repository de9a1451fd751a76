"""What parts must keep to, checked before training where they are somebody's own; each refusal is one paragraph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import contract
from sadapt.envs.base import Env, Facts, Step
from sadapt.errors import UserError
from sadapt.learners.networks import Network, Spec
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.bandits import Bandit
from sadapt.motivation.episode import Answer, Fresh
from sadapt.motivation.feedback import Feedback, nobody
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.measures import HEARD, episode_measures
from sadapt.registry import broken, called

Array = jax.Array
LOOKS = 3
"""Observations that a marginal is tried on."""


def check_env(env: Env) -> None:
    """Facts, shapes and dtypes of a world are as promised."""
    try:
        contract.check_types(env, jax.random.key(0))
    except AssertionError as error:
        raise UserError(f"the world {error}") from error


def check_marginal(name: str, marginal: Marginal, env: Facts) -> None:
    """States keep their types, log p and H are finite numbers, theta has its shape."""
    tell = partial(broken, "marginal", name)
    state = first = called("marginal", name, marginal.init)
    for key in jax.random.split(jax.random.key(0), LOOKS):
        seen = env.marginal_input(_observation(key, env))
        likely = called("marginal", name, marginal.log_prob, state, seen)
        state = called("marginal", name, marginal.update, state, seen)
        if found := difference(first, state):
            raise tell(f"update changes the types of its state: {found}")
        for what, value in (("log_prob", likely), ("entropy", called("marginal", name, marginal.entropy, state))):
            if jnp.shape(value) != () or not np.isfinite(value):
                raise tell(f"{what} gave {_shown(value)}; it must be one finite number")
        theta = called("marginal", name, marginal.features, state)
        if jnp.shape(theta) != tuple(marginal.feature_shape):
            raise tell(f"features has the shape {jnp.shape(theta)}, feature_shape says {marginal.feature_shape}")
        if not np.isfinite(theta).all():
            raise tell("features holds values that are not finite")


def check_bandit(name: str, bandit: Bandit, arms: int) -> None:
    """Arms are whole numbers within range, states keep their types, and what it thinks is finite."""
    tell = partial(broken, "bandit", name)
    if bandit.arms != arms:
        raise tell(f"it has {bandit.arms} arms; {arms} were asked for")
    state = first = called("bandit", name, bandit.init)
    for turn in range(2 * arms):
        draws = jnp.linspace(0.1, 0.9, arms, dtype=jnp.float32)
        state, arm = called("bandit", name, bandit.select, draws, state)
        if jnp.shape(arm) != () or jnp.asarray(arm).dtype != jnp.int32 or not 0 <= int(arm) < arms:
            raise tell(f"select gave the arm {_shown(arm)}; it must be an int32 from 0 to {arms - 1}")
        after = called("bandit", name, bandit.update, state, arm, jnp.float32(0.5 + 0.1 * turn))
        for what, new in (("select", state), ("update", after), ("abandon", bandit.abandon(state, arm))):
            if found := difference(first, new):
                raise tell(f"{what} changes the types of its state: {found}")
        state = after
    standing = called("bandit", name, bandit.standing, state)
    if not all(jnp.shape(part) == (arms,) and np.isfinite(part).all() for part in standing):
        raise tell(f"standing gave {[_shown(part) for part in standing]}; means and counts must be finite, one an arm")


def check_feedback(name: str, feedback: Feedback, env: Facts, arms: int) -> None:
    """One finite float an episode, whatever its arm; also where it is compiled."""
    tell = partial(broken, "feedback", name)
    if not isinstance(feedback.of, str):
        raise tell(f"of is {feedback.of!r}; it must be the name of a measure")
    known = [each.name for each in episode_measures(env.counters) if each.over != HEARD]
    for arm in range(arms):
        measures = {each: jnp.float32(2 + place) for place, each in enumerate(known)}
        heard = called("feedback", name, feedback.hear, measures, nobody(), jnp.int32(arm))
        if jnp.shape(heard) != () or not np.isfinite(heard):
            raise tell(f"hear gave {_shown(heard)} for an episode; it must be one finite number")
        called("feedback", name, jax.eval_shape, feedback.hear, measures, nobody(), jnp.int32(arm))


def check_network(name: str, network: Network, spec: Spec, env: Facts) -> None:
    """Outputs of a batch are finite float32 [batch, outputs]."""
    key_params, key_obs = jax.random.split(jax.random.key(0))
    params = called("network", name, network.init, key_params)
    obs = env.stacked(_observation(key_obs, env))
    theta = None if spec.theta_shape is None else jnp.zeros(spec.theta_shape, jnp.float32)
    seen = Augmented(obs, theta, jnp.float32(0), jnp.float32(0))
    view = called("network", name, network.view, seen)
    outputs = called("network", name, network.apply, params, jax.tree.map(lambda x: jnp.stack([x, x]), view))
    if jnp.shape(outputs) != (2, spec.outputs) or outputs.dtype != jnp.float32:
        wanted = f"float32[batch, {spec.outputs}]"
        raise broken("network", name, f"apply gave {_shown(outputs)} for a batch of 2; it must give {wanted}")
    if not np.isfinite(outputs).all():
        raise broken("network", name, "apply gave values that are not finite, from fresh parameters")


def difference(before: Any, after: Any) -> str | None:
    """The first leaf whose place, shape or dtype is another."""
    one, other = (dict(_leaves(tree)) for tree in (before, after))
    for path in one.keys() | other.keys():
        was, now = one.get(path, "nothing"), other.get(path, "nothing")
        if was != now:
            return f"{path or 'it'} was {was} and is {now}"
    return None


def _leaves(tree: Any) -> list[tuple[str, str]]:
    found = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [(jax.tree_util.keystr(path, simple=True, separator="/"), _typed(leaf)) for path, leaf in found]


def _typed(value: Any) -> str:
    """A value's type alone."""
    return f"{value.dtype if hasattr(value, 'dtype') else jnp.result_type(value)}{list(jnp.shape(value))}"


def _shown(value: Any) -> str:
    """A value's type, and the value of a single number."""
    return _typed(value) if jnp.shape(value) else str(value)


def _observation(key: Array, env: Facts) -> Array:
    """Something that the world could show."""
    if env.binary:
        return (jax.random.bits(key, env.obs_shape, jnp.uint8) & 1).astype(env.obs_dtype)
    low, high = max(env.low, -1.0), min(env.high, 255.0)
    return jax.random.uniform(key, env.obs_shape, jnp.float32, low, high).astype(env.obs_dtype)


def _fresh(env: Any, num_envs: int) -> Fresh:
    """Worlds just reset, or what they would show."""
    if isinstance(env, Env):
        return Fresh(*jax.vmap(env.reset)(jax.random.split(jax.random.key(0), num_envs)))
    return Fresh((), jnp.zeros((num_envs, *env.obs_shape), env.obs_dtype))


def _answer(env: Any, worlds: Any, actions: Array) -> Answer:
    """What the worlds say to actions, or something of the same types."""
    count = len(actions)
    fresh = _fresh(env, count)
    if isinstance(env, Env):
        keys = jax.random.split(jax.random.key(0), count)
        return Answer(*jax.vmap(env.step)(keys, worlds, actions), fresh)
    counters = {each: jnp.zeros(count) for each in env.counters}
    return Answer((), Step(fresh.obs, jnp.zeros(count), jnp.zeros(count, bool), counters), fresh)


def check_learner(name: str, prog: Any) -> None:
    """Acting, observing and updating keep the types of the whole state; actions are int32[worlds]; params are there."""
    env, num_envs, learner = prog.env, prog.worlds, prog.learner

    def traced(function: Callable[..., Any], *told: Any) -> Any:
        return called("learner", name, jax.eval_shape, function, *told)

    state = traced(lambda: prog.init(jax.random.key(0), _fresh(env, num_envs), nobody()))
    if not hasattr(state.learner, "params"):
        raise broken("learner", name, "its state has no field `params`")
    after, actions = traced(prog.act, state)
    if actions.shape != (num_envs,) or actions.dtype != jnp.int32:
        raise broken("learner", name, f"act gave actions {_typed(actions)}; they must be int32[{num_envs}]")
    seen = traced(lambda state, a: prog.observe(state, a, _answer(env, state.episodes.world, a)), after, actions)
    for what, new in (("act", after), ("observe", seen), ("update", traced(prog.update, seen))):
        if found := difference(state, new):
            raise broken("learner", name, f"{what} changes the types of the state: {found}")
    turn = prog.sizes.num_envs * learner.steps_per_update
    if learner.chunk_steps % turn or learner.warmup_steps % learner.chunk_steps:
        raise broken(
            "learner",
            name,
            f"chunk_steps {learner.chunk_steps} must be a multiple of worlds x steps_per_update = {turn}, and "
            f"warmup_steps {learner.warmup_steps} of chunk_steps",
        )
