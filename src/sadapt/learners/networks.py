"""Q-networks as bundles of pure functions: the paper's, and smaller ones for many worlds side by side on a CPU.

What a network keeps of an augmented observation, its view, has no parameters and is made once per step; `apply` turns
a batch of views into action values. Without a `theta_shape` a network sees s only: neither theta nor t/T nor alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.errors import UserError, nearest
from sadapt.learners.layers import (
    conv2d,
    conv_size,
    dense,
    layer_norm,
    orthogonal,
    rectified,
    torch_default,
    unit_norm,
)
from sadapt.motivation.augmented import Augmented

Array = jax.Array
Shape = tuple[int, ...]
Params = dict[str, Any]
View = Any


class Network(NamedTuple):
    """Action values of augmented observations."""

    init: Callable[[Array], Params]
    """`init(key) -> params`, a nested dict of float32 arrays."""
    view: Callable[[Augmented], View]
    """What is kept of one augmented observation; vmapped by the caller."""
    apply: Callable[[Params, View], Array]
    """`apply(params, views) -> q[batch, actions]`, for views with a leading axis."""


class Block(NamedTuple):
    """A part of a network with its parameters."""

    init: Callable[[Array], Params]
    apply: Callable[[Params, Array], Array]
    size: int
    """Entries of the vector that `apply` gives for each example."""


class Conv(NamedTuple):
    """One convolution of a stack."""

    filters: int
    kernel: int
    stride: int = 1
    padding: int = 0


CONVOLUTIONS: dict[str, tuple[Conv, ...]] = {
    "conv-small": (Conv(16, 3),),
    "conv-large": (Conv(16, 3, 2, 1), Conv(32, 3, 2, 1), Conv(32, 3, 2, 1)),
    "atari": (Conv(32, 8, 4), Conv(64, 4, 2), Conv(64, 3)),
}
"""The paper's encoders, by kind of network."""
MLP = (120, 84)
"""The paper's encoder where the map is too small for convolutions."""
HEAD = 512
"""Hidden units between the paper's convolutions and its action values."""
COARSE = 4
"""Cells along each side of the window network's summary of the map."""
OUTLOOK = 64
"""Hidden units of the window network's part that values the summary alone."""


def flat(x: Array) -> Array:
    """One vector per example of a batch."""
    return x.reshape(x.shape[0], -1)


def scaled(x: Array, scale: float) -> Array:
    """float32 `scale * x`."""
    x = x.astype(jnp.float32)
    return x if scale == 1 else x * scale


def with_planes(x: Array, *scalars: Array) -> Array:
    """A batch with a constant plane for every scalar appended to its last axis."""
    planes = [jnp.broadcast_to(s.reshape(-1, *[1] * (x.ndim - 1)), (*x.shape[:-1], 1)) for s in scalars]
    return jnp.concatenate([x, *planes], axis=-1)


def require_maps(network: str, obs_shape: Shape, theta_shape: Shape | None = None) -> None:
    """Refuses observations without height, width and channels, or theta on another grid than s."""
    if len(obs_shape) != 3:
        raise UserError(f"{network} needs observations of height x width x channels; got shape {obs_shape}: use plain")
    if theta_shape is not None and theta_shape[:-1] != obs_shape[:-1]:
        raise UserError(f"{network} needs s and theta on one grid; got shapes {obs_shape} and {theta_shape}: use paper")


def mlp(inputs: int, sizes: tuple[int, ...], *, linear_last: bool = False) -> Block:
    """Dense layers of `sizes` units with ReLU, which the last one may lack."""
    shapes = list(pairwise((inputs, *sizes)))

    def init(key: Array) -> Params:
        keys = jax.random.split(key, len(shapes))
        return {f"dense_{i}": torch_default(keys[i], shape) for i, shape in enumerate(shapes)}

    def apply(params: Params, x: Array) -> Array:
        for i in range(len(shapes)):
            linear = linear_last and i == len(shapes) - 1
            x = (dense if linear else rectified)(params[f"dense_{i}"], x)
        return x

    return Block(init, apply, sizes[-1])


def conv_shapes(shape: Shape, stack: tuple[Conv, ...]) -> list[Shape]:
    """Shapes of an image before, between and after the convolutions of a stack."""
    shapes = [shape]
    for filters, kernel, stride, padding in stack:
        height, width = (conv_size(size, kernel, stride, padding) for size in shapes[-1][:2])
        shapes.append((height, width, filters))
    return shapes


