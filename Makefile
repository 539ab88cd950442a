# The two commands a newcomer needs: `make demo` and `make test`. Each sets itself up (a .venv here, nothing elsewhere).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml $(shell find cpp/core cpp/bindings -name '*.hpp' -o -name '*.cpp')
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check
# Here the native module is built for this machine alone, in half the time; `pip wheel .` builds it for all.
FLAGS  := $(shell sed -n '/^flags/{s/.*: //p;q}' /proc/cpuinfo 2>/dev/null)
V3     := avx avx2 bmi1 bmi2 f16c fma abm movbe
V4     := avx512f avx512bw avx512cd avx512dq avx512vl
LEVELS ?= $(if $(filter-out $(FLAGS),$(V3)),baseline,$(if $(filter-out $(FLAGS),$(V4)),v3,v4))
BUILD  := "-Ccmake.define.TALLYWISE_LEVELS=$(LEVELS)"

# The newest that Debian 12 has, and the oldest that we claim.
CLANGS ?= clang++-22 clang++-16

.PHONY: demo test real-parts test-levels bench lint format native-test thread-test sklearn-versions sklearn-suite \
  compile-check fuzz names data docs wheel deb man stubs dev clean check-compiler

# A wheel of this version beside us saves the compiler's minutes; tests and work on the code build from the sources.
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
WHEEL   := $(wildcard dist/tallywise-$(VERSION)-*.whl)

demo: $(if $(WHEEL),$(VENV)/.wheel,$(VENV)/.installed) ## train, compare and explain on the bundled corpus
	$(BIN)/tally demo

test: $(VENV)/.test ## every test of the Python package
	$(BIN)/python -m pytest -q -n 2

real-parts: $(VENV)/.test ## what the tests of the optional parts drive: a browser, clients of mail protocols, Ray
	$(PIP) $$($(BIN)/python tools/requirements.py real-parts onnx)

test-levels: $(VENV)/.test ## laws and families again, on the narrower builds (LEVELS="baseline;v3;v4")
	for level in $$($(BIN)/python -m tools.levels --narrower); do echo "level $$level" && \
	  TALLYWISE_LEVEL=$$level $(BIN)/python -m pytest -q -n 2 tests/contracts tests/naive_bayes tests/linear tests/kernels \
	  tests/neighbors tests/topics tests/text || exit 1; done

data: $(VENV)/.test ## the public data sets of tests and benchmarks, into a cache, checked by SHA-256
	$(BIN)/python -m benchmarks.fetch

bench: $(VENV)/.test ## all benchmarks, or `make bench ONLY="name name"`
	$(PIP) $$($(BIN)/python tools/requirements.py bench)
	$(BIN)/python -m benchmarks.run $(ONLY)

lint: $(VENV)/.test ## style, types, formatting
	$(PIP) $$($(BIN)/python tools/requirements.py lint)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tools.stubs --check
	$(BIN)/python -m tools.words
	find cpp -name '*.hpp' -o -name '*.cpp' | xargs $(BIN)/clang-format --dry-run --Werror

format: ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find cpp -name '*.hpp' -o -name '*.cpp' | xargs $(BIN)/clang-format -i

sklearn-versions: $(VENV)/.test ## private names and examples with the oldest and the newest scikit-learn we claim
	$(BIN)/python -m tools.sklearn_versions

sklearn-suite: $(VENV)/.test ## scikit-learn's own tests with our classes in place
	$(BIN)/python -m tests.sklearn_suite.run

native-test: check-compiler $(VENV)/.build-tools ## the C++ tests, under AddressSanitizer and UBSan
	$(BIN)/cmake -S . -B build/native-tests -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DTALLYWISE_NATIVE_TESTS=ON -DTALLYWISE_WERROR=ON >/dev/null
	$(BIN)/cmake --build build/native-tests
	build/native-tests/native_tests

thread-test: check-compiler $(VENV)/.build-tools ## the same under ThreadSanitizer
	$(BIN)/cmake -S . -B build/thread-tests -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DTALLYWISE_NATIVE_TESTS=ON -DTALLYWISE_SANITIZERS=thread >/dev/null
	$(BIN)/cmake --build build/thread-tests
	build/thread-tests/native_tests

compile-check: $(VENV)/.build-tools ## all C++ by clang, warnings as errors; each header on its own; needs clang++-16 or newer
	@found=; for compiler in $(CLANGS); do if command -v $$compiler >/dev/null; then found=1; \
	  $(BIN)/python -m tools.compile_check $$compiler $$(test $$compiler = $(firstword $(CLANGS)) && echo --headers) || exit 1; \
	  fi; done; test -n "$$found" || echo "not checked: none of $(CLANGS) is installed"

fuzz: $(VENV)/.build-tools ## replay the corpora of cpp/fuzz and fuzz each target for 20 s; needs clang
	$(BIN)/python -m reliability.run fuzz

dev: check-compiler $(VENV)/.build-tools ## incremental rebuild of the native module, for work on it
	$(PIP) --no-build-isolation $(BUILD) -Ccmake.define.TALLYWISE_WERROR=ON -e .
	touch $(VENV)/.installed

names: $(VENV)/.test ## write the lists of public names after a change of a family's __all__, and their page
	$(PIP) $$($(BIN)/python tools/requirements.py lint)
	$(BIN)/python -m tools.exports
	$(BIN)/ruff check --fix -q --select I,RUF022 src/tallywise/__init__.py
	$(BIN)/ruff format -q src/tallywise/__init__.py
	$(BIN)/python -m tools.names

docs: $(VENV)/.test ## the documentation site, in build/site: pages, API, search
	$(PIP) $$($(BIN)/python tools/requirements.py docs)
	$(BIN)/sphinx-build -q -W -b html -c tools/site docs build/site
	@echo "open build/site/index.html"

wheel: check-compiler $(VENV)/.build-tools ## wheel for every processor, and the source distribution, in dist/
	$(PIP) $$($(BIN)/python tools/requirements.py wheel)
	$(BIN)/python -m tools.wheel
	$(BIN)/python -m tools.wheel --try

deb: check-compiler $(VENV)/.build-tools ## the mail filter as a Debian package, in dist/
	$(PIP) $$($(BIN)/python tools/requirements.py wheel)
	$(BIN)/python -m tools.wheel
	$(BIN)/python -m tools.deb

man: $(VENV)/.installed ## manual pages from the help texts, in build/man
	$(BIN)/python -m tools.man

stubs: dev ## regenerate src/tallywise/_native.pyi
	$(BIN)/python -m tools.stubs

clean:
	rm -rf $(VENV) build dist

check-compiler:
	@command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "A C++20 compiler is needed: apt-get install g++   (or: dnf install gcc-c++, xcode-select --install)"; exit 1; }

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Without build isolation, so that every build here shares one set of objects.
$(VENV)/.installed: $(NATIVE) | check-compiler $(VENV)/.build-tools
	@echo "building tallywise, which takes a few minutes the first time"
	$(PIP) --no-build-isolation $(BUILD) -e .
	rm -f $(VENV)/.wheel
	touch $@

$(VENV)/.wheel: $(WHEEL) | $(BIN)/python
	$(PIP) --find-links dist --only-binary tallywise tallywise==$(VERSION)
	$(PIP) --find-links dist --only-binary tallywise --no-deps --force-reinstall tallywise==$(VERSION)
	rm -f $(VENV)/.installed
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) $$($(BIN)/python tools/requirements.py test serve spam)
	touch $@

$(VENV)/.build-tools: pyproject.toml | $(BIN)/python
	$(PIP) cmake ninja $$($(BIN)/python tools/requirements.py build)
	touch $@
