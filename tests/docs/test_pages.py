"""Pages are whole: links lead somewhere, README is short and true, every setting, column and public name is told."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sadapt
from sadapt.experiments.claims import evaluate
from sadapt.learners.table import DQNSettings
from sadapt.registry import TABLES
from sadapt.report.stored import load
from sadapt.training.metrics import charts
from sadapt.training.presets import preset
from sadapt.training.program import build
from tests.docs.pages import DOCS, FENCE, ROOT, blocks, name_of, pages

sys.path.insert(0, str(DOCS))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
LONGEST_README = 200
LARGEST_FILM = 3_000_000
GENERATED = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "stored-runs.md": "results/README.md",
    "studies.md": "studies/README.md",
}
ON_SITE = {ROOT / "README.md", *(ROOT / source for source in GENERATED.values())}
"""Pages outside of docs/ that the site has too."""


def anchors(page: Path) -> set[str]:
    """What headings of a page are called in links."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", text, re.M)
    }


@pytest.mark.parametrize("page", [*pages(), ROOT / "CHANGELOG.md"], ids=name_of)
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        there = page if not path else page.parent / path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target
        assert there.suffix != ".md" or DOCS in there.resolve().parents or there.resolve() in ON_SITE, target


def test_the_navigation_has_every_page():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    named = set(re.findall(r"([\w./-]+\.md)$", nav, re.M))
    notebooks = {f"notebooks/{path.stem}.md" for path in (DOCS / "notebooks").glob("*.ipynb")}
    written = {str(page.relative_to(DOCS)) for page in pages() if DOCS in page.parents}
    assert named == written | notebooks | set(GENERATED)


def test_readme_is_short_and_shows_a_film():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first_screen = "\n".join(text.splitlines()[:45])
    assert len(text.splitlines()) < LONGEST_README
    assert "docs/pictures/agents.gif" in first_screen
    assert (DOCS / "pictures/agents.gif").stat().st_size < LARGEST_FILM
    assert "https://arxiv.org/abs/2405.17243" in first_screen
    assert re.findall(r"^make (\w+)", text, re.M)[:2] == ["demo", "test"]


def test_readmes_claims_are_those_of_the_stored_runs():
    """`python docs/build_readme.py` writes the line."""
    from build_readme import PLACE, sentence

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = PLACE.search(text)
    assert found is not None
    assert found[0] == f"{found[1]}{sentence(evaluate(load(ROOT / 'results')))}{found[2]}"


def test_readmes_speeds_are_those_of_the_page():
    rows = re.findall(r"^\|.*(?:Stable-Baselines3|rejax|fused).*\|$", (ROOT / "README.md").read_text(), re.M)
    assert len(rows) > 5
    assert not [row for row in rows if row not in (DOCS / "speed.md").read_text()]


def test_the_targets_are_there():
    targets = ["demo", "test", "docs", "wheel"]
    made = subprocess.run(["make", "-n", "-C", str(ROOT), *targets], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


def test_every_setting_has_a_row_and_a_meaning():
    from tables import settings

    page = settings()
    for table in TABLES.values():
        for part in table.values():
            if part.settings is not None and not part.foreign:
                for field in dataclasses.fields(part.settings):
                    assert f"`--{field.name.replace('_', '-')}`" in page
    row = next(line for line in page.splitlines() if "--target-network-frequency" in line)
    assert row == "| `--target-network-frequency` | 1000 | Environment steps between copies into the target network. |"
    assert "`--import`" in page
    assert DQNSettings().target_network_frequency == 1_000


@pytest.mark.parametrize("page", [*pages(), ROOT / "CHANGELOG.md"], ids=name_of)
def test_the_tables_that_a_page_asks_for_are_there(page):
    from tables import filled

    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"^<!-- table:", filled(text), re.M)


def test_a_sentence_about_tables_asks_for_none():
    from tables import filled

    said = "Tables are read off the program (`<!-- table: ... -->`)."
    assert filled(said) == said
    assert filled("<!-- table: parts bandit -->").startswith("| name |")