def fitting(shape: Shape, stack: tuple[Conv, ...]) -> tuple[Conv, ...]:
    """The stack itself if the image is large enough for it, else the same filters of 3x3 cells, stride 2, padded."""
    if min(map(min, conv_shapes(shape, stack))) > 0:
        return stack
    return tuple(Conv(layer.filters, 3, 2, 1) for layer in stack)


def convolutions(shape: Shape, stack: tuple[Conv, ...], scale: float = 1.0) -> Block:
    """Convolutions of `scale` times an image with ReLU, then flattened."""
    shapes = conv_shapes(shape, stack)

    def init(key: Array) -> Params:
        keys = jax.random.split(key, len(stack))
        return {
            f"conv_{i}": torch_default(keys[i], (layer.kernel, layer.kernel, shapes[i][-1], layer.filters))
            for i, layer in enumerate(stack)
        }

    def apply(params: Params, x: Array) -> Array:
        for i, layer in enumerate(stack):
            factor = scale if i == 0 else 1.0
            x = conv2d(params[f"conv_{i}"], x, stride=layer.stride, padding=layer.padding, scale=factor)
            x = jax.nn.relu(x)
        return flat(x)

    return Block(init, apply, math.prod(shapes[-1]))


def paper_kind(obs_shape: Shape) -> str:
    """Which of the paper's networks suits observations of that shape."""
    if len(obs_shape) != 3 or min(obs_shape[:2]) < 10:
        return "mlp"
    side = max(obs_shape[:2])
    return "conv-small" if side < 32 else "conv-large" if side < 64 else "atari"


def paper(
    obs_shape: Shape, theta_shape: Shape | None, num_actions: int, kind: str | None = None, *, scale: float = 1.0
) -> Network:
    """The paper's networks: twin encoders of s and of theta with constant planes t/T and alpha, then the head.

    `scale` multiplies s: 1/255 for grey images, 1 for 0/1 maps. The view is the augmented observation itself.
    """
    kind = paper_kind(obs_shape) if kind is None else kind
    if kind not in ("mlp", *CONVOLUTIONS):
        raise UserError(f"unknown kind of paper network {kind!r}: {nearest(kind, ('mlp', *CONVOLUTIONS))}")
    if kind != "mlp":
        require_maps(f"the paper's network {kind!r}", obs_shape)

    def encoder(shape: Shape, scalars: int, scale: float) -> Block:
        if kind == "mlp":
            return mlp(math.prod(shape) + scalars, MLP)
        image = (*shape[:-1], shape[-1] + scalars)
        return convolutions(image, fitting(image, CONVOLUTIONS[kind]), scale)

    blocks = {"obs": encoder(obs_shape, 0, scale)}
    if theta_shape is not None:
        blocks["theta"] = encoder(theta_shape, 2, 1.0)
    joined = sum(block.size for block in blocks.values())
    blocks["head"] = mlp(joined, (num_actions,) if kind == "mlp" else (HEAD, num_actions), linear_last=True)

    def init(key: Array) -> Params:
        keys = jax.random.split(key, len(blocks))
        return {name: block.init(keys[i]) for i, (name, block) in enumerate(blocks.items())}

    def view(seen: Augmented) -> Augmented:
        return seen if theta_shape is not None else Augmented(seen.obs, None, None, None)

    def apply(params: Params, views: Augmented) -> Array:
        images = {"obs": scaled(views.obs, scale) if kind == "mlp" else views.obs}
        if theta_shape is not None:
            theta = flat(views.theta) if kind == "mlp" else views.theta
            images["theta"] = with_planes(theta, views.time, views.arm)
        encoded = [blocks[name].apply(params[name], flat(x) if kind == "mlp" else x) for name, x in images.items()]
        return blocks["head"].apply(params["head"], jnp.concatenate(encoded, axis=-1))

    return Network(init, view, apply)


class Cells(NamedTuple):
    """What a network with one convolution sees."""

    cells: Array
    """float32 [height, width, channels]."""
    beside: Array
    """float32 vector of what has no place among the cells; ends with t/T and alpha, unless only s is seen."""


def maps(seen: Augmented, theta_shape: Shape | None, scale: float = 1.0) -> list[Array]:
    """s, and theta where it is seen."""
    obs = scaled(seen.obs, scale)
    return [obs] if theta_shape is None else [obs, seen.theta]


