"""MinAtar's Breakout: a ball flies diagonally between a paddle and three rows of bricks; a brick pays 1.

Actions: no-op, left, right. The ball bounces off walls, bricks and paddle; when it passes the paddle, the game ends.
When it comes down after the last brick, all bricks are there again. Channels: paddle, ball, trail (where the ball was),
brick.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import screen

Array = jax.Array
LEFT, RIGHT = 1, 2
BOTTOM = 9
BRICKS = np.where((screen.ROWS >= 1) & (screen.ROWS <= 3), screen.FULL_ROW, screen.NOTHING)


class BreakoutState(NamedTuple):
    """Paddle, ball and its direction, where it was before, bricks (a plane), and whether it has just met a brick."""

    paddle: Array
    x: Array
    y: Array
    right: Array
    down: Array
    last_x: Array
    last_y: Array
    bricks: Array
    struck: Array


def reset(key: Array) -> BreakoutState:
    """The ball comes down from the left or from the right."""
    right = (jax.random.bits(key) & 1) > 0
    x, y = jnp.where(right, jnp.int32(0), jnp.int32(screen.SIZE - 1)), jnp.int32(3)
    return BreakoutState(jnp.int32(4), x, y, right, jnp.bool_(True), x, y, jnp.asarray(BRICKS), jnp.bool_(False))


def step(key: Array, state: BreakoutState, action: Array) -> tuple[BreakoutState, Array, Array]:
    """`(state, reward, ended)` after an action; there is no chance in it."""
    paddle = screen.moved(state.paddle, action == RIGHT, action == LEFT, 0, screen.SIZE - 1)
    ahead_x, ahead_y = state.x + jnp.where(state.right, 1, -1), state.y + jnp.where(state.down, 1, -1)
    off_side, off_top = ~screen.on_screen(ahead_x), ahead_y < 0
    x, y = jnp.clip(ahead_x, 0, screen.SIZE - 1), jnp.maximum(ahead_y, 0)

    brick = screen.cell(x, y) & state.bricks
    meets = ~off_top & jnp.any(brick > 0)
    breaks = meets & ~state.struck
    bricks = jnp.where(breaks, state.bricks & ~brick, state.bricks)

    low = ~meets & (y == BOTTOM)
    bricks = jnp.where(low & ~jnp.any(bricks > 0), BRICKS, bricks)
    under_ball, ahead = low & (state.x == paddle), low & (x == paddle)
    bounces = under_ball | ahead
    state = BreakoutState(
        paddle=paddle,
        x=x,
        y=jnp.where(breaks | bounces, state.y, y),
        right=state.right ^ off_side ^ (ahead & ~under_ball),
        down=state.down ^ (off_top | breaks | bounces),
        last_x=state.x,
        last_y=state.y,
        bricks=bricks,
        struck=meets,
    )
    return state, breaks.astype(jnp.float32), low & ~bounces


def observe(state: BreakoutState) -> Array:
    """uint8[10, 10, 4]."""
    paddle = screen.cell(state.paddle, jnp.int32(BOTTOM))
    ball, trail = screen.cell(state.x, state.y), screen.cell(state.last_x, state.last_y)
    return screen.picture([paddle, ball, trail, state.bricks])
