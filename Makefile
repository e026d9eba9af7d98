# `make` lists the targets. Everything runs in .venv, which is built once and rebuilt when its inputs change.
PYTHON ?= python3
VENV   := .venv
JOBS   ?= 2
MINUTES ?= 10
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
KERNELS := $(VENV)/.kernels
CLASSES := $(VENV)/spark-classes.jsa
# The oldest Spark that pyproject.toml promises, with everything else as in constraints.txt.
OLDEST_SPARK := 4.1.0
OLDEST := .venv-oldest
# The newest Python that pyproject.toml promises; the wheel is installed and tested there.
NEWEST_PYTHON := 3.13
PYTHON_NEWEST ?= $$(scripts/find_python.sh $(NEWEST_PYTHON))
WHEEL  := .venv-wheel

.DEFAULT_GOAL := help
.PHONY: help venv java redis demo test oldest check bench fuzz fuzz-defects kill soak catalogue pictures clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## build .venv with everything in it

$(STAMP): pyproject.toml constraints.txt scripts/ensure_python.sh
	@scripts/ensure_python.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,bench,docs]"
	@touch $@

# numba keys machine code only by the file of the kernel, not by the files of the functions it inlines.
$(KERNELS): $(STAMP) $(shell find src -name '*.py')
	@find src -name '*.nb[ic]*' -delete
	@touch $@

# Java starts Spark in half the time with its classes in an archive. Tests run without it, only slower.
$(CLASSES): $(STAMP)
	-$(BIN)/python scripts/archive_classes.py $@ > /dev/null 2>&1
	@touch $@

java: ## find Java 17 or newer, or install it (Debian and Ubuntu, as root)
	@scripts/ensure_java.sh

redis: ## find redis-server, or install it (Debian and Ubuntu, as root); tests that need it are skipped without
	@scripts/ensure_redis.sh

demo: java venv $(KERNELS) ## find congestion episodes and dye frames in made-up data, with pictures
	$(BIN)/windrow demo

# Slow files first, and each file on one process, which keeps its Spark session for all of them.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

.PHONY: test-core test-spark test-long
test: test-core test-spark ## core tests, then those that need Spark

test-core: venv $(KERNELS) ## tests that need no Spark
	$(PYTEST) -m "not spark"

test-spark: java redis venv $(KERNELS) $(CLASSES) ## tests on Spark
	$(PYTEST) -m spark

test-long: java redis venv $(KERNELS) $(CLASSES) ## what make test leaves out: repeated kills, clusters, whole products of options
	WINDROW_KILLS=2 $(PYTEST) --long -m long

$(OLDEST)/.installed-$(OLDEST_SPARK): pyproject.toml constraints.txt
	@scripts/ensure_python.sh $(PYTHON)
	$(PYTHON) -m venv $(OLDEST)
	grep -v '^pyspark==' constraints.txt > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c $(OLDEST)/constraints.txt \
		"pyspark==$(OLDEST_SPARK)" pytest pytest-timeout hypothesis psutil -e ".[redis]"
	@touch $@

oldest: java $(OLDEST)/.installed-$(OLDEST_SPARK) $(KERNELS) ## a quick run on the oldest Spark that is supported
	$(OLDEST)/bin/python -m pytest --long tests/spark/test_versions.py

.PHONY: lint doctest
check: lint doctest ## lint, format, types, layers, language, examples in docstrings, README and docs

lint: venv ## lint, format, types, layers and language
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src
	$(BIN)/lint-imports
	$(BIN)/python scripts/phrases.py

doctest: java venv $(KERNELS) $(CLASSES) ## the examples in docstrings, README and docs
	$(PYTEST) --doctest-modules --doctest-glob='*.md' README.md docs src

.PHONY: wheel newest
wheel: java venv ## build wheel and sdist into dist/, and try the wheel without extras in a clean environment
	rm -rf dist $(WHEEL)
	$(BIN)/python -m build --no-isolation --outdir dist . > /dev/null
	$(BIN)/python scripts/check_dist.py dist
	$(PYTHON_NEWEST) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt dist/*.whl
	$(WHEEL)/bin/python -m pip check
	$(WHEEL)/bin/python scripts/try_wheel.py

newest: wheel ## a quick run of the wheel on the newest Python and Spark that are supported
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt \
		pytest pytest-timeout hypothesis psutil
	$(WHEEL)/bin/python -m pytest --long tests/spark/test_versions.py

.PHONY: docs
docs: pictures ## draw the pictures and build the documentation into site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

.PHONY: browse
browse: venv ## look at all pages of site/ in Chromium, at desktop and phone width: links, pictures, overflow
	$(BIN)/python scripts/browse_docs.py

bench: java venv $(KERNELS) ## Windrow compared with its peers (makes its data in bench-data/ first)
	PYTHONPATH=. $(BIN)/python -m benchmarks

fuzz: java venv $(KERNELS) ## random cases against the definitions, for MINUTES=10; SEED= repeats a run
	PYTHONPATH=. $(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

fuzz-defects: java venv $(KERNELS) ## how long the fuzzer takes to find defects that are put back
	PYTHONPATH=. $(BIN)/python -m fuzz.defects

kill: java redis venv $(KERNELS) ## kill a running query 25 times and look whether any frame is lost or comes twice
	WINDROW_KILLS=25 $(BIN)/python -m pytest --long tests/spark/streams/test_stream_killed.py \
		tests/spark/sources/test_redis_killed.py

soak: java venv $(KERNELS) ## a stream at full speed for 10 minutes: memory and state must stay flat
	PYTHONPATH=. $(BIN)/python -m benchmarks.streams.soak

catalogue: venv ## write catalogue.md from the classes
	$(BIN)/python scripts/catalogue.py > catalogue.md

pictures: venv $(KERNELS) ## draw the pictures of the docs from the demo's data, into docs/assets
	$(BIN)/python scripts/pictures.py

clean: ## remove .venv, caches and whatever demo and Spark leave behind (not bench-data/)
	rm -rf $(VENV) $(OLDEST) $(WHEEL) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	rm -rf site demo-out fuzz-out spark-warehouse metastore_db derby.log artifacts
	find src tests fuzz benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