def scalars(seen: Augmented, theta_shape: Shape | None) -> Array:
    """(t/T, alpha), or nothing where theta is not seen."""
    return jnp.zeros(0, jnp.float32) if theta_shape is None else jnp.stack([seen.time, seen.arm])


def shapes_seen(obs_shape: Shape, theta_shape: Shape | None) -> tuple[list[Shape], int]:
    """Shapes of the maps and the number of the scalars."""
    return ([obs_shape], 0) if theta_shape is None else ([obs_shape, theta_shape], 2)


def normed(key: Array, shape: Shape, features: int) -> Params:
    """Parameters of a hidden dense layer or convolution and of the layer norm over all that it gives."""
    return {"linear": orthogonal()(key, shape), "norm": unit_norm(features)}


def one_convolution(
    cells: Shape, beside: int, num_actions: int, *, filters: int, stride: int, hidden: int
) -> tuple[Callable[[Array], Params], Callable[[Params, Cells], Array]]:
    """`init` and `apply`: a 3x3 convolution, a dense layer that also sees what is beside it, and the head.

    Layer norm before each ReLU; that of the convolution is over a whole example: over the filters of each cell it
    takes longer than the convolution.
    """
    (conv,) = fitting(cells, (Conv(filters, 3, stride),))
    features = math.prod(conv_shapes(cells, (conv,))[-1])

    def init(key: Array) -> Params:
        key_conv, key_dense, key_head = jax.random.split(key, 3)
        return {
            "conv": normed(key_conv, (3, 3, cells[-1], filters), features),
            "dense": normed(key_dense, (features + beside, hidden), hidden),
            "head": orthogonal(1.0)(key_head, (hidden, num_actions)),
        }

    def apply(params: Params, views: Cells) -> Array:
        local = flat(conv2d(params["conv"]["linear"], views.cells, stride=conv.stride, padding=conv.padding))
        local = jax.nn.relu(layer_norm(params["conv"]["norm"], local))
        x = dense(params["dense"]["linear"], jnp.concatenate([local, views.beside], axis=-1))
        x = jax.nn.relu(layer_norm(params["dense"]["norm"], x))
        return dense(params["head"], x)

    return init, apply


def coarse_bins(size: int) -> np.ndarray:
    """float32 [bins, size]: each row averages one of at most `COARSE` equal parts of an axis."""
    parts = np.array_split(np.arange(size), min(COARSE, size))
    return np.stack([np.isin(np.arange(size), part) / len(part) for part in parts]).astype(np.float32)


def summary(shape: Shape) -> tuple[Callable[[Array], Array], int]:
    """Averages of every channel over the cells of a coarse grid and over the whole map, and how many these are."""
    height, width, channels = shape
    down, across = coarse_bins(height), coarse_bins(width)
    shares = np.outer((down > 0).mean(1), (across > 0).mean(1)).reshape(1, -1).astype(np.float32)
    columns = np.kron(across.T, np.eye(channels, dtype=np.float32))

    def summarise(x: Array) -> Array:
        coarse = (down @ (x.reshape(height, width * channels) @ columns)).reshape(-1, channels)
        return jnp.concatenate([coarse, shares @ coarse]).reshape(-1)

    return summarise, (shares.size + 1) * channels


