# Everything runs in .venv, which the targets make for themselves.
# Needs Python 3.11 or later, git and make.

PYTHON  ?= python3
WORKERS ?= 2
REV     ?= HEAD
SEED    ?= 1
INPUTS  ?= 2000
BIN     := .venv/bin
PIP     := $(BIN)/python -m pip --quiet --disable-pip-version-check
DEMO    := --out demo/s-adapt --overwrite --total-timesteps 600000

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint slow soak fuzz same bench docs wheel clean distclean
.DELETE_ON_ERROR:

help: ## show this list
	@echo "usage: make TARGET [PYTHON=python3] [WORKERS=2] [REV=HEAD] [SEED=1] [INPUTS=2000]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: .venv/.ready ## install the program into .venv
	@echo "the program is $(BIN)/sadapt; to call it sadapt: source $(BIN)/activate"

demo: .venv/.ready ## train S-Adapt on Tetris, draw its curve and film it next to a random agent
	$(BIN)/sadapt probe tetris
	$(BIN)/sadapt train tetris $(DEMO)
	$(BIN)/sadapt train tetris --objective random --total-timesteps 20000 --out demo/random --overwrite --quiet
	$(BIN)/sadapt eval demo/s-adapt
	$(BIN)/sadapt plot demo/s-adapt --out demo/curve.png
	$(BIN)/sadapt watch demo/s-adapt --compare demo/random --out demo/film.gif
	@echo; echo "the curve is demo/curve.png, the film is demo/film.gif, the run is demo/s-adapt"

test: .venv/.ready-test ## lint, format, types (in parallel with the tests) and every test that is not marked slow
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/mypy & types=$$!; \
	$(BIN)/pytest -m "not slow" -n $(WORKERS) --dist worksteal --durations=10; tests=$$?; \
	wait $$types && exit $$tests

lint: .venv/.ready-test ## ruff, its format, and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

slow: .venv/.ready-slow ## the learning tests, minutes each
	$(BIN)/pytest -m slow -n $(WORKERS) --dist worksteal

soak: .venv/.ready-test ## kill training twenty times per learner and twenty times in its first seconds, and compare the results
	SADAPT_KILLS=20 $(BIN)/pytest tests/runs/test_kill.py -n $(WORKERS)

fuzz: .venv/.ready-test ## try INPUTS damaged files and wrong command lines of seed SEED, ten minutes on two cores
	$(BIN)/python -m tools.fuzz --seed $(SEED) --inputs $(INPUTS) --workers $(WORKERS) $(if $(ONLY),--only $(ONLY))

same: .venv/.ready-test ## train briefly here and at revision REV, and compare the runs byte by byte
	$(BIN)/python tools/same.py $(REV)

bench: .venv/.ready-bench ## measure speed on one core, compared with Stable-Baselines3, rejax, gymnax and minatar
	$(BIN)/sadapt bench

docs: .venv/.ready-docs ## build the documentation site into site/, with warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "the site is site/index.html; to search in it: $(BIN)/python -m http.server --directory site"

wheel: .venv/.ready ## build the wheel into dist/, install it in a clean environment and try it there
	$(BIN)/python tools/wheel.py

clean: ## remove caches, builds and the demo's output (keeps runs/ and .venv)
	rm -rf demo build dist site .fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## clean, and remove .venv too
	rm -rf .venv

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "sadapt needs Python 3.11 or later; $(PYTHON) is $$(command -v $(PYTHON) >/dev/null \
	        && $(PYTHON) --version 2>&1 || echo not on this machine)." \
	        "Name another one, for example: make PYTHON=python3.12 demo" >&2; exit 1; }
	@echo "setting up .venv (about a minute, the first time)"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.ready: pyproject.toml | .venv/.python
	@$(PIP) install --editable .
	@touch $@

.venv/.ready-test: pyproject.toml | .venv/.python
	@$(PIP) install --editable ".[test]"
	@touch $@ .venv/.ready

.venv/.ready-slow: .venv/.ready-test
	@echo "adding Stable-Baselines3, MiniGrid, Ray, submitit and what the site needs to .venv"
	@$(PIP) install --editable ".[test,recipes,ray,slurm,docs]"
	@touch $@

.venv/.ready-docs: .venv/.ready
	@echo "adding mkdocs-material, mkdocstrings and nbclient to .venv"
	@$(PIP) install --editable ".[docs]"
	@touch $@

.venv/.ready-bench: .venv/.ready
	@echo "adding Stable-Baselines3 and minatar to .venv"
	@$(PIP) install --editable ".[bench]"
	@touch $@
