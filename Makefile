# The two commands of the README are `make demo` and `make test`; both install what they need first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test test-slow lint format lock clean

install: $(STAMP)

$(STAMP): requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("edgeperf needs Python 3.11 or later; set PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: install
	$(BIN)/edgeperf search --space mobilenet-v2 --space resnet --device jetson-tx2 --objective accuracy --objective energy_mj --seed 1 --export 5 --out demo

test: install
	$(BIN)/python -m pytest

test-slow: install
	$(BIN)/python -m pytest -m "slow or not slow"

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Needs uv. Writes versions and hashes only; no address of a package index enters the file.
lock:
	uv pip compile pyproject.toml --extra cluster --extra nvml --extra onnx --extra parquet --extra postgres --group dev --universal --fork-strategy fewest --python-version 3.11 \
	  --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --no-annotate --output-file requirements.txt

clean:
	rm -rf $(VENV) demo dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
