"""Hooks of mkdocs: tables read off the program, equations, notebooks, and links to files outside of docs/."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "src")]

from tables import filled  # noqa: E402 (the folders above are where it is)

FENCED = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s#]+)(#[^)\s]*)?\)")
PAGES = {
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "changelog.md": ROOT / "CHANGELOG.md",
    "stored-runs.md": ROOT / "results/README.md",
    "studies.md": ROOT / "studies/README.md",
}
"""Pages that are files outside of docs/."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are files outside of docs/, and the notebooks as pages."""
    for uri, source in PAGES.items():
        files.append(File.generated(config, uri, content=source.read_text(encoding="utf-8")))
    for source in sorted((HERE / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{source.stem}.md", content=notebook(source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page's text, ready for Markdown."""
    markdown = filled(markdown)
    where = PAGES.get(page.file.src_uri, HERE / page.file.src_uri).parent
    text, end = "", 0
    for block in FENCED.finditer(markdown):
        text += prose(markdown[end : block.start()], where, page, config, files) + block[0]
        end = block.end()
    return text + prose(markdown[end:], where, page, config, files)


def prose(text: str, where: Path, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Text outside of code blocks: its links, and its equations where the page has any."""
    text = LINK.sub(lambda found: linked(found, where, page, config, files), text)
    return equations(text) if page.meta.get("math") else text


def linked(found: re.Match[str], where: Path, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A link as the site needs it: a file outside of docs/ is brought along, of a folder only its name is left."""
    label, target, anchor = found[1], found[2], found[3] or ""
    if "://" in target or target.startswith("mailto:"):
        return found[0]
    there = Path(os.path.normpath(where / target))
    own = {source: uri for uri, source in PAGES.items()}
    if there == ROOT / "README.md":
        uri = "index.md"
    elif there in own:
        uri = own[there]
    elif there.is_dir() and (there / "README.md").exists() and HERE in there.parents:
        uri = str((there / "README.md").relative_to(HERE))
    elif there.is_dir():
        return label[1:-1]
    elif HERE in there.parents:
        uri = str(there.relative_to(HERE)).replace(".ipynb", ".md")
    elif there.exists():
        uri = f"repository/{there.relative_to(ROOT)}"
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, abs_src_path=str(there)))
    else:
        return found[0]
    return f"{label}({os.path.relpath(uri, Path(page.file.src_uri).parent)}{anchor})"


def equations(text: str) -> str:
    """$$...$$ and $...$ as MathML, which browsers draw by themselves."""
    text = re.sub(r"\$\$(.+?)\$\$", lambda found: convert(found[1].strip(), display="block"), text, flags=re.S)
    return re.sub(r"(?<![\\$\w])\$([^$\n]+?)\$(?![\w$])", lambda found: f"<span>{convert(found[1])}</span>", text)


def notebook(source: Path) -> str:
    """A notebook as a page: its words, its code, and what that showed."""
    text = ""
    for cell in json.loads(source.read_text(encoding="utf-8"))["cells"]:
        body = "".join(cell["source"])
        text += f"\n{body}\n" if cell["cell_type"] == "markdown" else f"\n```python\n{body}\n```\n"
        text += "".join(shown(output) for output in cell.get("outputs", []))
    name = source.name
    return f"{text}\n[Download this notebook]({name})\n"


def shown(output: dict[str, Any]) -> str:
    """What a cell showed: a picture, or text."""
    data = output.get("data", {})
    for kind in ("image/gif", "image/png"):
        if kind in data:
            encoded = base64.b64encode(base64.b64decode("".join(data[kind]))).decode()
            return f'\n<img alt="output" src="data:{kind};base64,{encoded}">\n'
    words = "".join(output.get("text", data.get("text/plain", "")))
    return f"\n```text\n{words.rstrip()}\n```\n" if words.strip() else ""
