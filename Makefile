# Everything runs in .venv, which the targets make for themselves.
# Needs Python 3.11 or later, git and make.

PYTHON  ?= python3
WORKERS ?= 2
BIN     := .venv/bin
PIP     := $(BIN)/python -m pip --quiet --disable-pip-version-check
FILMS   := maze-small butterflies-small tetris

.DEFAULT_GOAL := help
.PHONY: help demo test lint slow bench clean distclean
.DELETE_ON_ERROR:

help: ## show this list
	@echo "usage: make TARGET [PYTHON=python3] [WORKERS=2]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: .venv/.ready ## probe three worlds and film an agent in each (demo/*.gif)
	@for env in $(FILMS); do \
	    $(BIN)/sadapt probe $$env --plot demo/$$env.png && \
	    $(BIN)/sadapt film $$env --out demo/$$env.gif || exit; \
	done

test: lint ## lint, then every test that is not marked slow
	$(BIN)/pytest -m "not slow" -n $(WORKERS) --dist worksteal

lint: .venv/.ready-test ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/mypy

slow: .venv/.ready-test ## the learning tests, minutes each
	$(BIN)/pytest -m slow

bench: .venv/.ready-bench ## measure speed on one core, beside Stable-Baselines3
	$(BIN)/sadapt bench

clean: ## remove caches, builds and the demo's output (keeps runs/ and .venv)
	rm -rf demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## clean, and remove .venv too
	rm -rf .venv

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "sadapt needs Python 3.11 or later; $(PYTHON) is $$(command -v $(PYTHON) >/dev/null \
	        && $(PYTHON) --version 2>&1 || echo not on this machine)." \
	        "Name another one, for example: make PYTHON=python3.12 demo" >&2; exit 1; }
	@echo "setting up .venv (a minute or two, the first time)"
	@$(PYTHON) -m venv .venv
	@$(PIP) install --editable .
	@touch $@

.venv/.ready-test: .venv/.ready
	@echo "adding the test tools to .venv"
	@$(PIP) install --editable ".[test]"
	@touch $@

.venv/.ready-bench: .venv/.ready
	@echo "adding Stable-Baselines3 to .venv"
	@$(PIP) install --editable ".[bench]"
	@touch $@