@pytest.mark.parametrize("learner", ["pqn", "dqn", "ppo"])
def test_every_column_is_explained(learner):
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    prog = build(preset("maze-small", learner=learner))
    for name, chart in charts(prog).items():
        if name not in prog.env.counters:
            assert f"`{name}`" in page
            assert f"`{chart}`" in page


def test_every_world_agent_and_learner_has_a_page():
    from sadapt.envs import names
    from sadapt.motivation.objectives import OBJECTIVES

    wanted = [f"worlds/{name}.md" for name in names()]
    wanted += [f"agents/{name}.md" for name in OBJECTIVES]
    wanted += [f"learners/{name}.md" for name, part in TABLES["learner"].items() if not part.foreign]
    assert not [page for page in wanted if not (DOCS / page).exists()]


@pytest.mark.parametrize(
    "page", sorted([*(DOCS / "agents").glob("*.md"), *(DOCS / "learners").glob("*.md")]), ids=name_of
)
def test_agents_and_learners_are_told_in_the_same_form(page):
    if page.name != "README.md":
        text = page.read_text(encoding="utf-8")
        for heading in ("## Usage", "## Metrics", "## Differences from the paper", "## Commands", "## Curves"):
            assert f"\n{heading}" in text
        differences = text.partition("## Differences from the paper")[2].partition("\n## ")[0]
        assert re.findall(r"^(\d+)\. ", differences, re.M)[0] == "1"


def entries() -> set[str]:
    """What the API reference has an entry for, by where it is defined."""
    from tables import filled

    return set(re.findall(r"^::: ([\w.]+)$", filled((DOCS / "api.md").read_text(encoding="utf-8")), re.M))


def test_every_name_that_a_package_offers_has_an_entry():
    from tables import public

    packages = [module.name for module in pkgutil.walk_packages(sadapt.__path__, "sadapt.") if module.ispkg]
    offered = {name: importlib.import_module(name) for name in ["sadapt", *packages]}
    offering = [name for name, package in offered.items() if hasattr(package, "__all__")]
    assert {"sadapt", "sadapt.gym", "sadapt.envs", "sadapt.report"} <= set(offering)
    known = entries()
    assert not [f"{module}.{name}" for module in offering for name, place in public(module) if place not in known]


def test_every_entry_says_what_it_is():
    for place in entries():
        module, _, name = place.rpartition(".")
        there = getattr(importlib.import_module(module), name)
        if inspect.isroutine(there) or inspect.isclass(there):
            assert inspect.getdoc(there), place


def test_what_pages_import_has_an_entry():
    """What has none may change without notice, and so no reader is shown it."""
    known, found = entries(), set()
    for page in pages():
        for block in blocks(page) if page.name != "CONTRIBUTING.md" else []:
            nodes = ast.walk(ast.parse(block.text)) if block.language == "python" else ()
            asked = [node for node in nodes if isinstance(node, ast.ImportFrom)]
            found |= {(node.module, each.name) for node in asked for each in node.names if "sadapt" in str(node.module)}
    assert len(found) > 10
    for module, name in sorted(found):
        there = getattr(importlib.import_module(module), name)
        places = {f"{module}.{name}", f"{getattr(there, '__module__', '')}.{getattr(there, '__qualname__', '')}"}
        assert inspect.ismodule(there) or places & known, f"{module}.{name}"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_has_every_public_name(tmp_path):
    pytest.importorskip("mkdocs")
    from tables import public

    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "site/api.html").read_text(encoding="utf-8")
    asked = re.findall(r"<!-- table: api ([\w.]+)", (DOCS / "api.md").read_text(encoding="utf-8"))
    assert {"sadapt", "sadapt.api", "sadapt.gym", "sadapt.envs"} <= set(asked)
    for module in asked:
        for name, place in public(module):
            assert f'id="{place}"' in page, f"{module}.{name}"
    assert "<math" in (tmp_path / "site/method.html").read_text(encoding="utf-8")
    assert not [
        path for path in (tmp_path / "site").rglob("*.html") if "<!-- table:" in path.read_text(encoding="utf-8")
    ]


@pytest.mark.slow
def test_the_wheel_works_without_the_repository():
    done = subprocess.run([sys.executable, "tools/wheel.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "works without the repository" in done.stdout
