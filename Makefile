# Everything is reached from here: make demo, make test. Set-up happens by itself (third_party/install.sh).
PY := .venv/bin/python
CMAKE_FLAGS = -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(PY) -DKW_WERROR=ON -DKW_UNITY=$(or $(UNITY),OFF)
ASAN_RUN = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
BUILD := $(PY) third_party/cmake/run_ninja.py
PYTEST := $(PY) -m pytest -q -p no:cacheprovider
ALL_CORES := -n auto --dist worksteal

.PHONY: help setup build demo demo-errors errors test test-nvrtc test-emulated robust oracle fuzz exhaustive mutants seeds bench gallery bench-gpu device-kit asan asan-unit asan-python test-unit test-python tsan format lint ci wheel clean

help:
	@echo "make demo | demo-errors | test | test-nvrtc | test-emulated | robust N=20 | oracle | fuzz SEED=1 N=1000 | exhaustive | mutants ONLY=… | seeds | bench ONLY=… | gallery ONLY=… | bench-gpu ONLY=… | device-kit | asan | tsan | errors | format | lint | ci | wheel PYTHONS=… | clean"

setup:
	@third_party/install.sh

build/build.ninja: | setup
	@cmake -S . -B build $(CMAKE_FLAGS) -DCMAKE_BUILD_TYPE=Release >build.log 2>&1 || { cat build.log; exit 1; }; rm -f build.log

build: setup build/build.ninja
	@$(BUILD) build

demo: build
	@$(PY) -m kernelwright.examples.demo $$($(PY) tests/seeds/reader.py build/seeds)

demo-errors: build
	@$(PY) -m kernelwright.examples.errors

test: build
	@$(MAKE) --no-print-directory -j2 test-unit test-python

test-unit:
	@build/tests/kw_unit --gtest_brief=1
	@build/tests/kw_machine --gtest_brief=1
	@build/tests/kw_oracle --gtest_brief=1

test-python:
	@$(PYTEST) $(ALL_CORES) tests

test-nvrtc: build
	@KW_TEST_NVRTC=all $(PYTEST) $(ALL_CORES) tests/gpu

test-emulated: build
	@KW_TEST_DEVICE=emulated $(PYTEST) $(ALL_CORES) tests/python tests/errors tests/gpu

robust: build
	@KW_ROBUST=$(or $(N),20) $(PYTEST) $(ALL_CORES) tests/robust

oracle: build
	@rm -f tests/oracle/results.txt
	@KW_ORACLE=$(or $(N),20000) KW_ORACLE_RESULTS=tests/oracle/results.txt build/tests/kw_oracle --gtest_brief=1

fuzz: build
	@$(PY) tests/fuzz/kw_fuzz.py $(or $(SEED),1) $(or $(N),1000)

exhaustive: build
	@cmake -S . -B build -DKW_EXHAUSTIVE=ON >/dev/null
	@$(BUILD) build kw_exhaustive
	@$(PY) tests/exhaustive/run.py $(STRIDE)

mutants: setup
	@$(PY) tests/mutants/run.py $(ONLY)

seeds: build
	@$(PYTEST) tests/seeds -rs

bench: build
	@third_party/install.sh bench
	@cmake -S . -B build-bench $(CMAKE_FLAGS) -DKW_BENCH=ON -DKW_TESTS=OFF >/dev/null
	@$(BUILD) build-bench
	@$(PY) bench/run.py $(ONLY)

gallery: build
	@third_party/install.sh bench
	@$(PY) bench/gallery/gallery.py $(ONLY)

bench-gpu: build
	@$(PY) bench/gpu/compiled.py $(ONLY)
	@$(PY) bench/gpu/requests.py $(ONLY)
	@$(PY) bench/gpu/calls.py

# what a machine with a GPU may lack (tests/gpu/device_run.sh): a header and packages in Python alone
device-kit: setup
	@mkdir -p .kit/include .kit/python
	@cp /usr/include/xxhash.h .kit/include/
	@cd .venv/lib/python3*/site-packages && cp -r pytest _pytest py.py pygments pluggy iniconfig packaging pybind11 $(CURDIR)/.kit/python/

asan: build
	@cmake -S . -B build-asan $(CMAKE_FLAGS) -DCMAKE_BUILD_TYPE=Debug "-DKW_SANITIZE=address;undefined" -DKW_TEST_ARCHIVES=$(CURDIR)/build/tests >/dev/null
	@$(BUILD) build-asan
	@$(MAKE) --no-print-directory -j2 asan-unit asan-python

asan-unit:
	@ASAN_OPTIONS=detect_leaks=0 build-asan/tests/kw_unit --gtest_brief=1
	@ASAN_OPTIONS=detect_leaks=0 build-asan/tests/kw_machine --gtest_brief=1
	@ASAN_OPTIONS=detect_leaks=0 KW_ORACLE=100 build-asan/tests/kw_oracle --gtest_brief=1

asan-python:
	@$(ASAN_RUN) PYTHONPATH=build-asan $(PYTEST) $(ALL_CORES) tests/kernels tests/errors tests/python/test_calls.py tests/python/test_result_memory.py tests/python/test_cache.py tests/python/test_scalar_ops.py tests/python/operators tests/python/mindspore/test_aot.py tests/python/mindspore/test_custom.py tests/python/mindspore/test_grad.py tests/fuzz/test_found.py tests/fuzz/test_programs.py tests/fuzz/test_mutations.py --deselect tests/errors/test_catalogue.py --ignore tests/kernels/test_replayed.py --ignore tests/kernels/test_freer_modes.py

tsan: setup
	@cmake -S . -B build-tsan $(CMAKE_FLAGS) -DCMAKE_BUILD_TYPE=Debug -DKW_SANITIZE=thread >/dev/null
	@$(BUILD) build-tsan kw_unit kernelwright_llvm
	@build-tsan/tests/kw_unit --gtest_brief=1 --gtest_filter='*Jit*:*Cache*:*Launch*:*Once*:*ThreadCount*:*Buffer*:*LoopKernel*:*Registry*'
	@build-tsan/tests/kw_unit --gtest_brief=1 --gtest_filter='*Pool*:*Launch*:*Parallel*'

errors: build
	@BLESS=1 $(PYTEST) tests/errors/test_catalogue.py

format: setup
	@git ls-files '*.cpp' '*.h' | xargs .venv/bin/clang-format -i
	@.venv/bin/ruff check -q --fix . || true
	@.venv/bin/ruff format -q python bench tests

lint: setup
	@$(PYTEST) tests/lint

# fresh clones build everything once
ci: UNITY = ON
ci: test asan

wheel: build
	@third_party/install.sh wheel
	@$(PY) third_party/wheel/make_wheels.py $(PYTHONS)

clean:
	rm -rf build build-asan build-tsan build-bench build-wheel build-mutants dist
