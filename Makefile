# make demo | test | test-studies | test-processors | test-lowest | test-browser | coverage | check | docs | bench | torture | fuzz |
# lock | locked | licenses | sbom: each does all the set-up on a fresh machine with python3 and make.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= $(MUTINY_DATA)
LOWEST ?=  # e.g. LOWEST=torch=2.13.0 where no older CPU build of torch can be had

.PHONY: demo test test-studies test-processors test-lowest test-browser coverage check format docs bench torture fuzz lock locked licenses sbom clean

demo: .venv/installed
	@$(BIN)/mutiny demo

# Tests write no bytecode, so that hundreds of commands and workers that they start would each compile mutiny again.
COMPILE = $(BIN)/python -m compileall -q src

# In the order of folders, so that the short examples of src come last and no worker waits for a long file.
test: .venv/installed-dev
	@$(COMPILE)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow and not browser" \
		--ignore=tests/studies --ignore=tests/benchmarks

# What is not part of the package: studies/ and benchmarks/.
test-studies: .venv/installed-dev
	@$(COMPILE)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not browser" tests/studies tests/benchmarks

# As if on other processors, as far as MKL, oneDNN, OpenBLAS and torch can be told to leave instruction sets unused.
PLAIN := MKL_CBWR=COMPATIBLE OPENBLAS_CORETYPE=Sandybridge ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41
AVX2 := MKL_CBWR=AVX2 OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
ROUNDING := tests/models tests/subjects tests/faults tests/verbs tests/studies

test-processors: .venv/installed-dev
	$(PLAIN) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m rounding $(ROUNDING)
	$(AVX2) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m rounding $(ROUNDING)

test-lowest: .venv-lowest/installed
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n auto --dist loadfile -m "not slow and not browser" \
		-o filterwarnings=default tests

coverage: .venv/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not browser" \
		--cov --cov-report=term:skip-covered --cov-report=html

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

# torchattacks asks for an old release of requests, which has known flaws, and for torchvision, but uses neither.
bench: .venv/installed-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps torchattacks==3.5.1
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -k torchattacks tests/verbs/attack
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks --quick $(if $(DATA),--data $(DATA))

# e.g. make torture TORTURE="--kills 1000 --every-point"
torture: .venv/installed-dev
	OMP_NUM_THREADS=1 RAY_worker_niceness=0 $(BIN)/python -m torture $(TORTURE)
	OMP_NUM_THREADS=1 RAY_worker_niceness=0 $(BIN)/python -m pytest -m slow tests

# e.g. make fuzz FUZZ="--files 100000 --commands 5000 --seconds 7200"
fuzz: .venv/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz $(FUZZ)

# Versions and hashes for constraints.txt as it is. To raise a version, change it there first.
lock: .venv-uv/bin/uv
	PATH="$(CURDIR)/.venv-uv/bin:$$PATH" .ci/lock > locks/mutiny.new && mv locks/mutiny.new locks/mutiny.txt
	PATH="$(CURDIR)/.venv-uv/bin:$$PATH" .ci/lock --all-extras > locks/all.new && mv locks/all.new locks/all.txt

locked: .venv-locked/installed
	.venv-locked/bin/python -m pip check

licenses: .venv-locked/installed
	.venv-locked/bin/python .ci/licenses > licenses.new && mv licenses.new docs/licenses.md

sbom: .venv-locked/installed
	.venv-locked/bin/python .ci/sbom attacks ray notebook tracking frameworks > mutiny-nn.cdx.json

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

.venv-lowest/installed: pyproject.toml .ci/lowest
	@echo "Installing mutiny and the lowest versions that it supports into .venv-lowest (a few minutes, once) ..."
	@$(PYTHON) -m venv .venv-lowest
	@.ci/lowest $(LOWEST) > .venv-lowest/constraints.txt
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		-c .venv-lowest/constraints.txt -e ".[dev]"
	@touch $@

.venv-uv/bin/uv:
	@$(PYTHON) -m venv .venv-uv
	@.venv-uv/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.8

.venv-locked/installed: constraints.txt pyproject.toml locks/all.txt
	@echo "Installing mutiny and everything in locks/all.txt into .venv-locked (a few minutes, once) ..."
	@$(PYTHON) -m venv --clear .venv-locked
	@.venv-locked/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@.venv-locked/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/all.txt
	@.venv-locked/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

clean:
	rm -rf .venv .venv-* licenses.new locks/*.new htmlcov .coverage* .mypy_cache .ruff_cache .hypothesis site
