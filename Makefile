# Everything over every module, for people and for CI. Only Go and make are
# needed; what else a target can use, it says.

SHELL := /bin/sh
.DEFAULT_GOAL := help

MODULES := . devserver/launch devserver cmd examples bench tests

# Of the module of the Temporal server only the tests, which start its program: the
# program itself need not be compiled with the race detector, which takes minutes.
TESTED := . devserver/launch devserver/tests cmd examples bench

STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
WORKFLOWCHECK := go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# The race detector needs a C compiler.
RACE := $(shell { [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null 2>&1; } && echo -race)

# Keep test processes from downloading another toolchain than the one in use.
export GOTOOLCHAIN := local
TESTFLAGS ?= -count=1 -timeout=20m

# The integration tests wait for others most of the time.
WAITING := -parallel=10

# What the run without a workflow cache skips: tests of the worker's side, to which it is
# all one how a workflow task is replayed. All have run before, with the race detector.
WORKER_SIDE := 'HTTP|Misbehaves|Transport|Broken|ResultOver|ResultIn|Large|Heartbeat|DescribeMisleads|Delayed|Marker|Codec|AnswersGetLost|ConnectionsBreak|ColdStart|ManyBlocks|RollingRestart|Readme|Floods|Talks|Unchanged|Numbers|Environment|Repeatable|Secrets'

.PHONY: help
help: ## Say what there is.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: go
go:
	@command -v go >/dev/null 2>&1 || { echo "Go is missing: install Go 1.26 or later from https://go.dev/dl"; exit 1; }

.PHONY: server
server: go ## Build the embedded Temporal server (7 minutes the first time).
	@echo "==> the embedded Temporal server (its first build takes about 7 minutes)"
	@cd devserver/launch && go run ./cmd/devserver-build

.PHONY: demo
demo: server ## Run the quickstart: state that lives on, and a loss that is told.
	@echo "==> demo"
	@cd examples && go run ./quickstart/demo

.PHONY: test
test: server ## Run every test of every module; the integration tests with and without the workflow cache.
	@[ -n "$(RACE)" ] || echo "==> no C compiler: the tests run without the race detector"
	@for directory in $(TESTED); do \
		echo "==> test $$directory"; \
		(cd $$directory && go test $(RACE) $(TESTFLAGS) ./...) || exit 1; \
	done
	@echo "==> test tests, with the workflow cache"
	@cd tests && go test $(RACE) $(TESTFLAGS) $(WAITING) .
	@cd tests && go test $(RACE) $(TESTFLAGS) $(WAITING) $$(go list ./... | sed -e 1d -e '/crash$$/d')
	@cd tests && go test $(RACE) $(TESTFLAGS) ./crash
	@echo "==> test tests, replaying every workflow task"
	@cd tests && go test $(TESTFLAGS) $(WAITING) -skip $(WORKER_SIDE) . -workflow-cache=0

.PHONY: interop
interop: server ## Run blocks against the MCP servers of others (with Node 20 and Python 3.10, or without their rows).
	@echo "==> interop"
	@cd tests && go test $(RACE) $(TESTFLAGS) $(WAITING) -v ./interop

.PHONY: browser
browser: server ## Run the browser example's tests (with Node 20, npm and Chromium): Playwright MCP drives it.
	@echo "==> browser"
	@cd examples && go test $(RACE) $(TESTFLAGS) -v ./browser

# How often make stress repeats the table.
N ?= 30

.PHONY: stress
stress: server ## Repeat the table of crash points, N=30 times.
	@echo "==> crash points, $(N) times"
	@cd tests && go test $(RACE) -count=$(N) -timeout=0 -run TestCrashPoints ./crash

# How long make soak lasts.
SOAK ?= 10m

.PHONY: soak
soak: server ## Random workflows under random faults, for SOAK=10m; every answer is checked.
	@echo "==> soak, $(SOAK)"
	@cd tests && go test $(RACE) -count=1 -timeout=0 -v ./soak -soak=$(SOAK)

.PHONY: bench
bench: server ## Measure what a block costs beside a plain activity.
	@cd bench && go run .

.PHONY: record
record: server ## Record the histories of replaytests that are missing or differ. Read the diff before you commit it.
	@cd tests && go test -count=1 -run 'TestHistories|TestRecordVisit' ./replay -record

# The release that make pin keeps the code of.
RELEASE ?= v0.1.0

.PHONY: pin
pin: go ## Keep the code of the last commit as RELEASE=v0.1.0, with which new histories are replayed.
	@cd tests && go run ./replay/pin $(RELEASE)

.PHONY: lint
lint: go ## Check format, vet, staticcheck, workflowcheck, govulncheck; of MODULES=… only, if given.
	@echo "==> gofmt"
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run gofmt on: $$unformatted"; exit 1; }
	@for module in $(MODULES); do \
		echo "==> vet and staticcheck $$module"; \
		(cd $$module && go vet ./... && go run $(STATICCHECK) ./...) || exit 1; \
	done
	@echo "==> vet for other systems"
	@GOOS=darwin go vet ./... && GOOS=windows go vet ./...
	@echo "==> workflowcheck"
	@go run $(WORKFLOWCHECK) ./toolset/... ./stateless/... ./replaytests/workflows
	@cd cmd && go run $(WORKFLOWCHECK) ./mcpsession/workflows
	@cd examples && go run $(WORKFLOWCHECK) ./quickstart ./browser ./http ./agent ./briefing ./stateless ./waiting
	@echo "==> govulncheck"
	@go run $(GOVULNCHECK) ./... || { \
		status=$$?; \
		if [ $$status -eq 3 ]; then exit 1; fi; \
		echo "skipped: govulncheck can't reach its data"; }
