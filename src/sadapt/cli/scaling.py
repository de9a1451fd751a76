"""What `bench` prints of growth and of other devices."""

from __future__ import annotations

from typing import Any

from sadapt.output import Column, console, show, show_json

Records = list[dict[str, Any]]


def show_growth(records: Records, *, as_json: bool) -> None:
    """A line a case: the pace at every size, and the slope beside its bound."""
    if as_json:
        return show_json(records)
    shown = [{**each, "range": f"{each['sizes'][0]:,} to {each['sizes'][-1]:,}"} for each in records]
    show(
        shown,
        [
            Column("axis", "size"),
            Column("range", "from, to"),
            Column("what", "what"),
            Column("steps_per_second", "steps/s", lambda rates: "  ".join(f"{rate:,.0f}" for rate in rates)),
            Column("slope", "slope", lambda slope: f"{slope:+.2f}", right=True),
            Column("bound", "bound", lambda bound: f"{bound:+.0f}", right=True),
            Column("keeps", "keeps it", lambda keeps: "yes" if keeps else "NO"),
        ],
    )
    return console().print("slope of log(seconds per environment step) over log(size)", markup=False)


def show_roofline(records: Records, *, as_json: bool) -> None:
    """A line a preset and world."""
    from sadapt.benchmarks.roofline import GPUS

    if as_json:
        return show_json(records)
    show(
        records,
        [
            Column("preset", "preset"),
            Column("world", "world"),
            Column("memory", "MB", lambda size: f"{size / 1e6:,.0f}", right=True),
            Column("flops", "MFLOP/step", lambda flops: f"{flops / 1e6:,.3g}", right=True),
            Column("bytes", "kB/step", lambda size: f"{size / 1e3:,.0f}", right=True),
            Column("kernels", "kernels/step", lambda count: f"{count:,.3g}", right=True),
            *(Column(gpu.name, f"{gpu.name}, steps/s", _rate, right=True) for gpu in GPUS),
            Column("expected", "here, expected", _rate, right=True),
            Column("measured", "measured", _rate, right=True),
            Column("ratio", "ratio", lambda ratio: "" if ratio is None else f"{ratio:.2f}", right=True),
        ],
    )
    here = records[0]["machine"]
    return console().print(
        f"max(FLOP / peak, bytes / bandwidth) + kernels x launch; this core: {here['flops'] / 1e9:.0f} GFLOP/s, "
        f"{here['bandwidth'] / 1e9:.1f} GB/s, {1e6 * here['launch']:.2f} us a kernel, all measured; GPUs: data sheets, "
        f"{1e6 * GPUS[0].launch:.0f} us a kernel assumed; worlds outside JAX are not in the estimate",
        markup=False,
    )


def _rate(rate: float | None) -> str:
    if rate is None:
        return ""
    return f"{rate:,.0f}"
