# make demo      make the environment, run the default benchmark, print its table
# make test      make the environment, run the tests: minutes
# make test-slow the slow ones: fuzzing, calibration of the statistics, several processes, every command of the pages
# make test-all  both
# make reliability  the tests that attack the suite; writes docs/evidence/RELIABILITY.md
# make mutants   change the code in a hundred places, see which changes no test notices; MODULE=FILE: in all of one file
# make size      files, lines, tokens and imports of every room, beside other suites
# make frozen    keys, tables, figures and messages of small runs into FOLDER: before and after a change, then diff -r
# make docs      the pages as a site, in site/
# make check     format, lint, types, then make test

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow test-all reliability mutants size frozen docs check format clean

demo: $(STAMP)
	$(BIN)/python run_benchmark.py

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m slow

test-all: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

reliability: $(STAMP)
	FUZZ=all $(BIN)/python -m pytest -q -n 2 --dist loadfile --reliability=docs/evidence/RELIABILITY.md tests

mutants: $(STAMP)
	OMP_NUM_THREADS=1 nice $(BIN)/python -m tests.mutants $(MODULE)

size: $(STAMP)
	$(BIN)/python -m tests.size

frozen: $(STAMP)
	$(BIN)/python -m tests.frozen $(or $(FOLDER),frozen)

docs: $(STAMP)
	$(BIN)/python -m mkdocs build --strict

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# torch comes first and alone: the CPU build is pinned, and nothing after it asks for another.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) build site *.egg-info .mypy_cache .ruff_cache .pytest_cache
