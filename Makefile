# One word for each thing people do here. `make` alone prints this list.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-test demo test check bench lock clean

PYTHON := .venv/bin/python
# Two workers: much of the suite waits on real processes, and a CI machine has two cores. PYTEST_ARGS adds options.
PYTEST := $(PYTHON) -m pytest -n 2 --dist loadfile
CHECKS := tests/test_imports.py tests/test_style.py tests/test_units.py $(wildcard tests/test_*doc*.py)

help: ## Print this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1:\2/p' $(MAKEFILE_LIST) | while IFS=: read -r word meaning; do printf '  make %-11s %s\n' "$$word" "$$meaning"; done

setup: ## Make .venv from requirements.lock; afterwards .venv/bin/meterd and .venv/bin/meterctl work
	@.ci/setup demo

setup-test: ## The set-up, and the system packages that the tests need
	@.ci/setup test

demo: setup ## Run a demo floor with simulated tables until Ctrl-C; its ledger is kept under var/demo
	@exec $(PYTHON) -m controller.demo

test: setup-test ## Run every test
	@$(PYTEST) $(PYTEST_ARGS)

check: setup-test ## Linter, strict types, import table, style, units and documents
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -m pytest -q $(CHECKS)

bench: setup ## Measure speed against bare loops and print the ratios
	@$(PYTHON) -m tests.bench

# Pins that still fit are kept; LOCK_ARGS=--upgrade takes the newest. setuptools builds our own package.
lock: setup ## Write requirements.lock from pyproject.toml: pinned, with hashes, naming no registry
	@$(PYTHON) -m uv --version >/dev/null 2>&1 || $(PYTHON) -m pip install --quiet uv
	@echo 'setuptools>=75' | $(PYTHON) -m uv pip compile pyproject.toml - --extra dev --universal --python-version 3.11 \
		--generate-hashes --no-header --no-emit-index-url --no-emit-find-links --quiet $(LOCK_ARGS) \
		--output-file requirements.lock
	@! grep -nE 'https?://|--(index-url|extra-index-url|find-links)' requirements.lock

clean: ## Remove .venv and what tools left behind; ledgers under var/ stay
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
