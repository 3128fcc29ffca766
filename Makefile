# Requires Python >= 3.11 with venv, make and a package index. The first target that needs them installs the runtime packages
# (`make run`) or the development tools into $(VENV).

PYTHON ?= python3
VENV ?= .venv
DOCS_VENV ?= .venv-docs
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl
IMG ?= sample-controller:latest
PYTHON_IMAGE ?= python:3.11-slim
BUILD_OPTIONS ?=
PLATFORMS ?= linux/amd64,linux/arm64
OVERLAY ?= default
ARGS ?=

RUNTIME := $(VENV)/.embedded
DEV := $(VENV)/.dev
DOCS := $(DOCS_VENV)/.docs
# Not `export PATH`: the make of macOS resolves commands with its initial PATH. Bytecode is written even if the user's
# environment disables it: nothing is compiled at installation, and tests start many processes.
IN_VENV := PYTHONDONTWRITEBYTECODE= PATH="$(abspath $(VENV))/bin:$$PATH"
# tests/layers.py sets the number of processes, and orders the tests by layer, the fast ones first.
PYTEST := python -m pytest -n auto --dist worksteal

# Labels of the image; only the targets that build one run git. The password in a remote's address is removed.
VERSION = $(shell sed -n 's/^VERSION = "\(.*\)"/\1/p' clientgo/version.py)
REVISION = $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
SOURCE = $(shell (git remote get-url origin 2>/dev/null || echo unknown) | sed 's|//[^/@]*@|//|')
# The commit's time, in place of the current time in build outputs.
EPOCH = $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
BUILD_ARGS = --build-arg PYTHON_IMAGE=$(PYTHON_IMAGE) --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	--build-arg SOURCE=$(SOURCE) --build-arg SOURCE_DATE_EPOCH=$(EPOCH)
WITH_IMG = sed 's|image: sample-controller:latest|image: $(IMG)|'

.DEFAULT_GOAL := help

##@ General

.PHONY: help
help: ## List all targets
	@awk 'BEGIN { FS = ":.*##"; printf "Usage: make <target> [ARGS=\"...\"]\n" } \
		/^[a-z-]+:.*##/ { printf "  %-16s %s\n", $$1, $$2 } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) }' $(MAKEFILE_LIST)

PACKAGING := setup.cfg setup.py pyproject.toml apiserver/setup.cfg tools/setup.cfg olm/setup.cfg hack/venv.sh hack/checkout.py

$(RUNTIME): $(PACKAGING)
	@hack/venv.sh "$(PYTHON)" "$(VENV)" embedded

# The development tools include the packages that `make run` needs.
$(DEV): $(PACKAGING)
	@hack/venv.sh "$(PYTHON)" "$(VENV)" dev
	@touch $(RUNTIME)

$(DOCS): $(PACKAGING)
	@hack/venv.sh "$(PYTHON)" "$(DOCS_VENV)" docs

.PHONY: venv
venv: $(DEV) ## Install the development tools into .venv (other targets do so when needed)

.PHONY: run
run: $(RUNTIME) ## Run the controller with its own API server on this machine, without a cluster
	@$(IN_VENV) exec python main.py --embedded $(ARGS)

.PHONY: clean
clean: ## Remove files left by builds, checks and runs; keep the virtual environments
	rm -rf build dist .embedded .coverage .coverage.*
	find . \( -path ./.git -o -name '.venv*' -o -path './$(VENV)' \) -prune -o \
		\( -name __pycache__ -o -name '*.egg-info' -o -name .hypothesis -o -name '.*_cache' \) -prune -exec rm -rf {} +

##@ Checks

.PHONY: check
check: static test ## Run everything that continuous integration runs: make static and make test

.PHONY: static
static: $(DEV) ## Run the static checks: style, types, imports, generated code, docs/reports/parity, security
	@$(IN_VENV) hack/check.sh

.PHONY: test
test: $(DEV) ## Run the tests, without the slow ones; ARGS="tests/cache -k resync" selects some
	@$(IN_VENV) $(PYTEST) -m "not slow" $(ARGS)

.PHONY: test-all
test-all: $(DEV) ## Run all tests, including the slow ones (about half an hour)
	@$(IN_VENV) $(PYTEST) --hypothesis-profile=full $(ARGS)

.PHONY: test-versions
test-versions: $(DEV) ## Run the sample, the examples and a scaffold against each supported version of Kubernetes (minutes)
	@$(IN_VENV) hack/versions.sh $(ARGS)

.PHONY: test-image
test-image: $(DEV) ## Build the images of the sample and a scaffold from PYTHON_IMAGE by buildah, and run them; BUILD_OPTIONS for the builds
	@$(IN_VENV) PYTHON_IMAGE="$(PYTHON_IMAGE)" BUILD_OPTIONS="$(BUILD_OPTIONS)" python -m pytest -rs tests/project/test_image.py $(ARGS)

.PHONY: unit
unit: $(DEV) ## Run the unit tests: no servers or processes
	@$(IN_VENV) $(PYTEST) -m "unit and not slow" $(ARGS)

.PHONY: coverage
coverage: $(DEV) ## Run the tests and report line and branch coverage
	@$(IN_VENV) $(PYTEST) -m "not slow" --cov --cov-report=term $(ARGS)

.PHONY: lint
lint: $(DEV) ## Run the linter
	@$(IN_VENV) ruff check

.PHONY: format
format: $(DEV) ## Format the code
	@$(IN_VENV) ruff format

.PHONY: typecheck
typecheck: $(DEV) ## Run the type checker
	@$(IN_VENV) mypy

.PHONY: imports
imports: $(DEV) ## Check the import contracts
	@$(IN_VENV) python -m hack.import_contracts

