# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make demo    set up, compile the demonstration and run it: on a GPU that can, else on the emulator
# make test    set up, check style and types, run all tests
# make docs    build the documentation as a site, into build/site
# make test-wheel  build a wheel for another Python from a source distribution, and test what it
#              installs; WHEEL_PYTHON=python3.13 chooses which
# make format  let the formatters rewrite the sources
#
# All that is needed comes from PyPI into .venv; a C++17 compiler, Python 3.10 or newer and make must
# be there. PYTHON=python3.12 chooses the interpreter that the environment is made with.

PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell find dialect lib python cmake -name '*.cpp' -o -name '*.h' -o -name '*.td' \
             -o -name 'CMakeLists.txt' -o -name '*.cmake')
FORMATTED := $(filter %.cpp %.h,$(SOURCES))
MODULES := $(sort $(shell find python tools -name '*.py'))
PYTHON_SOURCES := python tools test examples benchmarks docs

.PHONY: demo test test-wheel docs format lint lit pytest install FORCE
.DELETE_ON_ERROR:

demo: install
	$(BIN)/tile-compile examples/dsmem_copy.mlir --to ptx -o .venv/dsmem_copy.ptx
	@grep -n 'mapa\|cp.async.bulk\|expect_tx' .venv/dsmem_copy.ptx
	$(BIN)/tile-run examples/dsmem_copy.mlir --entry main \
	  --arg random:128x64xf16 --arg zeros:128x64xf16 --expect 1=0
	@echo 'The tile arrived in the shared memory of the other CTA, byte for byte.'

test: lint lit pytest

lint: install
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/clang-format --dry-run -Werror $(FORMATTED)
	$(BIN)/mypy

lit: install
	$(BIN)/lit -q test

pytest: install
	$(BIN)/pytest -q -n auto

docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo 'Open build/site/index.html.'

test-wheel: .venv/requirements.txt
	$(BIN)/python test/wheel/check.py $(WHEEL_PYTHON)

format: install
	$(BIN)/ruff check --fix $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)
	$(BIN)/clang-format -i $(FORMATTED)

install: .venv/installed

# Python sources are used from where they are; the compiled parts are made anew when they change, and
# the installation when a module comes or goes.
.venv/installed: .venv/requirements.txt .venv/modules $(SOURCES)
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation --editable .
	@touch $@

.venv/modules: .venv/requirements.txt FORCE
	@echo '$(MODULES)' | cmp -s - $@ || echo '$(MODULES)' > $@

.venv/requirements.txt: pyproject.toml cmake/requirements.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python cmake/requirements.py > .venv/requirements.new
	$(BIN)/python -m pip install -q --disable-pip-version-check -r .venv/requirements.new
	@mv .venv/requirements.new $@
