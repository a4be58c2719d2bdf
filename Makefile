# Everything that is done with a checkout. All of it lives in .venv; `make help` lists the targets.
#
# A fresh machine needs only make and Python 3.11 or newer with venv; PYTHON=COMMAND chooses the Python.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Tests start hundreds of processes. Where this is set, each of them compiles every module anew.
export PYTHONDONTWRITEBYTECODE :=

bin := .venv/bin
python := $(bin)/python
pip := $(python) -m pip --disable-pip-version-check
pytest := $(python) -m pytest

# Tests that need something that is not a Python package run where it is there, not here.
local := not soak and not kafka and not prometheus and not kube and not cluster and not browser and not compose
# Real Envoys under load want room, so they come second, whatever came of the first (TIERS=envoy: only they). With ARGS one
# of the two may have nothing to do (pytest's exit code 5). Who has run out of tests takes some of another's (worksteal):
# some tests wait for long, others compute.
TIERS := "not envoy" envoy
tests := $(pytest) -n 4 --dist worksteal
none_is_fine = $(if $(ARGS),|| [ $$? -eq 5 ])

# Each stamp says that the lock file of its name is installed; what `dev` installs includes what `demo` does.
made := .venv/made.stamp
demo_ready := .venv/demo.stamp
dev_ready := .venv/dev.stamp

.PHONY: help .venv demo test soak bench lint fmt docs lock clean

help: ## List the targets
	@sed -n 's/^\([a-z.]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do \
		printf '  make %-6s %s\n' "$$name" "$$text"; done

.venv: $(dev_ready) ## Make the virtual environment with everything for development

demo: $(demo_ready) ## Show Tidegate with two real Envoys (ARGS=--once: one round, then exit)
	@$(bin)/tidegate demo $(ARGS)

test: $(dev_ready) ## Run all tests that need nothing but Python packages (ARGS goes to pytest)
	@for tier in $(TIERS); do \
		$(tests) -m "$(local) and $$tier" $(ARGS) $(none_is_fine) || failed=1; \
	done; [ -z "$$failed" ]

soak: $(dev_ready) ## Run the long counts
	$(pytest) -m soak --timeout 3600 $(ARGS)

# With Go and its sources (TIDEGATE_BENCH_PEER) the peer is go-control-plane, else a naive server of our own.
bench: $(dev_ready) ## Compare with other servers and print the table with ratios (ARGS=--quick, ARGS=--help)
	$(python) -m bench $(ARGS)

lint: $(dev_ready) ## Check style, types, folder rules and spelling
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	$(bin)/lint-imports --no-logo
	$(bin)/codespell
	$(bin)/yamllint --strict .

fmt: $(dev_ready) ## Format the code and repair what can be repaired
	$(bin)/ruff check --fix
	$(bin)/ruff format

docs: $(dev_ready) ## Write what is generated: pages of docs/, deploy/crds/, code of proto/
	$(python) -m xds_server.settings.reference docs/configuration.md
	$(bin)/tidegate crds | tee deploy/base/crds.yaml > deploy/crds/dynamicgateways.yaml
	$(python) -m grpc_tools.protoc -Iproto --python_out=xds_server/wire/gen --pyi_out=xds_server/wire/gen $$(find proto -name "*.proto")

# `make lock ARGS=--upgrade` takes newer versions. All of them hold the same versions as dev.lock; serve.lock is for the
# container image, build.lock for what makes it.
lock: $(dev_ready) ## Resolve the dependencies of pyproject.toml anew into requirements/
	$(compile) pyproject.toml --group build --extra dev -o requirements/dev.lock $(ARGS)
	$(compile) pyproject.toml --group build --extra demo -c requirements/dev.lock -o requirements/demo.lock
	$(compile) pyproject.toml -c requirements/dev.lock -o requirements/serve.lock
	$(compile) --group build -c requirements/dev.lock -o requirements/build.lock

compile = $(bin)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock"

clean: ## Remove what was made here, .venv included
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# --- the virtual environment, step by step ---------------------------------------------------------------

$(made): scripts/find-python
	@$(pip) --version >/dev/null 2>&1 || { python=$$(scripts/find-python) && \
		echo "making .venv with $$python" && "$$python" -m venv --clear .venv; }
	@touch $@

$(demo_ready): $(made) requirements/demo.lock pyproject.toml
	@echo "installing requirements/demo.lock"
	@$(pip) install --quiet --require-hashes -r requirements/demo.lock
	@$(pip) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(dev_ready): $(made) requirements/dev.lock pyproject.toml
	@echo "installing requirements/dev.lock"
	@$(pip) install --quiet --require-hashes -r requirements/dev.lock
	@$(pip) install --quiet --no-deps --no-build-isolation -e .
	@touch $(demo_ready) $@
