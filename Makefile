# Two commands are enough: `make demo` and `make test`. Both set up everything they need.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := $(VENV)/.has-dev
NODE := node_modules
NODE_READY := $(NODE)/.ready
# The lock lets parallel recipes run one apt-get at a time.
APT = SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo); export DEBIAN_FRONTEND=noninteractive; \
	alone="flock -o Makefile"; $$alone $$SUDO apt-get update -qq && \
	$$alone $$SUDO apt-get install -y -qq --no-install-recommends

.PHONY: demo test quick coverage mutants check docs bench soak screenshots clean help
.PHONY: device dist image image-check image-push release-check release-tag sbom

help:
	@echo "make demo    a live crowd learns, privately, on this machine"
	@echo "make test    all tests, also in a browser: CHROMIUM=/path/to/it, or one is installed"
	@echo "make quick   the tests that take two minutes"
	@echo "make coverage   which lines and branches the tests reach, in site/coverage/"
	@echo "make mutants    small faults in privacy, optim and learning that tests must find: FILES=…"
	@echo "make check   style, types, layers, workflows and known vulnerabilities only"
	@echo "make docs    the documentation and the reference of the package as a site, in site/"
	@echo "make release-check   build, install each extra from the wheel, run demo and tutorial"
	@echo "make image   the server as a container: BUILDER=docker or buildah"
	@echo "make image-check   build it with buildah, and run its server on PostgreSQL"
	@echo "make screenshots   pictures of every page and state, into screenshots/"
	@echo "make bench   the benchmarks of device and server"
	@echo "make soak    an hour of load, faults and fuzzing: SOAK=3600 seconds"
	@echo "make fuzz    random bytes for every parser of outside bytes: FUZZ=60 seconds each"
	@echo "make clean   remove what these commands have set up"

# The demo with noise or digits needs further extras, which are installed on demand.
MORE := $(if $(filter %laplace %gaussian,$(ARGS)),noise) $(if $(filter %digits,$(ARGS)),sim)
demo: $(VENV)/.has-demo $(MORE:%=$(VENV)/.has-%)
	$(BIN)/crowdml demo $(ARGS)

# The tests start hundreds of programs, so Python keeps compiled files for the next program.
unexport PYTHONDONTWRITEBYTECODE

# Tests wait for servers and browsers half of the time, so each core gets three workers.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(3 * os.cpu_count())')
PYTEST = $(BIN)/pytest -q -n $(WORKERS) --dist loadgroup --no-loadscope-reorder
SYSTEM := certutil chromium firefox mosquitto nginx postgresql

# Run the tests of the JavaScript while pip installs, and the checks beside the tests of the Python.
# The output of a check is shown when the check ends.
test:
	@$(MAKE) --no-print-directory -j 4 --output-sync=line $(READY) $(NODE_READY) system javascript
	@$(MAKE) --no-print-directory -j 3 --output-sync=target suite $(CHECKS)

suite: compiled collected
	@$(MAKE) --no-print-directory --output-sync=none pytest

pytest:
	$(PYTEST) $(ARGS)

# Coverage counts only the tests' own processes, not the servers and devices that they start.
coverage: $(READY) $(NODE_READY) $(SYSTEM)
	$(PYTEST) --cov crowdml --cov-branch --cov-report term:skip-covered \
		--cov-report html:site/coverage $(ARGS)

# Change one place after the other; a test must fail each time. FILES are modules; the default is
# all modules of three packages, which takes about half an hour on one core.
mutants: $(READY)
	$(BIN)/python -m tests.mutants $(FILES)

# Take pictures of every page and state, on a desktop and a phone, in light and dark, in every language.
screenshots: $(READY) $(NODE_READY) chromium
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

# Check style and types, and run the tests without browsers, crowds and servers, in two minutes.
quick: $(READY) $(NODE_READY)
	@$(MAKE) --no-print-directory -j 3 --output-sync=target core $(CHECKS)

CORE := tests/learning tests/models tests/optim tests/privacy tests/protocol \
	tests/device/test_device.py tests/device/storage/test_store.py \
	tests/server/database tests/server/log \
	tests/learnt tests/test_contracts.py tests/test_kinds.py tests/test_names.py tests/test_surfaces.py \
	tests/test_words.py
core:
	@$(MAKE) --no-print-directory --output-sync=none pytest ARGS="$(CORE) $(ARGS)"

CHECKS := types style layers workflows vulnerabilities
.PHONY: $(CHECKS) javascript compiled collected core suite pytest
check: $(READY) $(NODE_READY)
	@$(MAKE) --no-print-directory -j 3 $(CHECKS)

