"""Writes the tables and the figure of docs/scaling.md from docs/scaling.json; with `--measure`, measures that first.

Run it from the project's root on a quiet machine: `.venv/bin/python docs/build_scaling.py --measure`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sadapt.benchmarks.roofline import GPUS
from sadapt.report.drawing import PAGE, STYLE, page, spoken_steps
from sadapt.runs.config import revision
from sadapt.runs.cores import processor

HERE = Path(__file__).parent
STORED, FIGURE = HERE / "scaling.json", HERE / "scaling.svg"
COMMANDS = {
    "growth": ("-m", "sadapt", "bench", "--growth", "--seconds", "1", "--json"),
    "roofline": ("-m", "sadapt", "bench", "--roofline", "--seconds", "2", "--json"),
    **{f"workers-{n}": ("-m", "tools.thousand", "--workers", str(n), "--json") for n in (10, 100, 1_000)},
}
AXES = {
    "worlds": "parallel worlds",
    "cells": "cells of the map",
    "replay": "steps in the replay",
    "seeds": "seeds in one program",
    "cores": "cores",
}
COLOURS = ("tab:blue", "tab:orange", "tab:green")
TOLD = {
    "head_seconds": ("head: processor time, s", "{:.2f}"),
    "before_first": ("head: time before the first run is handed out, s", "{:.2f}"),
    "head_megabytes": ("head: most memory, MB", "{:.0f}"),
    "head_looked_per_second": ("head: files looked at, 1/s", "{:.0f}"),
    "head_written_per_second": ("head: files written, 1/s", "{:.1f}"),
    "workers_looked_per_second": ("all workers: files looked at, 1/s", "{:.0f}"),
    "workers_written_per_second": ("all workers: files written, 1/s", "{:.0f}"),
    "written_per_run": ("writes of a run", "{:.0f}"),
    "bytes_per_run": ("bytes of a run", "{:.0f}"),
    "most_in_a_run": ("writes of the busiest file of a run", "{:d}"),
    "most_shared": ("writes of the busiest file of all runs together", "{:d}"),
}


def measure() -> None:
    """Runs every command, or those that are named after `--measure`, and stores what they print."""
    for name in sys.argv[2:] or COMMANDS:
        facts = {
            "machine": f"{processor()}, {os.cpu_count()} cores",
            "revision": revision(),
            "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "load": os.getloadavg()[0],
        }
        print(name, flush=True)
        done = subprocess.run([sys.executable, *COMMANDS[name]], stdout=subprocess.PIPE, text=True, check=True)
        found = {**_stored(), name: {**facts, "rows": json.loads(done.stdout)}}
        ordered = {each: found[each] for each in COMMANDS if each in found}
        STORED.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def _stored() -> dict[str, Any]:
    return json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}


def table(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def growth(stored: dict[str, Any]) -> str:
    rows = [
        [
            f"{AXES[each['axis']]}, {each['sizes'][0]:,} to {each['sizes'][-1]:,}",
            each["what"],
            " ".join(f"{rate:,.0f}" for rate in each["steps_per_second"]),
            f"{each['slope']:+.2f}",
            f"{each['bound']:+.0f}",
            "yes" if each["keeps"] else "**no**",
        ]
        for each in stored["growth"]["rows"]
    ]
    return table(["size", "what", "steps/s, one size after another", "slope", "bound", "keeps it"], rows)


def roofline(stored: dict[str, Any]) -> str:
    titles = ["preset, world", "memory, MB", "MFLOP/step", "kB/step", "kernels/step"]
    titles += [f"{gpu.name}, steps/s" for gpu in GPUS] + ["this core, expected", "measured", "ratio"]
    rows = []
    for each in stored["roofline"]["rows"]:
        numbers = [each["memory"] / 1e6, each["flops"] / 1e6, each["bytes"] / 1e3, each["kernels"]]
        paces = [*(each[gpu.name] for gpu in GPUS), each["expected"], each["measured"]]
        ratio = "" if each["ratio"] is None else f"{each['ratio']:.2f}"
        cells = [f"{n:,.0f}" if n >= 100 else f"{n:.3g}" for n in numbers] + [_rounded(pace) for pace in paces]
        rows.append([f"{each['preset']}, {each['world']}", *cells, ratio])
    return table(titles, rows)


def _rounded(pace: float | None) -> str:
    return "" if pace is None else f"{float(f'{pace:.2g}'):,.0f}"


def devices(stored: dict[str, Any]) -> str:
    here = stored["roofline"]["rows"][0]["machine"]
    every = [*(gpu._asdict() for gpu in GPUS), here]
    rows = [
        [each["name"], f"{each['flops'] / 1e12:.3g}", f"{each['bandwidth'] / 1e9:,.0f}", f"{1e6 * each['launch']:.2g}"]
        for each in every
    ]
    return table(["device", "TFLOP/s, float32", "GB/s", "us a kernel"], rows)


def workers(stored: dict[str, Any]) -> str:
    found = [each["rows"] for name, each in stored.items() if name.startswith("workers-")]
    rows = [[title, *(form.format(each[key]) for each in found)] for key, (title, form) in TOLD.items()]
    return table(["", *(f"{each['workers']:,} workers" for each in found)], rows)


def machine(stored: dict[str, Any]) -> str:
    rows = [
        [name, each["machine"], each["began"], f"{each['load']:.1f}", f"`{(each['revision'] or 'none')[:8]}`"]
        for name, each in stored.items()
    ]
    return table(["what", "machine", "began", "load before", "revision"], rows)


def draw(stored: dict[str, Any]) -> None:
    """Microseconds per step against every size, and the head's time against workers; dashed: the bound."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure, panels = page(2, 3, width=PAGE)
        for axes, axis in zip(panels.flat, AXES, strict=False):
            for colour, each in zip(COLOURS, (r for r in stored["growth"]["rows"] if r["axis"] == axis), strict=False):
                micro = [1e6 / rate for rate in each["steps_per_second"]]
                label = f"{each['what']} ({each['slope']:+.2f})"
                _line(axes, each["sizes"], micro, colour, label, each["bound"])
            axes.set_xlabel(AXES[axis], labelpad=1)
            axes.set_ylabel("us per step", labelpad=2)
        found = [each["rows"] for name, each in stored.items() if name.startswith("workers-")]
        per_run = [1e3 * each["head_seconds"] / each["workers"] for each in found]
        _line(panels[1, 2], [each["workers"] for each in found], per_run, COLOURS[0], "head of a sweep", 0.0)
        panels[1, 2].set_xlabel("workers", labelpad=1)
        panels[1, 2].set_ylabel("ms of the head per run", labelpad=2)
        for axes in panels.flat:
            drawn = [line for line in axes.lines if line.get_marker() == "o"]
            heights = [float(value) for line in drawn for value in line.get_ydata()]
            sizes = [int(size) for size in drawn[0].get_xdata()]
            room = min(heights) / 2, max(heights) * 5 ** len(drawn)
            axes.set(xscale="log", yscale="log", ylim=room)
            axes.set_xticks(sizes, [spoken_steps(size, None) for size in sizes])
            axes.minorticks_off()
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False, fontsize=5.5, handlelength=1.2, loc="upper left")
        figure.savefig(FIGURE, metadata={"Date": None})


def _line(axes: Any, sizes: list[int], values: list[float], colour: str, label: str, bound: float) -> None:
    axes.plot(sizes, values, "o-", color=colour, linewidth=1.1, markersize=2.5, label=label)
    allowed = [values[0] * (size / sizes[0]) ** bound for size in sizes]
    axes.plot(sizes, allowed, color=colour, linewidth=0.7, linestyle=(0, (4, 3)), alpha=0.6)


def main() -> None:
    if "--measure" in sys.argv:
        measure()
    stored = _stored()
    if missing := sorted(COMMANDS.keys() - stored.keys()):
        sys.exit(f"not measured yet: {', '.join(missing)}")
    draw(stored)
    text = (HERE / "scaling.md").read_text(encoding="utf-8")
    for block in (growth, roofline, devices, workers, machine):
        place = re.compile(rf"(<!-- {block.__name__} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = place.sub(lambda found, block=block: found[1] + block(stored) + found[2], text)
    (HERE / "scaling.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
