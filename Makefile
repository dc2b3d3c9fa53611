# make report   set everything up, measure the booking, write reports/<booking>/report.html and report.pdf
# make test     set everything up and run every test, those on a real vLLM server included
# make check    formatting, lint and types
SHELL := bash
PYTHON ?= python3
BIN := .venv/bin
LIBRARIES := pango-1.0 pangoft2-1.0 harfbuzz-subset
# In two processes, in the order of the files, so that the long ones do not come last; the other tests measure, and have the
# machine for themselves.
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder
UNIT := $(BIN)/python -m pytest -m "not engine and not pipeline and not recorded and not fuzz and not browser" $(PARALLEL)
DEBIAN := libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core

.PHONY: report test unit check system browser setup

report: setup
	$(BIN)/snakemake --cores all report

test: setup browser
	$(BIN)/snakemake --cores all --quiet all -- engines
	$(BIN)/python -m pytest -m "not engine and not pipeline" $(PARALLEL)
	$(BIN)/python -m pytest -m "engine or pipeline"

unit: setup
	$(UNIT)

check: setup
	$(BIN)/snakefmt --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

setup: .venv/ready

.venv/ready: requirements.lock pyproject.toml | system
	@$(PYTHON) -c 'import sys; sys.exit("Benchbook needs Python 3.11 or newer; name one: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up .venv with the packages of requirements.lock (about a minute)."
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --no-deps -r requirements.lock
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The report page is tested in a real browser. CHROMIUM names one that is none of these.
browser:
	@test -n "$$CHROMIUM" || command -v chromium chromium-browser google-chrome > /dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "Installing chromium."; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	else \
	  echo "The tests open the report in a browser. Install one, then run make again:"; \
	  echo "  sudo apt-get install -y chromium      (Debian; or name one in the environment variable CHROMIUM)"; \
	  exit 1; \
	fi

# WeasyPrint's wheel brings no Pango. Looked for before anything is installed.
system:
	@$(PYTHON) -c 'import ctypes.util, sys; sys.exit(not all(map(ctypes.util.find_library, "$(LIBRARIES)".split())))' || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "Installing $(DEBIAN)."; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBIAN) > /dev/null; \
	else \
	  echo "The PDF needs Pango, which no Python package brings. Install it, then run make again:"; \
	  echo "  sudo apt-get install -y $(DEBIAN)      (Debian, Ubuntu)"; \
	  echo "  sudo dnf install -y pango harfbuzz dejavu-sans-fonts      (Fedora)"; \
	  echo "  brew install pango      (macOS: derive and present only)"; \
	  exit 1; \
	fi