types: $(READY) $(NODE_READY)
	$(BIN)/mypy
	$(BIN)/mypy benchmarks
	$(NODE)/.bin/tsc -p tsconfig.json

style: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

layers: $(READY)
	$(BIN)/lint-imports

workflows: $(NODE_READY)
	node tests/workflows.mjs .github/workflows/*.yml

# Node 18 needs an option for the browser's cryptography; later versions do not.
javascript: $(NODE_READY)
	@said=$$(NODE_OPTIONS=--experimental-global-webcrypto node --test \
		$$(find tests/web -name '*.test.js')) \
		|| { echo "$$said"; exit 1; }; echo "tests of the JavaScript:"; tail -n 8 <<< "$$said"

# One process compiles the simulator and one the tests; otherwise every worker would compile them.
compiled: $(READY)
	$(BIN)/crowdml simulate --dataset digits --devices 50 --mechanism laplace --epsilon 1 --rate 30 \
		--trials 1 > /dev/null

collected: $(READY)
	-@$(BIN)/pytest --collect-only -q > /dev/null

# Known vulnerabilities of what is installed. Without the list of them, the check is skipped.
vulnerabilities: $(READY)
	@found=$$(timeout 60 $(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip \
		--progress-spinner off 2>&1); \
	if grep -q '^Found [0-9]' <<< "$$found"; then echo "$$found"; exit 1; fi; \
	grep -q '^No known' <<< "$$found" && ! grep -q 'could not be audited' <<< "$$found" \
		|| echo "pip-audit could not check everything; continuing without it"

docs: $(READY)
	$(BIN)/python -m docs.site site
	@echo "open site/index.html"

# The tests of a device that need nothing from Linux: no brokers, browsers or PostgreSQL.
device: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) tests/device/test_device.py tests/device/storage/test_store.py \
		tests/models tests/privacy tests/protocol $(ARGS)

# Build the sdist from the sources, and the wheel from the sdist, as a package index gets them.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build --target sdist --directory dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist dist/*.tar.gz

# Slow: every extra is downloaded into its own environment. EXTRAS="demo tutorial" tries only these two.
release-check: $(VENV)/.has-release dist
	$(BIN)/python -m tests.packaging.release check $(EXTRAS)

release-tag: $(READY)
	@$(BIN)/python -m tests.packaging.release tag "$(TAG)"

sbom: $(VENV)/.has-release dist
	$(BIN)/python -m tests.packaging.release sbom

# Use Docker if its engine runs, otherwise buildah as root, which needs no registry.
BUILDER ?= $(shell docker info >/dev/null 2>&1 && echo docker || echo buildah)
image:
	@[ "$(BUILDER)" != buildah ] || $(MAKE) --no-print-directory buildah
	DOCKER_BUILDKIT=1 $(PYTHON) -m tests.packaging.image build $(BUILDER)

# Run the image's server on PostgreSQL with a read-only root; check the files for Compose and Caddy.
image-check: $(READY) caddy compose postgresql
	@$(MAKE) --no-print-directory image BUILDER=buildah
	$(BIN)/python -m tests.packaging.image check

# REGISTRY, REGISTRY_USER and REGISTRY_PASSWORD come from the environment.
image-push:
	@$(BUILDER) login --username "$$REGISTRY_USER" --password-stdin "$${REGISTRY%%/*}" \
		<<< "$$REGISTRY_PASSWORD"
	$(BUILDER) tag crowdml "$$REGISTRY/crowdml:$(TAG)"
	$(BUILDER) push "$$REGISTRY/crowdml:$(TAG)"

bench: $(READY)
	$(BIN)/crowdml bench device
	$(BIN)/crowdml bench server

SOAK ?= 3600
soak: $(READY) postgresql
	FUZZED=10000 RUNS=1000 $(BIN)/pytest -q tests/server/http/test_fuzz.py tests/integration/test_machine.py
	$(BIN)/python -m tests.soak $(SOAK)

# Fuzz every parser of outside bytes in turn, for FUZZ seconds each. An input that fails is kept in
# the folder of this file; add it to tests/fuzz/corpus when the fault is fixed.
FUZZ ?= 60
PARSERS := $(notdir $(wildcard tests/fuzz/corpus/*))
.PHONY: fuzz $(PARSERS:%=fuzz-%)
fuzz: $(PARSERS:%=fuzz-%)

$(PARSERS:%=fuzz-%): fuzz-%: $(READY)
	@mkdir -p .fuzz/$*
	$(BIN)/python -m tests.fuzz $* -max_total_time=$(FUZZ) -max_len=4096 -verbosity=0 \
		.fuzz/$* tests/fuzz/corpus/$*

# One environment, with a marker file for each installed extra. Python compiles modules on first use.
$(VENV)/.has-%: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "installing what crowdml[$*] needs: a minute or two"
	$(BIN)/python -m pip install --no-compile --constraint constraints.txt --editable '.[$*]'
	@touch $@

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "crowdml needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); $(MAKE) --no-print-directory venv-package; \
		$(PYTHON) -m venv $(VENV); }

$(NODE_READY): package.json
	@$(MAKE) --no-print-directory node
	npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

# Install what the tests need from the system, from Debian's or Ubuntu's packages, unless installed.
.PHONY: system venv-package node buildah caddy certutil compose chromium firefox mosquitto nginx postgresql

system: $(SYSTEM)

venv-package:
	@$(APT) python3-venv

NODE_IS_THERE = node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' && npm --version
node:
	@{ $(NODE_IS_THERE); } >/dev/null 2>&1 || { $(APT) nodejs npm; }
	@{ $(NODE_IS_THERE); } >/dev/null 2>&1 \
		|| { echo "the tests need Node 18 or newer with npm; install them"; exit 1; }

# Ubuntu's chromium-browser may be a stub that only asks for a snap, so each name is tried.
CHROMIUM_IS_THERE = for each in $${CHROMIUM:-chromium google-chrome google-chrome-stable \
	chromium-browser}; do "$$each" --version && exit 0; done
chromium:
	@( $(CHROMIUM_IS_THERE); exit 1 ) >/dev/null 2>&1 || [ -n "$$CHROMIUM" ] \
		|| { $(APT) chromium fonts-dejavu-core; }
	@( $(CHROMIUM_IS_THERE); exit 1 ) >/dev/null 2>&1 \
		|| { echo "the tests need Chromium; install it, or set CHROMIUM=/path/to/it"; exit 1; }

# certutil sets the authorities that Chromium trusts; without it the tests of certificates are skipped.
certutil:
	@command -v certutil >/dev/null || { $(APT) libnss3-tools; } >/dev/null 2>&1 \
		|| echo "certutil is not available; continuing without it"

# Ubuntu's firefox is a stub for a snap; without Firefox its one test is skipped.
firefox:
	@firefox-esr --version >/dev/null 2>&1 || firefox --version >/dev/null 2>&1 \
		|| { $(APT) firefox-esr; } >/dev/null 2>&1 || echo "Firefox is not available; continuing without it"

# Debian's package starts its own server, which the tests do not use.
POSTGRESQL_IS_THERE = ls /usr/lib/postgresql/*/bin/initdb || initdb --version
postgresql:
	@{ $(POSTGRESQL_IS_THERE); } >/dev/null 2>&1 || { $(APT) postgresql; }
	@{ $(POSTGRESQL_IS_THERE); } >/dev/null 2>&1 \
		|| { echo "the tests need PostgreSQL; install it"; exit 1; }

