# Needs Python >= 3.11 with venv, make and a package index; everything else is installed into $(VENV) by the first target
# that needs it: what `make run` runs, or the development tools as well.

PYTHON ?= python3
VENV ?= .venv
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl
IMG ?= sample-controller:latest
PYTHON_IMAGE ?= python:3.11-slim
PLATFORMS ?= linux/amd64,linux/arm64
OVERLAY ?= default
ARGS ?=

RUNTIME := $(VENV)/.embedded
DEV := $(VENV)/.dev
# Not `export PATH`: the make that macOS ships looks commands up in the PATH it was started with. Bytecode is kept even
# where the user's environment says otherwise: nothing here is compiled at installation, and tests start many processes.
IN_VENV := PYTHONDONTWRITEBYTECODE= PATH="$(abspath $(VENV))/bin:$$PATH"
# One process for each core; tests/layers.py orders the tests by layer, the fast ones first.
PYTEST := python -m pytest -n auto --dist worksteal

# What the image says of itself; asked of git only by the targets that build one. A remote's address may hold a password.
VERSION = $(shell sed -n 's/^VERSION = "\(.*\)"/\1/p' clientgo/version.py)
REVISION = $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
SOURCE = $(shell (git remote get-url origin 2>/dev/null || echo unknown) | sed 's|//[^/@]*@|//|')
# The commit's time, for everything that would write down the present one.
EPOCH = $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
BUILD_ARGS = --build-arg PYTHON_IMAGE=$(PYTHON_IMAGE) --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	--build-arg SOURCE=$(SOURCE) --build-arg SOURCE_DATE_EPOCH=$(EPOCH)
WITH_IMG = sed 's|image: sample-controller:latest|image: $(IMG)|'

.DEFAULT_GOAL := help

##@ General

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*##"; printf "Usage: make <target> [ARGS=\"...\"]\n" } \
		/^[a-z-]+:.*##/ { printf "  %-16s %s\n", $$1, $$2 } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) }' $(MAKEFILE_LIST)

PACKAGING := setup.cfg setup.py pyproject.toml hack/venv.sh

$(RUNTIME): $(PACKAGING)
	@hack/venv.sh "$(PYTHON)" "$(VENV)" embedded

# What `make run` needs is part of it.
$(DEV): $(PACKAGING)
	@hack/venv.sh "$(PYTHON)" "$(VENV)" dev
	@touch $(RUNTIME)

.PHONY: venv
venv: $(DEV) ## Install the development tools into .venv, which every other target does by itself

.PHONY: run
run: $(RUNTIME) ## Run the controller with its own API server on this machine; no cluster needed
	@$(IN_VENV) exec python main.py --embedded $(ARGS)

.PHONY: clean
clean: ## Remove what builds, checks and runs leave behind; the virtual environments stay
	rm -rf build dist .embedded .coverage .coverage.*
	find . \( -path ./.git -o -name '.venv*' -o -path './$(VENV)' \) -prune -o \
		\( -name __pycache__ -o -name '*.egg-info' -o -name .hypothesis -o -name '.*_cache' \) -prune -exec rm -rf {} +

##@ Checks

.PHONY: check
check: static test ## Everything continuous integration runs: the static checks and make test

.PHONY: static
static: $(DEV) ## Check style, types, import rows, generated code and docs/parity; look for insecure code
	@$(IN_VENV) hack/check.sh

.PHONY: test
test: $(DEV) ## Run the tests but for the long searches; ARGS="tests/cache -k resync" narrows them
	@$(IN_VENV) $(PYTEST) -m "not slow" $(ARGS)

.PHONY: test-all
test-all: $(DEV) ## Run every test, the long searches included; takes long
	@$(IN_VENV) $(PYTEST) --hypothesis-profile=full $(ARGS)

.PHONY: unit
unit: $(DEV) ## Run the unit tests: no server, no process, at most a minute on two cores
	@$(IN_VENV) $(PYTEST) -m "unit and not slow" $(ARGS)

.PHONY: coverage
coverage: $(DEV) ## Run the tests and report which lines and branches they reach
	@$(IN_VENV) $(PYTEST) -m "not slow" --cov --cov-report=term $(ARGS)

.PHONY: lint
lint: $(DEV) ## Look for mistakes and bad style
	@$(IN_VENV) ruff check

.PHONY: format
format: $(DEV) ## Format the code in place
	@$(IN_VENV) ruff format

.PHONY: typecheck
typecheck: $(DEV) ## Check the types, strictly
	@$(IN_VENV) mypy

