# Two commands are enough: `make demo` and `make test`. Both set up everything they need.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench clean help

help:
	@echo "make demo    a live crowd learns, privately, on this machine"
	@echo "make test    all tests"
	@echo "make check   style, types and the layer contract only"
	@echo "make bench   the benchmarks of device and server"

demo: $(READY)
	$(BIN)/crowdml demo $(ARGS)

test: check
	$(BIN)/pytest -q -n auto --dist loadgroup $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/crowdml bench device
	$(BIN)/crowdml bench server

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "crowdml needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); $(MAKE) --no-print-directory venv-package; \
		$(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

# Debian and Ubuntu ship the venv module as a package of its own.
.PHONY: venv-package
venv-package:
	@SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	$$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq python3-venv

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
