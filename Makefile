# `make run` and `make test` are all that a fresh Debian machine needs; `make help` lists the rest.
PREFIX ?= /usr/local
CORPUS ?=
JOBS   ?= $(shell nproc)
# How build/ is configured if it is not there yet: options of cmake.
CONFIGURE ?= --preset release
BUILD  := build
# A path in quotes, as it may have spaces; ~ is replaced here, since within quotes the shell does not.
quoted = "$(patsubst ~/%,$(HOME)/%,$(1))"

.DEFAULT_GOAL := build
.PHONY: help setup build run test test-all check format aarch64 bench bench-peers install bundle gpu-trial clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## install the Debian packages that building needs (nothing is done when they are there)
	@tools/install-packages build

# A build folder holds the path of its sources; it is of no use elsewhere.
moved := $(shell home=$$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' $(BUILD)/CMakeCache.txt 2>/dev/null); \
    [ -z "$$home" ] || [ "$$home" -ef . ] || echo yes)

build: setup ## build build/loam and, where nvcc is, build/loam-cuda.so
	@$(if $(moved),echo "make: this tree was moved since it was built: building anew" && rm -rf $(BUILD))
	@echo "make: building $(BUILD)/loam"
	@[ -f $(BUILD)/build.ninja ] || cmake $(CONFIGURE) -B $(BUILD) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target loam backends

run: build ## train a small T5 on this machine and watch it fill in blanks (CORPUS=path: on your own text)
	@echo "make: training a first model"
	@tools/demo $(if $(CORPUS),$(call quoted,$(CORPUS)))

test: build ## run the tests that belong to every change
	@echo "make: running the tests"
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) -j 2 --output-on-failure --no-tests=error -LE long; \
	 status=$$?; tools/list-skipped $(BUILD); exit $$status

test-all: test ## run the tests of `make test` and the long ones
	@echo "make: running the long tests"
	@tools/install-packages check clean aarch64 slurm
	@ctest --test-dir $(BUILD) --output-on-failure -L long; status=$$?; tools/list-skipped $(BUILD); exit $$status

check: setup ## format, layers, budgets, links of the docs, warnings of gcc and clang, sanitizers, static analysis, fuzzing
	@echo "make: checking"
	@tools/install-packages check
	@tools/check $(CHECKS)

format: ## put every C file into the house format
	@tools/install-packages check
	@echo "make: formatting"
	@find src tests bench \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' \) -exec clang-format -i {} +

aarch64: setup ## build for 64-bit ARM in build-aarch64; build-aarch64/run runs it here, under qemu
	@echo "make: building for aarch64"
	@tools/install-packages aarch64
	@JOBS=$(JOBS) tools/aarch64

bench: build ## measure operations and training steps against this machine's peak
	@echo "make: measuring"
	@$(BUILD)/loam bench ops
	@$(BUILD)/loam bench step configs/t5-1.1-small.yaml

bench-peers: build ## measure the same work done by other programs, side by side
	@tools/install-packages peers
	@echo "make: measuring against other programs"
	@bench/peers/run

install: build ## install loam, its manual pages, shell completion and docs under PREFIX
	@echo "make: installing under $(PREFIX)"
	@cmake --build $(BUILD) -j $(JOBS) --target share
	@cmake --install $(BUILD) --prefix $(call quoted,$(PREFIX))

bundle: build ## pack loam with its libraries, its backend for all GPUs where nvcc is, for machines of any distribution
	@cmake -B $(BUILD) -DLOAM_CUDA_GPUS=all >/dev/null && cmake --build $(BUILD) -j $(JOBS) --target backends
	@tools/bundle $(BUILD) $(BUILD)/loam.tar.zst

gpu-trial: bundle ## pack what tools/gpu-trial needs on a machine with a GPU: build/trial.tar.gz
	@cmake --build $(BUILD) -j $(JOBS) --target gpu_tests
	@tools/gpu-trial --pack $(BUILD)/trial.tar.gz

clean: ## remove what was built; runs/ stays
	@echo "make: removing build folders"
	@rm -rf build build-debug build-sanitize build-gcc build-clang build-aarch64 build-coverage
