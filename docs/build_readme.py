"""Fills in README's line of claims from stored runs: `python docs/build_readme.py [RESULTS]`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from sadapt.experiments.claims import NO, UNKNOWN, YES, Claim, evaluate
from sadapt.report.stored import load

ROOT = Path(__file__).parent.parent
PLACE = re.compile(r"(<!-- claims -->\n).*?(<!-- end -->)", re.DOTALL)
OURS = "ours:"
"""How a claim begins that is not the paper's."""


def sentence(claims: Sequence[Claim]) -> str:
    """How many of the paper's claims hold, which do not, and which have not been tried."""
    theirs = [claim for claim in claims if not claim.says.startswith(OURS)]
    own = [claim for claim in claims if claim.says.startswith(OURS)]
    held, failed, open_ = ([claim.id for claim in theirs if claim.answer == each] for each in (YES, NO, UNKNOWN))
    parts = [f"**Of the paper's {len(theirs)} claims, {len(held)} hold**"]
    parts += [f"{len(failed)} {_do(failed)} not ({', '.join(failed)})"] if failed else []
    parts += [f"{len(open_)} {_have(open_)} too few runs to tell ({', '.join(open_)})"] if open_ else []
    yes = sum(claim.answer == YES for claim in own)
    return f"{', '.join(parts)}; of {len(own)} of our own about what adapting costs, {yes} hold.\n"


def _do(names: Sequence[str]) -> str:
    return "does" if len(names) == 1 else "do"


def _have(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results"
    page = ROOT / "README.md"
    line = sentence(evaluate(load(folder)))
    text = PLACE.sub(lambda found: found[1] + line + found[2], page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
