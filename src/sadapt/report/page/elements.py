"""HTML by small functions: text is escaped unless it is markup already."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


NOTHING = Markup("")
MISSING = Markup('<span class="missing">–</span>')
"""In the place of a number that is not there."""
VOID = ("br", "img", "meta", "input")


def element(tag: str, *inside: str, **attributes: str | bool | None) -> Markup:
    """`<tag name="value">inside</tag>`; a trailing underscore of an attribute's name goes, others become hyphens."""
    said = "".join(_attribute(name, value) for name, value in attributes.items())
    return Markup(f"<{tag}{said}>" if tag in VOID else f"<{tag}{said}>{joined(inside)}</{tag}>")


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """Parts one after the other, each escaped if it has to be."""
    return Markup(escaped(between).join(map(escaped, parts)))


def escaped(text: str) -> str:
    return text if isinstance(text, Markup) else html.escape(text)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = (), kind: str = "") -> Markup:
    """A table that scrolls sideways where the page is narrow; the columns in `right` hold numbers."""
    numbers = set(right)

    def cell(tag: str, at: int, text: str) -> Markup:
        if tag == "td" and at == 0:
            return element("th", text, scope="row")
        scope = "col" if tag == "th" else None
        return element(tag, text, class_="number" if at in numbers else None, scope=scope)

    def row(tag: str, cells: Sequence[str]) -> Markup:
        return element("tr", *(cell(tag, at, text) for at, text in enumerate(cells)))

    body = element("tbody", *(row("td", cells) for cells in rows))
    whole = element("table", element("thead", row("th", heads)), body, class_=kind or None)
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label="table")


def folded(title: str, *inside: str, is_open: bool = False, id_: str | None = None) -> Markup:
    """What is shown only when it is asked for."""
    return element("details", element("summary", title), *inside, open=is_open, id=id_)


def number(value: float, digits: int = 3) -> str:
    """`1,234`, `0.0123`, `−0.5`; infinite is ∞."""
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"
    if "e" in text:
        text = f"{value:.1e}"
    return text.replace("-", "−")


def ranged(value: float, low: float, high: float, *, spoken: Callable[[float], str] = number) -> str:
    """A number, and its interval in small letters."""
    if math.isnan(value):
        return MISSING
    span = element("small", f"[{spoken(low)}, {spoken(high)}]", class_="range") if low != high else NOTHING
    return joined([spoken(value), span], " ")


def hundredths(value: float) -> str:
    """`0.97`, of numbers around 1."""
    return f"{value:.2f}" if math.isfinite(value) else number(value)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 run`, `3 runs`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{html.escape(value)}"'