.PHONY: imports
imports: $(DEV) ## Check that imports point only downward
	@$(IN_VENV) lint-imports --no-logo

.PHONY: parity
parity: $(DEV) ## Write the tests of each behaviour and feature into docs/parity/
	@$(IN_VENV) python -m hack.parity $(ARGS)

.PHONY: audit
audit: $(DEV) ## Look for insecure code, and for known vulnerabilities in what the image is made of
	@$(IN_VENV) hack/bandit.sh
	@$(IN_VENV) python -m hack.audit hack/requirements.lock $(ARGS)

.PHONY: reliability
reliability: $(DEV) ## Let every fault happen once, and write docs/reliability.md from what was measured
	@$(IN_VENV) python -m hack.reliability $(ARGS)

.PHONY: soak
soak: $(DEV) ## Let faults happen at random, to 2,000 Foos; ARGS="--minutes 30 --seed 8"
	@$(IN_VENV) python -m hack.soak $(ARGS)

.PHONY: fuzz
fuzz: $(DEV) ## Feed all that reads input with inputs made by chance; ARGS="--minutes 10 --targets kubeconfigs"
	@$(IN_VENV) python -m hack.fuzz $(ARGS)

##@ Benchmarks

.PHONY: bench
bench: $(DEV) ## Measure beside floor and peers, into benchmarks/results; ARGS="--case create --quick", SERVER=kubeconfig
	@$(IN_VENV) python -m benchmarks $(if $(SERVER),--server "$(SERVER)") $(ARGS)

.PHONY: bench-check
bench-check: $(DEV) ## Fail if a ratio is more than 20 % worse than in benchmarks/results; ARGS=--quick: small sizes
	@$(IN_VENV) python -m benchmarks --check $(ARGS)

##@ Code generation

.PHONY: update-codegen
update-codegen: $(DEV) ## Write clients, listers, informers and CRDs anew from the types
	@$(IN_VENV) hack/update-codegen.sh

.PHONY: verify-codegen
verify-codegen: $(DEV) ## Fail, with a diff, if what is generated is not what the types say
	@$(IN_VENV) hack/verify-codegen.sh

##@ Build

.PHONY: build
build: $(DEV) ## Build the wheel of the library into dist/
	@$(IN_VENV) python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . && ls dist/*.whl

.PHONY: lock
lock: $(DEV) ## Lock what the image is made of, with hashes; ARGS="--upgrade" takes the newest releases
	@$(IN_VENV) hack/lock.sh $(ARGS)

.PHONY: sbom
sbom: $(DEV) ## Write the image's bill of materials (CycloneDX) into dist/
	@$(IN_VENV) SOURCE_DATE_EPOCH=$(EPOCH) python -m hack.sbom hack/requirements.lock dist/sbom.cdx.json

.PHONY: docker-build
docker-build: ## Build the controller's image, IMG, with CONTAINER_TOOL
	$(CONTAINER_TOOL) build $(BUILD_ARGS) --tag $(IMG) .

.PHONY: docker-push
docker-push: ## Push IMG to its registry
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: ## Build IMG for all PLATFORMS, with provenance and SBOM, and push it
	$(CONTAINER_TOOL) buildx build $(BUILD_ARGS) --platform $(PLATFORMS) --provenance=mode=max --sbom=true \
		--output type=image,name=$(IMG),push=true,rewrite-timestamp=true .

.PHONY: build-installer
build-installer: ## Write everything deploy would apply, running IMG, into dist/install.yaml
	@mkdir -p dist
	$(KUBECTL) kustomize artifacts/$(OVERLAY) > dist/rendered.yaml
	$(WITH_IMG) dist/rendered.yaml > dist/install.yaml
	@rm dist/rendered.yaml

##@ Deployment: to the cluster kubectl points at

.PHONY: install
install: ## Install the CRDs
	$(KUBECTL) apply -k artifacts/crd

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them every Foo
	$(KUBECTL) delete --ignore-not-found -k artifacts/crd

.PHONY: deploy
deploy: ## Install the CRDs, the permissions and the controller, running IMG; OVERLAY=namespaced or sharded
	$(KUBECTL) kustomize artifacts/$(OVERLAY) | $(WITH_IMG) | $(KUBECTL) apply -f -

.PHONY: undeploy
undeploy: ## Remove what deploy installed, every Foo included
	$(KUBECTL) delete --ignore-not-found -k artifacts/$(OVERLAY)
