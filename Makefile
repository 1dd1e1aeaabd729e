# Story Engine. `make` alone says what can be made. It takes make and Python 3.11, 3.12 or 3.13, nothing else;
# everything is installed into .venv, from lock files (see tools/environment.sh).

.DEFAULT_GOAL := help
.SUFFIXES:
.PHONY: help run play test test-fast test-without-extensions e2e e2e-lines torture check screenshots format lint types bench canon voices dependencies lock mutants wheel image clean run-environment dev-environment

# PYTHON chooses the interpreter, ARGS goes to the command, CHAPTER and OUT say what to play and where to put it.
PYTHON ?=
ARGS ?=
CHAPTER ?= examples/the_lamp_at_grey_point.toml
OUT ?= out
export PYTHON
# What is compiled is kept: each worker of the tests, and each program that they start, would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
TO_COMPILE := --quiet --system-certs --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate

help: ## say what can be made
	@echo 'make …'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-24s %s\n", $$1, $$2 }' Makefile

run: run-environment ## start Story Engine (ARGS="sessions" for a command)
	@$(BIN)/storyengine $(ARGS)

play: run-environment ## play the chapter of three characters with the local model, into out/
	@$(BIN)/storyengine play "$(CHAPTER)" --provider local --out "$(OUT)" $(ARGS)

# Four workers on two cores: half of a test's time is waiting for a server, a terminal or a model.
test: dev-environment ## run every test (ARGS="tests/core -k name" for some)
	@$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder $(ARGS)

test-fast: dev-environment ## run what needs neither a server nor the app, in a minute
	@$(BIN)/python -m pytest -n 2 --dist loadfile tests/core tests/repository/test_arrows.py \
		tests/repository/test_language.py --ignore tests/core/providers/local/test_local.py \
		--ignore tests/core/providers/openai $(ARGS)

test-without-extensions: dev-environment ## run the screen's tests without private parts of Textual, then as if it were 8.3
	@STORYENGINE_WITHOUT=all $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/tui $(ARGS)
	@STORYENGINE_PRETEND_TEXTUAL=8.3.0 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/tui $(ARGS)

e2e: dev-environment ## play a whole chapter at a real terminal with the local model, and compare what it left
	@$(BIN)/python -m pytest -n 2 -m chapter tests/e2e $(ARGS)

e2e-lines: dev-environment ## play that evening in every kind of terminal, and over a line of 9,600 baud
	@STORYENGINE_LINES=1 $(BIN)/python -m pytest -n 2 -m chapter tests/e2e/terminal/test_terminal_chapter.py

torture: dev-environment ## kill, fail and soak it for some hours (ARGS="--length 0.1" for a share); the figures go into docs/reliability.md
	@$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile torture tests/core tests/tui
	@$(BIN)/python -m pytest -n 2 -m torture tests/torture tests/leaks
	@STORYENGINE_KILLS=50 $(BIN)/python -m pytest -n 0 tests/e2e/terminal/test_kill.py
	@$(BIN)/python -m tests.torture --page docs/reliability.md $(ARGS)

check: format lint types test ## format, then lint, types and tests: before a commit

format: dev-environment ## put the code into its format
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix-only .

lint: dev-environment ## find faults of style and format, and change nothing
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: dev-environment ## check the types, strictly
	@$(BIN)/mypy

bench: dev-environment ## measure everything beside its floor, one table at the end (ARGS="--quick" for a try)
	@$(BIN)/python -m bench $(ARGS)

canon: dev-environment ## measure whether canon holds (ARGS="--seed N … --prompts N --json FILE"); fails where a goal is missed
	@$(BIN)/python -m bench.canon $(ARGS)

voices: dev-environment ## measure how the characters of a model sound (ARGS="--model FILE.gguf --style small full")
	@$(BIN)/python -m bench.voices $(ARGS)

screenshots: dev-environment ## take the pictures of the README again, from the real program
	@$(BIN)/python -m tools.screenshots $(ARGS)

dependencies: dev-environment ## write docs/dependencies.md from the lock files (ARGS=--check only compares)
	@$(BIN)/python -m tools.dependencies $(ARGS)

# uv solves for every platform at once, which pip cannot; it lives in a directory that goes afterwards.
lock: dev-environment ## solve the lock files again, after a change of dependencies (ARGS=--upgrade for newer ones)
	@set -eu; place=$$(mktemp -d); trap 'rm -rf "$$place"' EXIT INT TERM; \
	$(BIN)/python -m venv "$$place"; \
	PIP_DISABLE_PIP_VERSION_CHECK=1 "$$place/bin/python" -I -m pip install --quiet --quiet uv; \
	compile() { "$$place/bin/uv" pip compile $(TO_COMPILE) $(ARGS) "$$@" >/dev/null; }; \
	compile pyproject.toml -o requirements.lock; \
	compile pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock; \
	printf 'hatchling\neditables\n' >"$$place/build.in"; \
	compile "$$place/build.in" -c requirements-dev.lock -o requirements-build.lock

mutants: dev-environment ## change core in 200 places, one at a time, and print what no test notices (ARGS="--seed 2")
	@$(BIN)/python -m tools.mutants $(ARGS)

wheel: dev-environment ## build the wheel into dist/, check that it is complete and that it plays a chapter
	@$(BIN)/python -m tools.wheel $(ARGS)

image: ## build the container image and start the program in it
	@docker build --quiet --tag storyengine .
	@docker run --rm storyengine --version

clean: ## remove .venv and caches; chapters in out/ stay
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info snapshot_report.html
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

run-environment:
	@sh tools/environment.sh run

dev-environment:
	@sh tools/environment.sh dev
