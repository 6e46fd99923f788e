# make demo | test | test-browser | check | docs | bench | torture: each does all the set-up on a fresh machine with python3 and make.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= $(MUTINY_DATA)

.PHONY: demo test test-browser check format docs bench torture clean

demo: .venv/installed
	@$(BIN)/mutiny demo

test: .venv/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not browser"

test-browser: .venv/installed-browser
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m browser tests/browser

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/installed-docs
	$(BIN)/mkdocs build --strict

bench: .venv/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks --quick $(if $(DATA),--data $(DATA))

torture: .venv/installed-dev
	OMP_NUM_THREADS=1 RAY_worker_niceness=0 $(BIN)/python -m torture
	OMP_NUM_THREADS=1 RAY_worker_niceness=0 $(BIN)/python -m pytest -m slow tests/campaigns/engines

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing mutiny and its dependencies into .venv (a minute or two, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/installed-dev: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing mutiny and its development tools into .venv (a minute or two, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@ .venv/installed

.venv/installed-browser: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing mutiny and what drives a browser into .venv (a minute or two, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[browser]"
	@touch $@ .venv/installed-dev .venv/installed

.venv/installed-docs: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing mutiny and what makes its site into .venv (a minute or two, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	@touch $@ .venv/installed

clean:
	rm -rf .venv .mypy_cache .ruff_cache .hypothesis site
