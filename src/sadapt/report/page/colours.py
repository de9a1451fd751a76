"""Colours of curves that can be told from the page, on white and on black."""

from __future__ import annotations

from sadapt.motivation.objectives import COLOURS
from sadapt.report.drawing import variant

PAPERS = {"light": "#ffffff", "dark": "#15181e"}
"""The page behind the curves; the style sheet says the same."""
CONTRAST = {"light": 3.0, "dark": 4.5}
"""Least ratio of brightness between a curve and the page: what WCAG asks of graphics, more where lines are thin."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def of_curve(objective: str, number: int) -> dict[str, str]:
    """The colour of an agent's curve on each paper; `number` tells variants of one agent apart."""
    shade = variant(COLOURS[objective], number)[1]
    return {name: legible(shade, paper, CONTRAST[name]) for name, paper in PAPERS.items()}


def dash(number: int) -> str:
    """How the line of a variant is broken."""
    return DASHES[number % len(DASHES)]


def legible(colour: str, paper: str, least: float) -> str:
    """The nearest mixture with black or white, whichever is further from the paper, that stands out from it."""
    away = 255 if brightness(paper) < 0.18 else 0
    for share in range(21):
        mixed = [round(value + (away - value) * share / 20) for value in _rgb(colour)]
        found = "#{:02x}{:02x}{:02x}".format(*mixed)
        if contrast(found, paper) >= least:
            break
    return found


def contrast(one: str, other: str) -> float:
    """(L1 + 0.05) / (L2 + 0.05) of the brighter and the darker colour."""
    dark, bright = sorted((brightness(one), brightness(other)))
    return (bright + 0.05) / (dark + 0.05)


def brightness(colour: str) -> float:
    """Relative luminance: 0.2126 R + 0.7152 G + 0.0722 B of linear sRGB."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in _shares(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _rgb(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _shares(colour: str) -> list[float]:
    return [value / 255 for value in _rgb(colour)]