.PHONY: metrics-page
metrics-page: $(DEV) ## Update the metrics in docs/guide/serving.md from the code
	@$(IN_VENV) python -m hack.metrics_page

.PHONY: reference-page
reference-page: $(DEV) ## Write the public names of the library to build/reference.md
	@$(IN_VENV) python -m hack.reference_page

.PHONY: parity
parity: $(DEV) ## Update the tests listed in docs/reports/parity/
	@$(IN_VENV) python -m hack.parity $(ARGS)

.PHONY: audit
audit: $(DEV) ## Check for insecure code and for known vulnerabilities of the locked packages
	@$(IN_VENV) hack/bandit.sh
	@$(IN_VENV) python -m hack.audit hack/requirements.lock $(ARGS)

.PHONY: reliability
reliability: $(DEV) ## Inject every fault once and write the results to docs/reports/reliability.md
	@$(IN_VENV) python -m hack.reliability $(ARGS)

.PHONY: soak
soak: $(DEV) ## Inject random faults while 2,000 Foos change; ARGS="--minutes 30 --seed 8"
	@$(IN_VENV) python -m hack.soak $(ARGS)

.PHONY: fuzz
fuzz: $(DEV) ## Fuzz every parser; ARGS="--minutes 10 --targets kubeconfigs"
	@$(IN_VENV) python -m hack.fuzz $(ARGS)

.PHONY: findings
findings: ## Check whether the behaviour of other packages in findings/ has changed; ARGS="name ..." selects some
	@PYTHON="$(PYTHON)" hack/findings.sh $(ARGS)

##@ Benchmarks

.PHONY: bench
bench: $(DEV) ## Run the benchmarks, into benchmarks/results; ARGS="--case create", SERVER=kubeconfig, GO_CONTROLLER=path
	@$(IN_VENV) python -m benchmarks $(if $(SERVER),--server "$(SERVER)") $(if $(GO_CONTROLLER),--go-controller "$(GO_CONTROLLER)") $(ARGS)

.PHONY: bench-check
bench-check: $(DEV) ## Fail if a ratio is more than 20 % worse than in benchmarks/results; ARGS=--quick for small sizes
	@$(IN_VENV) python -m benchmarks --check $(ARGS)

##@ Code generation

.PHONY: update-codegen
update-codegen: $(DEV) ## Generate clients, listers, informers and CRDs from the types
	@$(IN_VENV) hack/update-codegen.sh

.PHONY: verify-codegen
verify-codegen: $(DEV) ## Fail with a diff if generated code does not match the types
	@$(IN_VENV) hack/verify-codegen.sh

##@ Build

.PHONY: build
build: $(DEV) ## Build the wheels of the distributions into dist/
	@$(IN_VENV) python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . ./apiserver ./tools ./olm && ls dist/*.whl

.PHONY: dist
dist: $(DEV) ## Build wheels and source archives of the commit twice, check and try them; REPO_URL=address for their links
	@$(IN_VENV) python -m hack.dist --repo-url "$(REPO_URL)" $(ARGS)

.PHONY: release
release: $(DEV) ## Write VERSION=0.2.0 and the date into versions and changelogs, commit and tag; pushes nothing
	@$(IN_VENV) python -m hack.release "$(if $(filter command line,$(origin VERSION)),$(VERSION))"

.PHONY: rehearse
rehearse: $(DEV) ## Rehearse a release in a clone: archives installed by pip and uv, a project made with them; minutes
	@$(IN_VENV) python -m hack.rehearsal $(ARGS)

.PHONY: docs
docs: $(DOCS) ## Build the documentation site into build/site; REPO_URL=address links it to the source files
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --quiet --strict $(ARGS) && echo build/site/index.html

.PHONY: lock
lock: $(DEV) ## Lock the image's packages with hashes; ARGS=--upgrade selects the newest releases
	@$(IN_VENV) hack/lock.sh $(ARGS)

.PHONY: sbom
sbom: $(DEV) ## Write the image's SBOM (CycloneDX) into dist/
	@$(IN_VENV) SOURCE_DATE_EPOCH=$(EPOCH) python -m hack.sbom hack/requirements.lock dist/sbom.cdx.json

.PHONY: docker-build
docker-build: ## Build the image IMG with CONTAINER_TOOL
	$(CONTAINER_TOOL) build $(BUILD_ARGS) --tag $(IMG) .

.PHONY: docker-push
docker-push: ## Push the image IMG
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: ## Build IMG for all PLATFORMS with provenance and SBOM, and push it
	$(CONTAINER_TOOL) buildx build $(BUILD_ARGS) --platform $(PLATFORMS) --provenance=mode=max --sbom=true \
		--output type=image,name=$(IMG),push=true,rewrite-timestamp=true .

.PHONY: build-installer
build-installer: ## Write the manifests that deploy applies into dist/install.yaml
	@mkdir -p dist
	$(KUBECTL) kustomize artifacts/$(OVERLAY) > dist/rendered.yaml
	$(WITH_IMG) dist/rendered.yaml > dist/install.yaml
	@rm dist/rendered.yaml

##@ Deployment (to kubectl's current cluster)

.PHONY: install
install: ## Install the CRDs
	$(KUBECTL) apply -k artifacts/crd

.PHONY: uninstall
uninstall: ## Delete the CRDs, including all Foos
	$(KUBECTL) delete --ignore-not-found -k artifacts/crd

.PHONY: deploy
deploy: ## Deploy CRDs, permissions and controller with the image IMG; OVERLAY=namespaced or sharded
	$(KUBECTL) kustomize artifacts/$(OVERLAY) | $(WITH_IMG) | $(KUBECTL) apply -f -

.PHONY: undeploy
undeploy: ## Delete everything that deploy installed, including all Foos
	$(KUBECTL) delete --ignore-not-found -k artifacts/$(OVERLAY)