# The tests start their own brokers, so the package's service is stopped.
MOSQUITTO_IS_THERE = PATH="$$PATH:/usr/sbin:/usr/local/sbin" command -v mosquitto
mosquitto:
	@$(MOSQUITTO_IS_THERE) >/dev/null || { $(APT) mosquitto; \
		[ ! -d /run/systemd/system ] || $$SUDO systemctl disable --quiet --now mosquitto; }
	@$(MOSQUITTO_IS_THERE) >/dev/null || { echo "the tests need mosquitto; install it"; exit 1; }

# Debian's package starts a service on port 80, which is stopped here.
NGINX_IS_THERE = PATH=$$PATH:/usr/sbin nginx -v >/dev/null 2>&1
nginx:
	@$(NGINX_IS_THERE) || { $(APT) nginx-light; \
		{ $$SUDO systemctl disable --now nginx || $$SUDO service nginx stop; } >/dev/null 2>&1; true; }
	@$(NGINX_IS_THERE) || { echo "the tests need nginx; install it"; exit 1; }

buildah:
	@{ buildah --version && debootstrap --version; } >/dev/null 2>&1 || { $(APT) buildah debootstrap; }

# Debian's package starts a service on port 80, as nginx does; it is stopped here.
caddy:
	@caddy version >/dev/null 2>&1 || { $(APT) caddy; \
		{ $$SUDO systemctl disable --now caddy || $$SUDO service caddy stop; } >/dev/null 2>&1; true; }

compose:
	@docker compose version >/dev/null 2>&1 || docker-compose version >/dev/null 2>&1 \
		|| { $(APT) docker-compose; }

clean:
	rm -rf $(VENV) $(NODE) dist sbom screenshots site
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
