# Needs Python >= 3.11 with venv, make and a package index; everything else is installed into $(VENV) on first use.

PYTHON ?= python3
VENV ?= .venv
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl
IMG ?= sample-controller:latest
ARGS ?=

STAMP := $(VENV)/.installed
# Not `export PATH`: the make that macOS ships looks commands up in the PATH it was started with.
IN_VENV := PATH="$(abspath $(VENV))/bin:$$PATH"

.DEFAULT_GOAL := help

##@ General

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*##"; printf "Usage: make <target> [ARGS=\"...\"]\n" } \
		/^[a-z-]+:.*##/ { printf "  %-16s %s\n", $$1, $$2 } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) }' $(MAKEFILE_LIST)

$(STAMP): setup.cfg pyproject.toml hack/venv.sh
	@hack/venv.sh "$(PYTHON)" "$(VENV)"

.PHONY: venv
venv: $(STAMP) ## Make or renew .venv, which every other target does by itself

.PHONY: run
run: $(STAMP) ## Run the controller with its own API server on this machine; no cluster needed
	@$(IN_VENV) exec python main.py --embedded $(ARGS)

.PHONY: clean
clean: ## Remove what builds, checks and runs leave behind; the venv stays
	rm -rf build dist *.egg-info .embedded .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

##@ Checks

.PHONY: check
check: $(STAMP) ## Everything continuous integration runs
	@$(IN_VENV) hack/check.sh

.PHONY: test
test: $(STAMP) ## Run the tests; ARGS="tests/cache -k resync" narrows them
	@$(IN_VENV) python -m pytest $(ARGS)

.PHONY: unit
unit: $(STAMP) ## Run the tests that need no process or server of their own, on two cores; ARGS narrows them
	@$(IN_VENV) python -m pytest -m "not e2e" -n 2 --dist loadfile $(ARGS)

.PHONY: lint
lint: $(STAMP) ## Look for mistakes and bad style
	@$(IN_VENV) ruff check

.PHONY: format
format: $(STAMP) ## Format the code in place
	@$(IN_VENV) ruff format

.PHONY: typecheck
typecheck: $(STAMP) ## Check the types, strictly
	@$(IN_VENV) mypy

.PHONY: imports
imports: $(STAMP) ## Check that imports point only downward
	@$(IN_VENV) lint-imports --no-logo

.PHONY: behaviours
behaviours: $(STAMP) ## List the census' behaviours, each with its test or why it does not apply
	@$(IN_VENV) python -m hack.behaviours $(ARGS)

.PHONY: mutants
mutants: $(STAMP) ## Break the code a bit at a time and count what the tests notice; takes long
	@$(IN_VENV) python -m hack.mutants $(ARGS)

##@ Code generation

.PHONY: update-codegen
update-codegen: $(STAMP) ## Write clients, listers, informers and CRDs anew from the types
	@$(IN_VENV) hack/update-codegen.sh

.PHONY: verify-codegen
verify-codegen: $(STAMP) ## Fail, with a diff, if what is generated is not what the types say
	@$(IN_VENV) hack/verify-codegen.sh

##@ Build

.PHONY: build
build: $(STAMP) ## Build the wheel of the library into dist/
	@$(IN_VENV) python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . && ls dist/*.whl

.PHONY: docker-build
docker-build: ## Build the controller's image, IMG, with CONTAINER_TOOL
	$(CONTAINER_TOOL) build --tag $(IMG) .

##@ Deployment: to the cluster kubectl points at

.PHONY: install
install: ## Install the CRDs
	$(KUBECTL) apply -k artifacts/crd

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them every Foo
	$(KUBECTL) delete --ignore-not-found -k artifacts/crd

.PHONY: deploy
deploy: ## Install the CRDs, the permissions and the controller, running IMG
	$(KUBECTL) kustomize artifacts/default | sed 's|image: sample-controller:latest|image: $(IMG)|' | $(KUBECTL) apply -f -

.PHONY: undeploy
undeploy: ## Remove what deploy installed, every Foo included
	$(KUBECTL) delete --ignore-not-found -k artifacts/default
