GO ?= go
P4C ?= p4c-bm2-ss
P4TESTGEN ?= p4testgen
FUZZTIME ?= 10s
DOCKER ?= docker
IMAGE ?= weft

.PHONY: build demo test lint web-lint gosec vuln fuzz bench soak mutate p4 p4-tests hostapi web web-same test-web screenshots browser image labs lab-up lab-down test-compose interop interop-mrc libmrc

build:
	$(GO) build -o bin/weft ./cmd/weft

# The main job: one REST call, and a RoCEv2 write reaches five receivers.
demo: build
	bin/weft demo multicast

# What runs on one goroutine: the race detector finds nothing there that it does not find in the
# packages that use it, and takes minutes for it. A test fails when code of these starts a goroutine.
ALONE = ./controller/job/layout ./controller/job/lease ./controller/mrc/ev ./controller/mrc/suspect ./controller/orphan ./controller/reconcile ./controller/underlay ./dataplane ./dataplane/bitfield ./dataplane/bmv2hash ./dataplane/bmv2json ./dataplane/drop ./dataplane/engine ./dataplane/extern ./dataplane/ir \
	./dataplane/queue ./dataplane/replay ./dataplane/setup ./dataplane/stf ./dataplane/table \
	./endpoint/mrc ./endpoint/nic ./endpoint/nscc ./endpoint/rc ./endpoint/spray ./endpoint/verbs ./internal/hostlist ./internal/ring ./internal/virtual ./lab/maxmin ./packet \
	./test/arch ./test/fabric ./test/faults ./test/mrc/flows ./test/pfc

# What does less when it is short: the packages whose tests ask for that.
LONG = $$(grep -rlE --include='*_test.go' 'testing\.Short\(|seeds\.Range\(' . | xargs -n1 dirname | sort -u)

# Everything that must hold before a change lands; also what CI runs. With the race detector tests are
# the short ones: what takes long is many cases on one goroutine, which run without it. What is whole when
# it is short has run then, and does not again. Vet is done by lint. Of fuzz targets
# it runs what is in their corpora: the same in every run. Garbage is collected less often than by default,
# which takes a tenth of the time, and memory that nobody misses.
test: export GOGC = 400
test: export GO := $(GO)
test: lint web-same
	@echo "make test, 1 of 3: with the race detector"
	@$(PROGRESS) test -race -short -vet=off -timeout=30m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(ALONE))")
	@echo "make test, 2 of 3: what is whole without it"
	@$(PROGRESS) test -vet=off -timeout=30m $$($(GO) list $(ALONE) $(LONG) | grep -vxF "$$($(GO) list ./test/faults)")
	@echo "make test, 3 of 3: random faults"
	$(GO) test -v -vet=off -timeout 30m ./test/faults

# Says once a minute how far a command or go test is.
PROGRESS = $(GO) run ./test/progress

lint:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "gofmt: run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(PROGRESS) run $(GO) vet ./...
	$(PROGRESS) run $(GO) tool staticcheck ./...
	@$(PROGRESS) run $(MAKE) -s gosec
	@$(MAKE) -s web-lint

# Security checks of the code; lint.gosec has what is left out, with the reasons. Its own module file
# keeps what gosec and govulncheck depend on out of go.mod.
gosec:
	@$(GO) tool -modfile=lint.mod gosec -quiet -exclude-generated -nosec-require-rules -nosec-require-justification \
		-exclude-rules "$$(sed -e 's/ *#.*//' -e '/^$$/d' lint.gosec | paste -sd ';')" ./...

# Known vulnerabilities in dependencies and in the standard library that the code reaches. It fetches
# the database of the Go project, and so is not part of lint.
vuln:
	$(GO) tool -modfile=lint.mod govulncheck ./...

# Every fuzz target for a short time, two at a time: what it finds is written to testdata/fuzz, and a
# test from then on. Now and then go test -fuzz takes the end of that time for a failure ("context
# deadline exceeded"), with no input that fails.
fuzz:
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort -u | sed 's|/[^/]*:func | |' | xargs -P 2 -n 2 sh -c ' \
		echo "fuzz $$1 $$2"; \
		out=$$($(GO) test -run "^\$$" -fuzz "^$$2\$$" -fuzztime $(FUZZTIME) $$1 2>&1) || case "$$out" in \
			*"Failing input"*|*panic*|*terminated*) echo "$$out"; exit 255;; \
			*"context deadline exceeded"*) ;; \
			*) echo "$$out"; exit 255;; \
		esac' fuzz

# A container image with the static program and nothing else, by Docker or what DOCKER names. deploy/image
# has its Dockerfile; a test keeps it below 25 MB compressed.
image:
	rm -rf bin/image && mkdir -p bin/image/state
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/image/weft ./cmd/weft
	cp deploy/image/Dockerfile bin/image/
	$(DOCKER) build -q -t $(IMAGE) bin/image

