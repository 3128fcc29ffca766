# Needs Python >= 3.11 with venv, make and a package index; everything else is installed into $(VENV) on first use.

PYTHON ?= python3
VENV ?= .venv
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl
IMG ?= sample-controller:latest
PYTHON_IMAGE ?= python:3.11-slim
PLATFORMS ?= linux/amd64,linux/arm64
OVERLAY ?= default
ARGS ?=

STAMP := $(VENV)/.installed
# Not `export PATH`: the make that macOS ships looks commands up in the PATH it was started with.
IN_VENV := PATH="$(abspath $(VENV))/bin:$$PATH"

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
unit: $(STAMP) ## Run the tests without processes, servers and long searches, on two cores; ARGS narrows them
	@$(IN_VENV) python -m pytest -m "not e2e" --ignore=tests/fuzz --ignore=tests/models -n 2 --dist worksteal $(ARGS)

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

.PHONY: features
features: $(STAMP) ## List the census' features, each with its test, why it does not apply, or that it is not built
	@$(IN_VENV) python -m hack.features $(ARGS)

.PHONY: mutants
mutants: $(STAMP) ## Break the code a bit at a time and count what the tests notice; takes long
	@$(IN_VENV) python -m hack.mutants $(ARGS)

.PHONY: audit
audit: $(STAMP) ## Look for insecure code, and for known vulnerabilities in what the image is made of
	@$(IN_VENV) hack/bandit.sh
	@$(IN_VENV) python -m hack.audit hack/requirements.lock $(ARGS)

.PHONY: reliability
reliability: $(STAMP) ## Let every fault happen once, and write docs/reliability.md from what was measured
	@$(IN_VENV) python -m hack.reliability $(ARGS)

.PHONY: soak
soak: $(STAMP) ## Let faults happen at random, to 2,000 Foos; ARGS="--minutes 30 --seed 8"
	@$(IN_VENV) python -m hack.soak $(ARGS)

.PHONY: fuzz
fuzz: $(STAMP) ## Feed all that reads input with inputs made by chance; ARGS="--minutes 10 --targets kubeconfigs"
	@$(IN_VENV) python -m hack.fuzz $(ARGS)

##@ Benchmarks

.PHONY: bench
bench: $(STAMP) ## Measure beside floor and peers, into benchmarks/results; ARGS="--case create --quick", SERVER=kubeconfig
	@$(IN_VENV) python -m benchmarks $(if $(SERVER),--server "$(SERVER)") $(ARGS)

.PHONY: bench-check
bench-check: $(STAMP) ## Fail if a ratio is more than 20 % worse than in benchmarks/results; ARGS=--quick: small sizes
	@$(IN_VENV) python -m benchmarks --check $(ARGS)

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

.PHONY: lock
lock: $(STAMP) ## Lock what the image is made of, with hashes; ARGS="--upgrade" takes the newest releases
	@$(IN_VENV) hack/lock.sh $(ARGS)

.PHONY: sbom
sbom: $(STAMP) ## Write the image's bill of materials (CycloneDX) into dist/
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
