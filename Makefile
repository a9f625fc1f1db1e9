# The commands of the house. `make` alone lists them.
#
# Everything lives in .venv, made on first use from the package index alone. A stamp in
# .venv says what is installed; it is renewed when what it was made from changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
BUILT_FROM := pyproject.toml setup.py constraints.txt $(wildcard build_backend/*.py) \
	src/onelog/records/kernels.py src/onelog/records/packing.py $(wildcard src/onelog/records/*.pxd)
TMP ?= .cache

.DEFAULT_GOAL := help
.PHONY: help run serve test check format wheel crash interop fuzz bench clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.spark ## the product at work: broker, orders in every dialect, a table, its audit (ONCE=1: then end)
	$(BIN)/python examples/orders/run.py $(if $(ONCE),--once)

serve: $(VENV)/.core ## the broker alone, data in ./onelog-data
	$(BIN)/onelog serve $(ARGS)

test: $(VENV)/.spark $(VENV)/.test ## all tests that need nothing but Python, one real Spark run included
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.check ## format, lint, strict types, import rules, docs lists
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/rules $(ARGS)

format: $(VENV)/.check ## rewrite the code in the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

wheel: $(VENV)/.core ## build the wheel, install it into an empty environment, and ask it for its version
	rm -rf dist $(TMP)/wheel
	$(PIP) wheel . --no-deps --wheel-dir dist
	$(PYTHON) -m venv $(TMP)/wheel
	$(TMP)/wheel/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt dist/*.whl
	cd $(TMP) && wheel/bin/onelog --version && wheel/bin/onelog doctor

crash: $(VENV)/.spark $(VENV)/.test ## kill broker and driver for real, many times (long; kcat and strace make it whole)
	$(BIN)/python -m tests.crash $(ARGS)

interop: $(VENV)/.spark $(VENV)/.test ## real clients, each fetched and pinned: apt, PyPI, Maven, Go and npm (long)
	$(BIN)/python -m pytest -m "" tests/interop $(ARGS)
	$(BIN)/python -m tests.interop.table
	$(BIN)/python -m tests.interop.group_mix --mixed

fuzz: $(VENV)/.core $(VENV)/.test ## hostile frames for each dialect, with clients at work beside (ten minutes each)
	$(BIN)/python -m tests.crash.hostile $(ARGS)

bench: $(VENV)/.spark $(VENV)/.test ## figures, each as a ratio to something in the same run (long; Maven for Spark's own source)
	$(BIN)/python -m benchmarks $(ARGS)

clean: ## remove what was built here (not ./onelog-data)
	rm -rf $(VENV) .cache build dist src/*.egg-info .mypy_cache .ruff_cache .hypothesis spark-warehouse
	find src -name '*.so' -delete -o -name '*.c' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- what is installed -------------------------------------------------------------------

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) was not found. Install Python 3.11 or newer (Debian: apt install python3 python3-venv)." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $(PYTHON) is $$($(PYTHON) -V); onelog needs 3.11 or newer. Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "make: $(PYTHON) has no venv. Install it (Debian: apt install python3-venv)." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.made $(BUILT_FROM)
	$(PIP) install -c constraints.txt -e .
	@touch $@

define extra
	$(BIN)/python tools/requirements.py $(1) > $(VENV)/requirements-$(1).txt
	$(PIP) install -c constraints.txt -r $(VENV)/requirements-$(1).txt
endef

$(VENV)/.spark: $(VENV)/.core
	@echo "make: installing Spark and the table formats into $(VENV) (about 600 MB on the first time)"
	$(call extra,spark)
	$(call extra,demo)
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(call extra,test)
	@touch $@

$(VENV)/.check: $(VENV)/.core
	$(call extra,check)
	$(call extra,test)
	@touch $@
