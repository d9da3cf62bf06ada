# Two commands for newcomers: `make demo` and `make test`. Both set everything up first and are quick the second time.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-fast docs check programs lock clean figures

setup: .venv/.ready

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rankveil needs Python 3.11 or newer; set PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh

test: setup check programs
	$(BIN)/python -m pytest -n 2

# For daily work: tests of units and properties that took at most a tenth of a second when they were last run here.
test-fast: setup
	$(BIN)/python -m pytest -n 2 -q --fast tests/unit tests/properties

# The documentation as a site in build/site; loads nothing from elsewhere. To read it with its search:
# python3 -m http.server --directory build/site --bind 127.0.0.1
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "The site is in build/site; begin with index.html."

# Chromium, axe and R for some tests; where they cannot be had, those tests skip and say why.
programs: setup
	@tools/programs.sh

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Resolves the newest versions the declared ranges allow and pins them with hashes; no registry is named in the file.
lock: setup
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --all-extras --allow-unsafe --strip-extras --no-header \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
