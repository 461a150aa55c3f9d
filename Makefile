# `make run` starts streamviz; the first time it also creates .venv and installs the pinned packages into it.

PYTHONS = python3 python3.14 python3.13 python3.12 python3.11
PYTHON ?= $(shell for python in $(PYTHONS); do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)
LOCK = .venv/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --custom-compile-command "make lock"

# With this set, every process of a test run would compile the tests and streamviz's modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := run
.PHONY: run demo pictures test test-clients bench install install-dev lint lint-deploy lock python

run: install
	@exec .venv/bin/python manage.py up

# `make run` with a coding agent at work, whose model is simulated, and a database of its own.
demo: install
	@VAR_DIR=$${VAR_DIR:-var/demo} exec .venv/bin/python manage.py demo

# Recreate README's screenshots from a run of the demo agent. Needs Chromium.
pictures: install-dev
	@.venv/bin/python -m bench.pictures

# ARGS are pytest's arguments: make test ARGS="tests/core -x"
test: install-dev
	@.venv/bin/python -m pytest $(ARGS)

# Tests with real clients, which are installed into var/clients the first time; those for Node only if npm is there.
test-clients: install-dev
	@.venv/bin/python -m pytest -m clients -n0 $(ARGS) tests/clients

# Compare streamviz with the LiteLLM proxy (installed in its own environment under var/) and a direct connection. Prints
# tables in markdown. Takes about 15 minutes; `make bench ARGS="--rounds 1"` is quick and rough.
bench: install-dev
	@.venv/bin/python -m bench $(ARGS)

# Tools in Python run as `python -m`: their scripts in .venv name its original path, and a clone may have been moved.
lint: install-dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/python -m djlint --lint --quiet templates
	.venv/bin/python -m mypy
	.venv/bin/python -c 'from importlinter.cli import lint_imports_command as lint; lint()' --no-logo
	.venv/bin/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

# Check docker-compose.yml and the Kubernetes files against their schemas, which are downloaded the first time.
lint-deploy: install-dev
	.venv/bin/uv tool run --from check-jsonschema==0.39.0 check-jsonschema \
		--builtin-schema vendor.compose-spec docker-compose.yml
	.venv/bin/uv tool run kubernetes-validate==1.37.0 --strict --no-warn deploy/kubernetes/*.yaml

install: python
	@$(PYTHON) scripts/install.py run

install-dev: python
	@$(PYTHON) scripts/install.py dev

# Pin the newest versions that pyproject.toml allows, for every platform and every Python from 3.11 on.
lock: install-dev
	$(LOCK) --upgrade --output-file requirements/run.txt
	$(LOCK) --upgrade --extra dev --constraints requirements/run.txt --output-file requirements/dev.txt

python:
	@test -n "$(PYTHON)" || { echo "streamviz: Python 3.11 or newer is needed, and none of these is: $(PYTHONS)" >&2; exit 1; }
