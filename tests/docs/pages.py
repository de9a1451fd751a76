"""The pages that people read, and their code blocks.

A block says its language and, where it is a file of the reader's, its name: ```python title="corridor.py".
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
FENCE = re.compile(r'^( *)```(\w*)(?: title="([^"]+)")?[^\n]*\n(.*?)^\1```$', re.M | re.S)
NOT_HERE = [module for module in ("craftax", "minigrid", "stable_baselines3", "vizdoom") if find_spec(module) is None]


class Block(NamedTuple):
    """A code block of a page."""

    language: str
    title: str
    text: str


def pages() -> list[Path]:
    """README, CONTRIBUTING, the stored runs' and every page of the site; the rules of worlds are parts of pages."""
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "results/README.md",
        *(p for p in sorted(DOCS.rglob("*.md")) if p.parent.name != "rules"),
    ]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [Block(language, title, dedent(text)) for _, language, title, text in found]


def commands(block: Block) -> list[str]:
    """The lines of a block of the shell, without their remarks."""
    return [line.partition(" #")[0].strip() for line in block.text.splitlines() if line.strip() and line[0] != "#"]


def possible(text: str) -> str:
    """Without the lines that need what is not installed here."""
    return "".join(line for line in text.splitlines(True) if not any(module in line for module in NOT_HERE))


def shortened(text: str) -> str:
    """The same with as few steps as there can be; a sweep, whose runs have their own, is only planned."""
    text = re.sub(r"--total-timesteps \d+", "", text)
    text = re.sub(r"--num-seeds \d+", "--num-seeds 2", text)
    text = re.sub(r"^((?:\w+=\w+ )?sadapt train [^#\n]*)", _one_step, text, flags=re.M)
    text = re.sub(
        r"^sadapt sweep \S[^#\n]*",
        lambda line: f"{line[0].rstrip()} --dry-run --no-estimate --out planned ",
        text,
        flags=re.M,
    )
    return re.sub(r"((?<![-\w])total_timesteps=|\.learn\()[\d_]+", r"\g<1>1", text)


def _one_step(line: re.Match[str]) -> str:
    asks = "--help" in line[0] or "--print-config" in line[0]
    return line[0] if asks else f"{line[0].rstrip()} --total-timesteps 1 "
