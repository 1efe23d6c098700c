# Two commands: `make demo` and `make test`. Both set themselves up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test setup lint types unit clean

demo: setup
	$(BIN)/jumok demo

test: setup lint types unit

setup: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

# One process per core; each keeps to one thread, so the cores are shared fairly.
unit:
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist worksteal

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