def window(
    obs_shape: Shape,
    theta_shape: Shape | None,
    num_actions: int,
    agent_channel: int,
    *,
    radius: int = 5,
    filters: int = 16,
    stride: int = 2,
    hidden: int = 128,
) -> Network:
    """q(s, a) = q_near(s, a) + v_far(s), from the cells around the agent and a coarse summary of the whole map.

    `radius` cells are seen in each direction, in one 3x3 convolution; outside the map all is zero but one channel that
    says so. q_near sees these and the summary, v_far the summary, t/T and alpha alone, magnified: one butterfly less is
    next to nothing in an average over a map, but much to what lies ahead.
    """
    require_maps("the window network", obs_shape, theta_shape)
    if radius < 1:
        raise UserError(f"the window network must see at least one cell in each direction; got radius {radius}")
    shapes, extra = shapes_seen(obs_shape, theta_shape)
    channels = 1 + sum(shape[-1] for shape in shapes)
    side = 2 * radius + 1
    frame = ((radius, radius), (radius, radius), (0, 0))
    outside = np.pad(np.zeros((*obs_shape[:2], 1), np.float32), frame, constant_values=1)
    summaries, sizes = zip(*map(summary, shapes), strict=True)

    def view(seen: Augmented) -> Cells:
        planes = maps(seen, theta_shape)
        row, column = jnp.divmod(jnp.argmax(seen.obs[..., agent_channel].reshape(-1)), obs_shape[1])
        padded = jnp.concatenate([*(jnp.pad(x, frame) for x in planes), outside], axis=-1)
        cells = jax.lax.dynamic_slice(padded, (row, column, 0), (side, side, channels))
        averages = [summarise(x) for summarise, x in zip(summaries, planes, strict=True)]
        return Cells(cells, jnp.concatenate([*averages, scalars(seen, theta_shape)]))

    beside = sum(sizes) + extra
    init_near, near = one_convolution(
        (side, side, channels), beside, num_actions, filters=filters, stride=stride, hidden=hidden
    )
    outlook = mlp(beside, (OUTLOOK, 1), linear_last=True)
    magnify = math.sqrt(obs_shape[0] * obs_shape[1]) / COARSE

    def init(key: Array) -> Params:
        key_near, key_far = jax.random.split(key)
        return {**init_near(key_near), "outlook": outlook.init(key_far)}

    def apply(params: Params, views: Cells) -> Array:
        return near(params, views) + outlook.apply(params["outlook"], magnify * views.beside)

    return Network(init, view, apply)


def plain_conv(
    obs_shape: Shape,
    theta_shape: Shape | None,
    num_actions: int,
    *,
    filters: int = 16,
    stride: int = 1,
    hidden: int = 128,
    scale: float = 1.0,
) -> Network:
    """The whole map in one 3x3 convolution, beside t/T and alpha: for small maps without an agent to look around."""
    require_maps("the plain convolutional network", obs_shape, theta_shape)
    shapes, extra = shapes_seen(obs_shape, theta_shape)

    def view(seen: Augmented) -> Cells:
        return Cells(jnp.concatenate(maps(seen, theta_shape, scale), axis=-1), scalars(seen, theta_shape))

    init, apply = one_convolution(
        (*obs_shape[:2], sum(shape[-1] for shape in shapes)),
        extra,
        num_actions,
        filters=filters,
        stride=stride,
        hidden=hidden,
    )
    return Network(init, view, apply)


def plain(
    obs_shape: Shape,
    theta_shape: Shape | None,
    num_actions: int,
    *,
    hidden: tuple[int, ...] = (128, 128),
    scale: float = 1.0,
) -> Network:
    """Layer-normed dense layers over s, theta, t/T and alpha, flattened: for a few dozen entries."""
    shapes, extra = shapes_seen(obs_shape, theta_shape)
    layers = list(pairwise((sum(map(math.prod, shapes)) + extra, *hidden)))

    def init(key: Array) -> Params:
        key_head, *keys = jax.random.split(key, 1 + len(layers))
        trunk = {f"dense_{i}": normed(keys[i], shape, shape[-1]) for i, shape in enumerate(layers)}
        return {**trunk, "head": orthogonal(1.0)(key_head, (hidden[-1], num_actions))}

    def view(seen: Augmented) -> Array:
        entries = [x.reshape(-1) for x in maps(seen, theta_shape, scale)]
        return jnp.concatenate([*entries, scalars(seen, theta_shape)])

    def apply(params: Params, views: Array) -> Array:
        x = views
        for i in range(len(layers)):
            x = jax.nn.relu(layer_norm(params[f"dense_{i}"]["norm"], dense(params[f"dense_{i}"]["linear"], x)))
        return dense(params["head"], x)

    return Network(init, view, apply)


class OnArm(NamedTuple):
    """A view, and the arm that it is seen on."""

    view: View
    arm: Array


def per_arm(network: Network, arms: int = 2) -> Network:
    """A network of its own for every arm: what one arm learns disturbs no other."""

    def init(key: Array) -> Params:
        return {f"arm_{arm}": network.init(part) for arm, part in enumerate(jax.random.split(key, arms))}

    def view(seen: Augmented) -> OnArm:
        assert seen.arm is not None
        return OnArm(network.view(seen), seen.arm)

    def apply(params: Params, views: OnArm) -> Array:
        q = jnp.stack([network.apply(params[f"arm_{arm}"], views.view) for arm in range(arms)])
        return jnp.take_along_axis(q, views.arm.astype(jnp.int32)[None, :, None], axis=0)[0]

    return Network(init, view, apply)
