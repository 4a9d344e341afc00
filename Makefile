# Two commands matter: `make demo` and `make test`. Each makes what it needs on a fresh machine.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test check bench breaks conformance-mcp docs install clean dist

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 28

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "A virtual environment could not be made. On Debian: apt-get install python3-venv"; exit 1; }
	@echo "installing into $(VENV) (a minute or two the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)  ## the main job, end to end, against the sample world on loopback
	@$(BIN)/sayso world demo

test: $(READY)  ## the whole suite, in as many processes as there are cores, four at most
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(PYTEST)

check: $(READY)  ## style, types, floors of the house
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

breaks: $(READY)  ## take each rule away and see its test fail
	@$(BIN)/python -m sayso.testing.breaks $(BREAKS)

conformance-mcp: $(READY)  ## MCP's own conformance suite against the door (opt-in, needs npm)
	@mkdir -p build/conformance-mcp
	@npm install --silent --no-fund --no-audit --prefix build/conformance-mcp \
	  @modelcontextprotocol/conformance@0.2.0-alpha.12 node@22.23.3
	@$(BIN)/python -m sayso.testing.mcp_conformance --packages build/conformance-mcp

bench: $(READY)  ## measure the product beside its floor
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@$(BIN)/python -m bench $(BENCH)

docs: $(READY)  ## print tables, help texts and examples into the documents
	@$(BIN)/python -m docs.schemas
	@$(BIN)/python -m docs.build

install: $(READY)  ## put sayso into ~/.local/bin
	@mkdir -p $(HOME)/.local/bin
	@ln -sf $(abspath $(BIN)/sayso) $(HOME)/.local/bin/sayso
	@echo "$(HOME)/.local/bin/sayso"

dist: $(READY)  ## wheel, sdist and their SHA256SUMS.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt build
	@rm -rf dist && $(BIN)/python -m build --quiet
	@cd dist && sha256sum * > SHA256SUMS.txt && cat SHA256SUMS.txt

clean:  ## forget everything built
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
