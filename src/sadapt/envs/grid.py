"""Movement on a grid: five actions, walls and the map's edge block."""

from __future__ import annotations

import numpy as np

MOVES = ((0, 0), (0, -1), (-1, 0), (0, 1), (1, 0))


def next_cells(wall: np.ndarray) -> np.ndarray:
    """int32[cells, actions]: where each action leads from each cell, cells numbered row by row."""
    height, width = wall.shape
    rows, columns = np.divmod(np.arange(height * width), width)
    table = np.empty((height * width, len(MOVES)), np.int32)
    for action, (down, right) in enumerate(MOVES):
        row, column = rows + down, columns + right
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        row, column = np.where(inside, row, rows), np.where(inside, column, columns)
        blocked = ~inside | wall[row, column]
        table[:, action] = np.where(blocked, rows * width + columns, row * width + column)
    return table
