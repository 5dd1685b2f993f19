# make demo      make the environment, run the default benchmark, print its table
# make test      make the environment, run the tests: minutes
# make test-slow the slow ones: calibration of the statistics, several processes, every command of the pages
# make test-all  both
# make test-kernels  the quick tests whose outcome may hang on bits, on kernels of processors without AVX-512: a minute
# make lowest    the quick tests on the lowest versions that pyproject.toml allows, in .lowest; needs uv
# make newest    the same on the newest versions, in .newest; PYTHON=python3.13: on another Python
# make mutants   change the code in two hundred places, see which changes no test notices; MODULE=FILE: in all of one file
# make size      files and tokens of every room beside the most it may have; fails where a room grows
# make growth    seconds, MB and exponent of each stage as recordings and cells grow: a quarter of an hour, 10 GB of disk
# make frozen    keys and tables of small runs into FOLDER: before and after a change, then diff -r
# make docs      the pages as a site, in site/
# make check     format, lint, types, sizes, then make test

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the demo needs, what the tests need as well, and what contributors need as well.
CORE := $(VENV)/.core
TEST := $(VENV)/.test
DEV := $(VENV)/.dev
# The extras with which the tests run.
EXTRAS := test,minirocket

.PHONY: demo test test-slow test-all test-kernels lowest newest mutants size growth frozen docs check format clean

demo: $(CORE)
	$(BIN)/python run_benchmark.py

test: $(TEST)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"

# Three at a time: they wait for other processes a quarter of the time.
test-slow: $(TEST)
	$(BIN)/python -m pytest -q -n 3 --dist loadfile -m slow

test-all: $(TEST)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

# What draws, filters and standardises signals, computes losses and encoders, and tests differences.
ON_KERNELS := $(addprefix tests/benchmark/data/,simulate test_prepare.py test_heartbeats.py test_segments.py \
  test_report_text.py) tests/benchmark/training/test_health.py $(addprefix tests/methods/,test_parts.py \
  test_formulas.py test_official_losses.py encoders) tests/reports/test_inference.py tests/reports/test_jackknife.py
test-kernels: $(TEST)
	OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=default \
	  $(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow" $(ON_KERNELS)

lowest: INSTALL_VERSIONS = uv pip install -q --python .lowest/bin/python --resolution lowest-direct
newest: INSTALL_VERSIONS = uv pip install -q --python .newest/bin/python
# aeon, the extra `minirocket`, holds other packages back.
newest: EXTRAS := test
lowest newest:
	@command -v uv > /dev/null || { echo "make $@ needs uv: pip install uv"; exit 1; }
	rm -rf .$@
	$(MAKE) test VENV=.$@ EXTRAS=$(EXTRAS) TORCH="-r pyproject.toml" INSTALL="$(INSTALL_VERSIONS)"

mutants: $(DEV)
	OMP_NUM_THREADS=1 nice $(BIN)/python -m tests.mutants $(MODULE)

size: $(DEV)
	$(BIN)/python -m tests.size

growth: $(TEST)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.growth

frozen: $(DEV)
	$(BIN)/python -m tests.frozen $(or $(FOLDER),frozen)

docs: $(DEV)
	$(BIN)/python -m mkdocs build --strict

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.size
	$(MAKE) test

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# uv is taken where it is there: it installs in seconds what takes pip minutes.
# torch comes first and alone. The build for CPUs lies at PyTorch's own index; where that cannot be reached, the
# build of the configured index is taken.
TORCH := torch==2.13.0
ifeq ($(shell command -v uv),)
MAKE_VENV = $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install -q -c constraints.txt
INSTALL_TORCH = $(INSTALL) --no-deps --retries 0 --timeout 10 --extra-index-url https://download.pytorch.org/whl/cpu $(TORCH)
else
MAKE_VENV = uv venv -q --seed --python $(PYTHON) $(VENV)
INSTALL = uv pip install -q --python $(BIN)/python -c constraints.txt
INSTALL_TORCH = $(INSTALL) --torch-backend cpu $(TORCH) || $(INSTALL) $(TORCH)
endif

$(CORE): pyproject.toml constraints.txt
	@echo "Installing torch and what the demo needs into $(VENV): 1.4 GB, minutes."
	test -x $(BIN)/python || $(MAKE_VENV)
	$(INSTALL_TORCH)
	$(INSTALL) -e .
	touch $@

$(TEST): $(CORE)
	@echo "Installing what the tests need."
	$(INSTALL) -e ".[$(EXTRAS)]"
	touch $@

$(DEV): $(TEST)
	@echo "Installing what contributors need: extras of the suite, linters, documentation tools."
	$(INSTALL) -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .lowest .newest build site *.egg-info .mypy_cache .ruff_cache .pytest_cache