# The labs of Docker Compose in the repository, made again.
labs: build
	bin/weft lab export figure1 --to compose --data deploy/compose/figure1 .
	bin/weft lab export examples/fabric.yaml --to compose deploy/compose/fabric
	bin/weft lab export figure1 --to compose --controllers 3 deploy/compose/cluster

# One of these labs in containers: make lab-up LAB=fabric PROFILE=bmv2.
LAB ?= figure1
PROFILE ?= embedded
COMPOSE ?= docker-compose
lab-up: image
	cd $(LABDIR) && $(COMPOSE) --profile $(PROFILE) up -d
lab-down:
	cd $(LABDIR) && $(COMPOSE) --profile $(PROFILE) down -v
LABDIR = $(if $(filter figure1,$(LAB)),.,deploy/compose/$(LAB))

# Runs these labs: it starts a Docker daemon where none runs.
test-compose:
	@for p in docker docker-compose; do command -v $$p >/dev/null || { echo "make test-compose: $$p is missing: apt-get install docker.io docker-compose"; exit 1; }; done
	WEFT_LABS=compose $(GO) test -count=1 -timeout 30m -v -run Compose ./test/labs

# Linux's own RoCEv2 stack, in guests under qemu, through Figure 1: see docs/labs.md. Programs of others
# for MRC over weft nic (docs/libmrc.md), from where OCP_MRC_DIR and MRC_NCCL_DIR have their sources.
interop: interop-mrc
	WEFT_INTEROP=1 $(GO) test -count=1 -timeout 150m ./test/interop -run TestInterop -v

interop-mrc:
	WEFT_INTEROP=1 $(GO) test -count=1 -timeout 90m ./test/libmrc -run TestPrograms -v

# Longer than a change should wait for: the fault scenarios with 20,000 seeds, several controllers and what they deny with 10,000, programs as code beside the same interpreted (10 million packets), fabrics under load and the naming of bad links with many,
# hostile clients of a switch in numbers, programs of MRC and their NICs that are killed (for MRC_SOAK), what clients may believe of three controllers in 100 runs of 100,000 operations.
MRC_SOAK ?= 1h
soak:
	WEFT_SEEDS=20000 $(GO) test -timeout 24h -run '^(TestFaults|TestPlanes)$$' -v ./test/faults
	WEFT_SEEDS=20000 $(GO) test -timeout 24h -run '^TestWrites' -v ./endpoint/mrc
	WEFT_SEEDS=1300 $(GO) test -timeout 24h -run '^(TestTranslated|TestSpecialised)$$' -v ./dataplane
	WEFT_SEEDS=3000 $(GO) test -timeout 24h -run '^TestRecalled$$' -v ./dataplane
	WEFT_SEEDS=10000 $(GO) test -timeout 24h -run '^TestNodes$$' -v ./cluster
	WEFT_SEEDS=10000 $(GO) test -timeout 24h -run '^TestDenials$$' -v ./service
	WEFT_SEEDS=50 $(GO) test -timeout 24h -run '^(TestIncast|TestSpread)$$' -v ./test/mrc/flows
	WEFT_SEEDS=100 $(GO) test -timeout 24h -run '^(TestGreyLink|TestCongestionIsNotGrey|TestLinkDownToApply)$$' -v ./test/mrc/flows
	WEFT_SIEGE=1 $(GO) test -timeout 1h -run '^(TestStrangersPipelines|TestReadsNeverRead|TestSubscriptionsNeverRead)$$' -v ./dataplane/p4rt ./dataplane/gnmi
	WEFT_CAPACITY=all $(GO) test -timeout 24h -run '^TestCapacityKept$$' -v ./test/mrc/flows
	WEFT_CAPACITY=all $(GO) test -count=1 -run '^TestFabric$$' -v ./test/kernels
	WEFT_MRC_SOAK=$(MRC_SOAK) $(GO) test -count=1 -timeout 24h -run '^TestPrograms$$' -v ./test/libmrc
	WEFT_LINEAR=100000 WEFT_SEEDS=50 $(GO) test -timeout 72h -run '^TestLinearizable$$' -v ./test/linear
	$(MAKE) mutate MUTANTS=2000

# Changes the code in one place at a time, and says which changes no test notices: MUTANTS of them, drawn by
# MUTATE_SEED where one is given. AT=FILE:LINE tries those of one line, PACKAGES=... of some packages. What
# came of each is kept in the user's cache directory: with MUTATE_TIME=1h and a seed, a large number goes in slices.
MUTANTS ?= 100
mutate:
	@$(GO) run ./test/mutate $(if $(AT),-at $(AT),-n $(MUTANTS)) $(if $(MUTATE_SEED),-seed $(MUTATE_SEED)) $(if $(MUTATE_TIME),-time $(MUTATE_TIME)) $(PACKAGES)

