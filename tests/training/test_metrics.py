"""Rows of metrics: a learner's reports by whatever names it gives them."""

from __future__ import annotations

import jax.numpy as jnp

from sadapt.learners.idle import idle
from sadapt.training import loop, parts

from .test_program import tiny


def test_a_learner_alone_knows_what_it_reports(monkeypatch):
    """Two reports of names that nobody else has heard of take the place of loss and q."""

    def candid(task):
        report = {"doubt": jnp.float32(0.5), "mood": jnp.float32(2)}
        charts = {name: f"feelings/{name}" for name in report}
        return idle(task)._replace(update=lambda key, state, views, normaliser: (state, report), reports=charts)

    monkeypatch.setattr(parts, "idle", candid)
    rows = []
    loop.train(tiny("pqn", objective="random"), on_row=rows.append)
    assert (rows[-1]["doubt"], rows[-1]["mood"]) == (0.5, 2)
    names = list(rows[-1])
    assert names[names.index("n_min") : names.index("epsilon")] == ["n_min", "doubt", "mood"]
