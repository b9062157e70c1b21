# Everything you type in this repository. `make` alone lists it.
#
# uv does the work. If it is not on PATH, a copy is fetched into .uv/ the first time it is needed. Indexes, proxies
# and mirrors come from your own pip and uv settings; nothing here names one.

PYTHON ?= python3
ARGS ?=
CHANGED ?=
UV := $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
RUN := $(UV) run
CODE := $(wildcard src tests tools bench)
# Without bytecode every process compiles all of Python's libraries anew, for seconds; many containers forbid to keep it.
export PYTHONDONTWRITEBYTECODE :=
# Three workers fill two cores: tests wait a third of their time, for leases, outages and clocks that tick.
WORKERS ?= 3

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test quick prove check fix bench chaos shape mutants page types screenshots reference changelog lock

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: | $(UV)  ## start a server with the demo office (ARGS="--port 9000")
	$(RUN) --no-dev bullpen serve --demo office $(ARGS)

test: | $(UV)  ## run the tests (ARGS=spaces, ARGS="-k chain"; CHANGED=1: what your changes can affect)
	$(RUN) python -m tools.page install
	CHANGED=$(CHANGED) WORKERS=$(WORKERS) $(RUN) python -m tools.run_tests $(ARGS)

quick: | $(UV)  ## a minute: rules, architecture and the path of a message, on SQLite
	WORKERS=$(WORKERS) $(RUN) python -m tools.run_tests quick $(ARGS)

prove: | $(UV)  ## the exhaustive tests, in parts of ten minutes at most (ARGS=--list; ARGS="kills-sqlite races")
	$(RUN) python -m tools.page install
	WORKERS=$(WORKERS) $(RUN) python -m tools.prove $(ARGS)

check: | $(UV)  ## format, lint, types, layers, mutants that fit: what a commit must pass
	$(RUN) python -m tools.check

fix: | $(UV)  ## repair what a machine can repair
	$(RUN) ruff check --fix $(CODE)
	$(RUN) ruff format $(CODE)

bench: | $(UV)  ## measure; prints CPU and ratios, keeps them in bench/results/
	$(RUN) python -m bench $(ARGS)

chaos: | $(UV)  ## kill a server hundreds of times and check that nothing was lost
	$(RUN) python -m bench.chaos $(ARGS)

shape: | $(UV)  ## sizes of files and functions, beside those of code we admire
	$(RUN) python -m tools.shape $(ARGS)

mutants: | $(UV)  ## break the code on purpose, one place at a time; each break must turn its test red (ARGS=spaces)
	$(RUN) python -m tools.mutants $(ARGS)

page: | $(UV)  ## build the page anew after changing ui/ (make run does it by itself)
	$(RUN) python -m tools.page build

types: | $(UV)  ## write the page's types anew from the routes
	$(RUN) python -m tools.page types

screenshots: | $(UV)  ## pictures of the main views, wide and narrow, light and dark, in screenshots/
	$(RUN) python -m tools.page screenshots

reference: | $(UV)  ## write docs/reference/ anew from the code
	$(RUN) python -m tools.reference

changelog: | $(UV)  ## move the fragments of changelog.d/ into CHANGELOG.md (ARGS="0.2.0")
	$(RUN) python -m tools.changelog $(ARGS)

lock: | $(UV)  ## resolve the dependencies anew and write requirements.lock
	$(UV) lock --upgrade
	$(UV) export --frozen --quiet --no-emit-project --no-annotate --no-header --all-extras --all-groups --output-file requirements.lock

# Only reached when uv is not on PATH.
.uv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Bullpen needs Python 3.11 or newer as '$(PYTHON)'. Install it, or name another: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments. Install that part (Debian and Ubuntu: apt install python3-venv)," >&2; \
	  echo "or install uv yourself and put it on PATH." >&2; exit 1; }
	@echo "uv is not on PATH: fetching it into .uv/ (once)."
	@$(PYTHON) -m venv .uv
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check uv
