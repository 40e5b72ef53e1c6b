# msgx: "make help" lists what can be made.
#
# Everything that needs servers goes through tools/stack, which starts a private
# PostgreSQL, MariaDB and Apache Kafka on loopback, installing what is missing,
# and stops what it started. Programs are built first and then run, rather than
# with "go run", which does not pass on a SIGTERM.

GO    ?= go
# Packages tested side by side. Every one of them talks to the same three
# servers, so more than two only makes them wait for each other.
P     ?= 2
# Packages to test: make test PKG=./engine/store
PKG   ?= ./...
# Further arguments for the program being run: make demo ARGS=--once
ARGS  ?=

LINT  := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
STACK := bin/stack

.DEFAULT_GOAL := help

## help: list the targets
.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## demo: an airport day before your eyes; ARGS=--once ends by itself and checks everything
.PHONY: demo
demo: build
	$(STACK) run -- bin/msgx demo $(ARGS)

## build: bin/msgx, the daemon and its command line, and bin/stack, the development servers
.PHONY: build
build: bin/stack
	$(GO) build -o bin/msgx ./cmd/msgx

.PHONY: bin/stack
bin/stack:
	$(GO) build -o bin/stack ./tools/stack

## test: vet and test everything on real servers, with the race detector; PKG=./engine/store for less
.PHONY: test
test: bin/stack
	$(STACK) compiler
	$(GO) vet $(PKG)
	$(STACK) run -- $(GO) test $$($(STACK) race) -shuffle=on -count=1 -timeout 20m -p $(P) $(PKG)

# How long make simulate goes on, and the seed that it begins with.
FOR   ?= 1m
FIRST ?= 1

# Processes side by side: one keeps one processor busy.
WORKERS ?= $(shell nproc)

## simulate: the stages on fakes, in schedules drawn at random, a process for each processor; FOR=10m, FIRST=1000000 for others, SEED=7 for that one and what happens in it
.PHONY: simulate
simulate:
	$(GO) test -c -o bin/simulate.test ./tools/simulate
	@cd tools/simulate && if [ -n "$(SEED)" ]; then exec ../../bin/simulate.test -test.v -test.run TestSchedules -simulate.seed $(SEED); fi; \
	failed=0; for i in $$(seq 1 $(WORKERS)); do \
		../../bin/simulate.test -test.v -test.timeout 0 -test.run TestSchedules -simulate.first $$(( $(FIRST) + (i - 1) * 100000000 )) \
			-simulate.for $(FOR) -simulate.schedules 1000000000 & pids="$$pids $$!"; \
	done; for p in $$pids; do wait $$p || failed=1; done; exit $$failed

# How often make crash kills, and the seed of messages, kills and troubles.
KILLS ?= 1000

## crash: kill daemons and trouble real servers, and hold what is left to audit and to an undisturbed run; KILLS=1000, SEED=1
.PHONY: crash
crash: bin/stack
	$(STACK) run -- $(GO) test ./tools/crash -count=1 -timeout 0 -v -run TestCrash -args -crash.kills $(KILLS) -crash.seed $(or $(SEED),1)

# How long make soak goes on, and how long each of the three servers is away in the middle of it.
SOAK   ?= 25m
OUTAGE ?= 3m20s

## soak: a daemon at steady work, each server away for a while, a long reader all the time; SOAK=25m, OUTAGE=3m20s
.PHONY: soak
soak: bin/stack
	$(STACK) run -- $(GO) test ./tools/crash -count=1 -timeout 0 -v -run TestSoak -args -soak.for $(SOAK) -soak.outage $(OUTAGE)

## cover: test coverage by package and function, in bin/cover.html
.PHONY: cover
cover: bin/stack
	$(STACK) run -- $(GO) test -count=1 -timeout 20m -p $(P) -coverpkg=./... -coverprofile=bin/cover.out $(PKG)
	$(GO) tool cover -func=bin/cover.out | tail -1
	$(GO) tool cover -html=bin/cover.out -o bin/cover.html

## rules-cover: which lines and outcomes of the rules the golden cases cover, in bin/rules.html; fails below all
.PHONY: rules-cover
rules-cover: build
	bin/msgx golden coverage --format html --dir golden --set rules.dir=. > bin/rules.html
	bin/msgx golden coverage --threshold 100 --dir golden --set rules.dir=. $(ARGS)

## mutate: break the rules in small ways; fails when the golden cases notice less than 95 in 100; ARGS=merge for one file
.PHONY: mutate
mutate: build
	bin/msgx rules mutate --threshold 95 --dir golden --set rules.dir=. $(ARGS)

## lint: the rules by msgx and luacheck, and the linters of .golangci.yml in the version that tools/lint/go.mod pins
.PHONY: lint
lint: lint-rules
	$(LINT) run $(ARGS)

## lint-rules: the Lua rules alone
.PHONY: lint-rules
lint-rules: build
	bin/msgx rules lint .
	$(STACK) luacheck --quiet --no-color handlers.lua rules

## bench: messages per second against the floor of the same statements without us
.PHONY: bench
bench: bin/stack
	$(GO) build -o bin/bench ./tools/bench
	$(STACK) run -- bin/bench $(ARGS)

## generate: everything that is derived from the catalogue
.PHONY: generate
generate:
	$(GO) generate ./...

## stack-up: start the development servers, to stay; ARGS="postgres mariadb" for some of them
.PHONY: stack-up
stack-up: bin/stack
	$(STACK) up $(ARGS)

## stack-down: stop the development servers and remove their data; ARGS=--force even if they are in use
.PHONY: stack-down
stack-down: bin/stack
	$(STACK) down $(ARGS)

## clean: remove what was built
.PHONY: clean
clean:
	rm -rf bin
