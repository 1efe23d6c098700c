# Two commands: `make demo` and `make test`. Both set themselves up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What Python compiles is kept, whatever the environment says: every command of a test would compile torch again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo site test setup native lint types web chromium machines unit browser sanitize docs clean

demo: setup
	$(BIN)/jumok demo

# The bundled models as a page without a server, in site/.
site: setup
	$(BIN)/jumok site -o site

# All parts, whatever fails; at the end the time of each and every failure. Parts that keep one core busy
# or wait now and then run side by side.
test:
	@MAKE="$(MAKE)" $(PYTHON) scripts/run_parts.py setup+web+chromium+machines native+lint+types unit browser+sanitize

setup: $(VENV)/installed

# With HASHES=1 everything that hashes.txt has is installed by its SHA-256 first, see CONTRIBUTING.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

$(VENV)/installed: pyproject.toml constraints.txt src/jumok/__init__.py
	$(PYTHON) -m venv $(VENV)
	$(if $(HASHES),$(PIP) --no-deps --require-hashes -r hashes.txt)
	$(PIP) -c constraints.txt -e ".[dev]"
	@touch $@

# The C library anew when its source has changed; without a compiler PyTorch does its work.
native: $(VENV)/native

$(VENV)/native: $(VENV)/installed $(wildcard src/jumok/native/c/*)
	-$(BIN)/python -m jumok.native.build
	@touch $@

# Python by ruff, the page by Biome; `ruff format .` and `npm run format` in web/ mend the layout.
lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	scripts/check_web.sh lint

types:
	$(BIN)/mypy

# The page: types, unit tests, and that the committed files are what the sources build.
web:
	scripts/check_web.sh

# The browser tests need a Chromium and fonts; installed where that is possible, else said what is skipped.
chromium:
	scripts/ensure_chromium.sh

# The C tests of other machines need an emulator, and zig in an environment of its own; said what is skipped without.
ZIG := build/zig-venv

machines:
	scripts/ensure_machines.sh $(ZIG)

# One process per core; each keeps to one thread, so the cores are shared fairly. Where a test asks for more, they wait
# asleep, as those of the command `jumok` do: one that spins takes the other process's core. The order is always the
# same: a change is judged by what it does, not by chance. The browser has processes of its own: the driver's event loop
# runs as long as its session, and other tests start loops themselves.
PYTEST := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/pytest -q -n 2 --dist worksteal --randomly-seed=1

unit:
	$(if $(wildcard $(ZIG)/bin/python),JUMOK_ZIG="$(CURDIR)/$(ZIG)/bin/python -m ziglang") $(PYTEST) --ignore=tests/browser

browser:
	$(PYTEST) tests/browser

# The C library's tests once more, with checks of every access to memory.
sanitize: setup
	scripts/sanitize.sh

# The documentation as a site in build/docs, with tools of its own and the explorer of the bundled models in it; links
# that lead nowhere fail it.
DOCS := build/docs-venv

docs: site $(DOCS)/installed
	$(DOCS)/bin/python scripts/make_docs.py

$(DOCS)/installed: scripts/docs_requirements.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

clean:
	rm -rf $(VENV) build web/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