# Figures as JSON lines on standard output: see docs/benchmarks.md.
bench:
	@$(GO) run ./test/bench

# What programs of MRC are linked with, into bin/libmrc (docs/libmrc.md).
libmrc:
	@$(MAKE) -s -C libmrc

# Rebuilds what p4c makes of the P4 program, of the one that is measured and of those that test the embedded switch. Nobody needs it to run or test Weft.
p4:
	@command -v $(P4C) >/dev/null || { echo "make p4: $(P4C) is not on the PATH"; exit 1; }
	cd p4 && $(P4C) --p4v 16 --Wdisable=unused --Wdisable=invalid-header --Wdisable=unsupported \
		-o fabric.json --p4runtime-files fabric.p4info.txtpb fabric.p4
	cd test/bench/routing && $(P4C) --p4v 16 -o routing.json --p4runtime-files routing.p4info.txtpb routing.p4
	$(GO) generate ./p4
	$(GO) generate ./dataplane/translated
	cd dataplane/testdata && for p in *.p4; do \
		$(P4C) --p4v 16 --Wdisable=unused --Wdisable=invalid-header --Wdisable=unsupported --Wdisable=overflow \
			--Wdisable=entries-out-of-priority-order -o $${p%.p4}.json --p4runtime-files $${p%.p4}.p4info.txtpb $$p || exit 1; done && \
		sha256sum *.p4 *.json *.p4info.txtpb >compiled.sha256

# Has p4testgen (of p4c, built with ENABLE_TEST_TOOLS) make packet tests of the P4 program anew, and
# keeps those that reach something: see docs/dataplane.md.
p4-tests:
	@command -v $(P4TESTGEN) >/dev/null || { echo "make p4-tests: $(P4TESTGEN) is not on the PATH"; exit 1; }
	$(GO) run ./dataplane/stf/p4testgen -p4testgen $(P4TESTGEN) $(P4TESTGEN_FLAGS)

# Makes the Go code of hostapi/host.proto again, with the plugins that go.mod pins: it takes no protoc. A test fails when the committed code is another.
hostapi:
	$(GO) generate ./hostapi

# Builds the dashboard (web/dist) from its sources with the versions of web/package-lock.json. It takes
# Node 20.19 or later, and is needed only where the sources change: web/dist is committed.
web: web/node_modules/.package-lock.json
	cd web && npm run -s build

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund --silent
	@touch $@

# Rules for the sources of the dashboard: Prettier, and web/eslint.config.js. npm run format formats them.
web-lint:
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then echo "web-lint: skipped, Node is not on the PATH"; exit 0; fi; \
	if ! $(MAKE) -s web/node_modules/.package-lock.json; then echo "web-lint: skipped, npm cannot install the packages"; exit 0; fi; \
	cd web && npm run -s lint

# Checks that the committed files of the dashboard are what its sources make, with types of the present
# OpenAPI document. Where there is no Node, or nothing to install its packages from, a test of package
# web still finds sources that were changed without a build.
web-same:
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then echo "web-same: skipped, Node is not on the PATH"; exit 0; fi; \
	if ! $(MAKE) -s web/node_modules/.package-lock.json; then echo "web-same: skipped, npm cannot install the packages"; exit 0; fi; \
	cd web && npm run -s check && npm run -s unit && npm run -s same

# The dashboard in a browser against running labs.
test-web: build browser
	cd web && npm run -s types && npm run -s browser

# Pictures of every page, light and dark, on a desktop and a phone, in docs/images/all, which git ignores:
# docs/images has those that the documents show.
screenshots: build browser
	cd web && WEFT_SCREENSHOTS=../docs/images/all npx vitest run --config test/vitest.config.ts

# What test-web needs besides Go and Node: packages of npm in the versions of web/package-lock.json, and
# Debian's chromium or that of CHROMIUM.
browser: web/node_modules/.package-lock.json
	@browser="$${CHROMIUM:-chromium}"; \
	if ! command -v "$$browser" >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		timeout 300 apt-get update -qq && timeout 600 apt-get install -qq -y --no-install-recommends chromium >/dev/null; fi; \
	command -v "$$browser" >/dev/null || { echo "make test-web: $$browser is missing: apt-get install chromium"; exit 1; }; \
	timeout 60 "$$browser" --headless --no-sandbox --dump-dom about:blank >/dev/null 2>&1 || { echo "make test-web: $$browser does not start"; exit 1; }
