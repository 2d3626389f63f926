GO ?= go
P4C ?= p4c-bm2-ss
P4TESTGEN ?= p4testgen
FUZZTIME ?= 10s
DOCKER ?= docker
IMAGE ?= weft

.PHONY: build demo test test-long lint web-lint vuln fuzz bench soak upgrade mutate p4 p4-tests hostapi web web-same test-web screenshots clip browser image release notice test-packages test-chart labs lab-up lab-down test-compose interop interop-others interop-mrc interop-slurm libmrc

# The version of a build without a repository, as of a source archive: make build VERSION=v1.2.3. In a
# repository Go takes it from the tag.
STAMP = $(if $(VERSION),-X main.version=$(VERSION))
# With GOGC the compiler takes a seventh less of the processor.
build image release: export GOGC = 400
build:
	$(GO) build -ldflags '$(STAMP)' -o bin/weft ./cmd/weft

# The main job: one REST call, and a RoCEv2 write reaches five receivers.
demo: build
	bin/weft demo multicast

# Tests in which the race detector finds nothing that it does not find elsewhere: test/alone has the rule.
ALONE = $$(bin/tools/alone)

# Builds tools that are Go programs into bin/tools: those of test/tools, a module of its own, and others
# that it pins, so that go.mod has nothing of what they depend on.
TOOLS = $(GO) -C test/tools build -o ../../bin/tools/
GOTESTSUM = bin/tools/gotestsum --format pkgname --format-hide-empty-pkg --hide-summary skipped --raw-command -- \
	$(GO) test -json

# What a change needs to be seen good, with -short: a test that is many cases runs a few. CI runs test-long too.
# Four packages at a time on two processors, because many tests wait. Lint comes last, with vet: a newcomer wants
# to see tests pass. Fuzz targets run their corpora. GOGC saves a tenth of the time.
test test-long: export GOGC = 400
test:
	@$(TOOLS) gotest.tools/gotestsum
	@$(GO) build -o bin/tools/ ./test/alone && bin/tools/alone >/dev/null
	@echo "make test, 1 of 3: with the race detector"
	@$(GOTESTSUM) -race -short -p 4 -vet=off -timeout=30m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(ALONE))")
	@echo "make test, 2 of 3: what starts no goroutine, and programs as processes"
	@$(GOTESTSUM) -short -p 4 -vet=off -timeout=30m $(ALONE)
	@echo "make test, 3 of 3: lint"
	@$(MAKE) -s lint web-same

# The tests that do less with -short, without it and without the race detector, because most are many cases on one
# goroutine. The packages of ALONE come first, since they have the longest tests.
test-long:
	@$(TOOLS) ./whole gotest.tools/gotestsum
	@$(GO) build -o bin/tools/ ./test/alone && bin/tools/alone >/dev/null
	@$(GOTESTSUM) -vet=off -timeout=30m $$(bin/tools/whole $(ALONE))

# Analyses the code: gofmt, go vet, staticcheck, gosec (test/tools/lint), Prettier and ESLint.
lint:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "gofmt: run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@$(TOOLS) ./lint
	@echo "lint: go vet, staticcheck and gosec take minutes where they have not run before"
	@bin/tools/lint ./...
	@$(MAKE) -s web-lint

# Known vulnerabilities in dependencies and in the standard library that the code reaches. It fetches
# the database of the Go project, and so is not part of lint.
vuln:
	@$(TOOLS) golang.org/x/vuln/cmd/govulncheck
	bin/tools/govulncheck ./...

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

# The modules of the static program: deploy/slim replaces go-cmp, and gRPC has no golang.org/x/net/trace, so
# that the linker drops methods that nothing calls (docs/install.md). go.mod itself must have no replace, with
# which go install VERSION fails.
SLIM = bin/slim.mod
$(SLIM): go.mod go.sum
	@mkdir -p bin && cp go.mod $@ && cp go.sum bin/slim.sum && $(GO) mod edit -replace github.com/google/go-cmp=./deploy/slim $@

# A container image with the static program and nothing else (test/tools/image), given to Docker or to what
# DOCKER names.
STATIC = CGO_ENABLED=0 $(GO) build -modfile=$(SLIM) -tags grpcnotrace -trimpath -buildvcs=auto -ldflags '-s -w $(STAMP)'
image: $(SLIM)
	rm -rf bin/image
	@$(TOOLS) ./image
	GOOS=linux $(STATIC) -o bin/image/linux_$$($(GO) env GOARCH)/weft ./cmd/weft
	bin/tools/image bin/image/weft.tar $(IMAGE) bin/image/linux_*
	$(DOCKER) load -q -i bin/image/weft.tar

# What people install, into bin/release: archives with the static program (and weft-dl, which opens libraries),
# deb and rpm, SBOMs, the image, the source and checksums. It takes Go modules and nothing else from outside.
# PLATFORMS=linux/amd64 makes those of one platform.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
release: $(SLIM)
	@rm -rf bin/release && mkdir -p bin/release/share/man
	@$(TOOLS) ./image github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod github.com/goreleaser/nfpm/v2/cmd/nfpm
	@for p in $(PLATFORMS); do \
		echo "make release: $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(STATIC) -o bin/release/$${p%/*}_$${p#*/}/weft ./cmd/weft || exit 1; \
		[ $${p%/*} != linux ] || GOOS=linux GOARCH=$${p#*/} $(STATIC) -o bin/release/linux_$${p#*/}/weft-dl ./cmd/weft-dl || exit 1; done
	@$(NOTICE) ../.. ../../bin/release/share/copyright
	@$(STATIC) -o bin/release/share/weft ./cmd/weft
	@cd bin/release/share && ./weft man man && gzip -9n man/* && for s in bash fish; do ./weft completion $$s >weft.$$s; done && \
		./weft completion zsh >_weft && ./weft version -o 'jsonpath=$$.version' >version && rm weft
	@set -e; export VERSION=$$(sed 's/^v//' bin/release/share/version) SOURCE_DATE_EPOCH=$(EPOCH); cd bin/release; \
	for p in $(PLATFORMS); do \
		export ARCH=$${p#*/}; at=$${p%/*}_$$ARCH; \
		cp -r share/copyright ../../README.md ../../NOTICE ../../CHANGELOG.md ../../cmd/weft/controller.yaml share/man share/weft.* share/_weft $$at; \
		tar --sort=name --mtime=@$(EPOCH) --owner=0 --group=0 --numeric-owner --transform "s|^$$at|weft-$$VERSION|" -c $$at | \
			gzip -9n >weft_$${VERSION}_$$at.tar.gz; \
		(cd ../.. && bin/tools/cyclonedx-gomod bin -json -noserial -output bin/release/weft_$${VERSION}_$$at.cdx.json bin/release/$$at/weft); \
		if [ "$${p%/*}" = linux ]; then for kind in deb rpm; do \
			(cd ../.. && bin/tools/nfpm package -f deploy/package/nfpm.yaml -p $$kind \
				-t bin/release/weft_$${VERSION}_$$ARCH.$$kind); done; fi; done; \
	git -C ../.. archive --format=tar --prefix=weft-$$VERSION/ HEAD | gzip -9n >weft_$${VERSION}_source.tar.gz; \
	cp -r ../../deploy/helm/weft weft; sed -i "s/^\(version\|appVersion\):.*/\1: $$VERSION/" weft/Chart.yaml; \
	tar --sort=name --mtime=@$(EPOCH) --owner=0 --group=0 --numeric-owner -c weft | gzip -9n >weft-$$VERSION.tgz; rm -rf weft; \
	../tools/image weft_$${VERSION}_image.tar weft:$$VERSION $$(echo $(filter linux/%,$(PLATFORMS)) | tr / _); \
	rm -rf share $$(echo $(PLATFORMS) | tr / _); \
	sha256sum * >SHA256SUMS; ls -l
EPOCH = $$(git log -1 --format=%ct)

# Lists the licences of what the program contains in NOTICE, and fails for one that does not go together with
# Apache-2.0, MIT and BSD. A test fails for a dependency that NOTICE lacks; packages have the texts.
NOTICE = $(GO) -C test/tools run ./notice
notice:
	@$(NOTICE) ../..

# Installs what make release makes for this machine: as root, in a blank Debian that debootstrap gets.
test-packages:
	@ls bin/release/weft_*_$$($(GO) env GOARCH).deb >/dev/null 2>&1 || $(MAKE) release PLATFORMS=linux/$$($(GO) env GOARCH)
	WEFT_PACKAGES=1 $(GO) test -count=1 -timeout 30m -v ./test/packages

# Lints the chart, and compares what it makes with the golden files of test/chart, a module of its own for
# what Helm and Kubernetes bring; UPDATE=-update writes these files.
test-chart:
	$(GO) -C test/chart test -count=1 . -args $(UPDATE)

# The labs of Docker Compose in the repository, made again.
labs: build
	bin/weft lab export figure1 --to compose --data deploy/compose/figure1 .
	bin/weft lab export docs/examples/fabric.yaml --to compose deploy/compose/fabric
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
# First the programs that take no guests, as far as they lie at hand: CONTRIBUTING.md has them.
interop: interop-others interop-mrc interop-slurm
	WEFT_INTEROP=1 $(GO) test -count=1 -timeout 150m ./test/interop -run TestInterop -v

interop-others:
	$(GO) run ./test/interop/others

# Jobs of Slurm with its own daemons, on loopback: docs/schedulers.md.
interop-slurm:
	WEFT_INTEROP=1 $(GO) test -count=1 -timeout 20m ./test/slurm -run TestJobs -v

interop-mrc:
	WEFT_INTEROP=1 $(GO) test -count=1 -timeout 90m ./test/libmrc -run TestPrograms -v

# Longer than a change should wait for: fault scenarios with 20,000 seeds, several controllers and what they deny
# with 10,000, programs as code beside the same interpreted (10 million packets), fabrics under load and the naming
# of bad links with many seeds, hostile clients of a switch in numbers, programs of MRC and their NICs that are
# killed (for MRC_SOAK), what clients may believe of three controllers in 100 runs of 100,000 operations, and that
# the others go on under each fault.
MRC_SOAK ?= 1h
soak: export GOGC = 400
soak:
	WEFT_SEEDS=20000 $(GO) test -timeout 24h -run '^(TestFaults|TestPlanes|TestLeases|TestJobs|TestTenants)$$' -v ./test/faults
	WEFT_SEEDS=20000 $(GO) test -timeout 24h -run '^TestWrites' -v ./host/mrc
	WEFT_SEEDS=1300 $(GO) test -timeout 24h -run '^(TestTranslated|TestSpecialised)$$' -v ./dataplane
	WEFT_SEEDS=3000 $(GO) test -timeout 24h -run '^(TestRecalled|TestPrograms)$$' -v ./dataplane ./dataplane/translated/gen
	WEFT_SEEDS=10000 $(GO) test -timeout 24h -run '^(TestNodes|TestReach)$$' -v ./service/cluster
	WEFT_SEEDS=10000 $(GO) test -timeout 24h -run '^TestDenials$$' -v ./service
	WEFT_SEEDS=50 $(GO) test -timeout 24h -run '^(TestIncast|TestSpread)$$' -v ./test/mrc/flows
	WEFT_SEEDS=100 $(GO) test -timeout 24h -run '^(TestGreyLink|TestCongestionIsNotGrey|TestLinkDownToApply)$$' -v ./test/mrc/flows
	WEFT_SIEGE=1 $(GO) test -timeout 1h -run '^(TestStrangersPipelines|TestReadsNeverRead|TestSubscriptionsNeverRead)$$' -v ./dataplane/p4rt ./dataplane/gnmi
	WEFT_SEEDS=10000 $(GO) test -timeout 24h -run '^TestFaultsAreNamed$$' -v ./test/mrc/truth
	WEFT_SEEDS=100 $(GO) test -timeout 24h -run '^TestLargeFabric$$' -v ./test/mrc/truth
	WEFT_SEEDS=1000 $(GO) test -timeout 24h -run '^TestUnderLoad$$' -v ./lab/demo/blackhole
	WEFT_SEEDS=280 $(GO) test -timeout 24h -run '^TestManyProbesAccuseNothing$$' -v ./test/mrc/truth
	WEFT_SEEDS=2000 $(GO) test -timeout 24h -run '^(TestNothingIsAccused|TestDirections)$$' -v ./test/mrc/truth
	WEFT_CAPACITY=all $(GO) test -timeout 24h -run '^TestCapacityKept$$' -v ./test/mrc/flows
	WEFT_CAPACITY=all $(GO) test -count=1 -run '^TestFabric$$' -v ./test/kernels
	WEFT_MRC_SOAK=$(MRC_SOAK) $(GO) test -count=1 -timeout 24h -run '^TestPrograms$$' -v ./test/libmrc
	WEFT_FIGURES=1 $(GO) test -count=1 -timeout 1h -run '^TestFigures$$' -v ./cmd/weft
	WEFT_UPGRADE_FROM=$(FROM) WEFT_PROGRESS=1 $(GO) test -count=1 -timeout 1h -run '^(TestProgress|TestDamagedMember)$$' -v ./test/linear
	WEFT_UPGRADE_FROM=$(FROM) WEFT_LINEAR=100000 WEFT_SEEDS=50 $(GO) test -timeout 72h -run '^TestLinearizable$$' -v ./test/linear
	$(MAKE) upgrade
	$(MAKE) mutate MUTANTS=2000

# Upgrades three controllers from the last tag, or the commit that the test names, to this source, and goes
# back, under traffic. FROM names another commit.
FROM ?= yes
upgrade:
	WEFT_UPGRADE_FROM=$(FROM) $(GO) test -count=1 -timeout 30m -run '^TestReleases$$' -v ./test/upgrade

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
	@$(MAKE) -s -C host/libmrc

# What programs use in C, Python and TypeScript (docs/libraries.md), into bin/libweft, bin/python and bin/npm.
.PHONY: libraries npm
libraries: npm
	@$(MAKE) -s -C clients/c
	@mkdir -p bin/python && cd clients/python && python3 -c 'import backend; print(backend.build_wheel("../../bin/python"))'

# The npm package of the API's types, into the folder NPM.
NPM = $(CURDIR)/bin/npm
npm: web/node_modules/.package-lock.json
	@mkdir -p $(NPM)/package && cp clients/npm/package.json $(NPM)/package && node web/build/types.mjs $(NPM)/package/index.d.ts && \
		cd $(NPM)/package && npm pack --silent --pack-destination ..

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

# Makes the Go code of api/hostapi/host.proto again, with the plugins that go.mod pins: it takes no protoc. A test fails when the committed code is another.
hostapi:
	$(GO) generate ./api/hostapi

# Builds the dashboard (web/dist) from its sources with the versions of web/package-lock.json. It takes
# Node 20.19 or later, and is needed only where the sources change: web/dist is committed.
web: web/node_modules/.package-lock.json
	cd web && npm run -s build

%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --no-audit --no-fund --silent
	@touch $@

# The site of docs/ into bin/site/html, with search, and with the docs of each tag as a version: files that
# any web server serves. A link that leads nowhere is an error. It takes Node, and VitePress in the version
# of docs/site/package-lock.json.
.PHONY: site
site: docs/site/node_modules/.package-lock.json
	@rm -rf bin/site && mkdir -p bin/site/src && ln -s ../../docs/site/node_modules bin/site
	@tar c -C docs --exclude=./site . | tar x -C bin/site/src
	@for v in $$(git tag -l 'v[0-9]*'); do mkdir bin/site/src/$$v && \
		git archive $$v docs | tar x --strip-components=1 --exclude=docs/site -C bin/site/src/$$v || exit 1; done
	cd docs/site && npm exec vitepress build

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

# The moving picture of README.md: the wall while a T1 dies, in some two minutes. It needs img2webp, of the Debian
# package webp.
clip: build browser
	cd web && WEFT_CLIP=../docs/images/dashboard-wall.webp npx vitest run --config test/vitest.config.ts

# What test-web needs besides Go and Node: packages of npm in the versions of web/package-lock.json, and
# Debian's chromium or that of CHROMIUM.
browser: web/node_modules/.package-lock.json
	@browser="$${CHROMIUM:-chromium}"; \
	if ! command -v "$$browser" >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		timeout 300 apt-get update -qq && timeout 600 apt-get install -qq -y --no-install-recommends chromium >/dev/null; fi; \
	command -v "$$browser" >/dev/null || { echo "make test-web: $$browser is missing: apt-get install chromium"; exit 1; }; \
	timeout 60 "$$browser" --headless --no-sandbox --dump-dom about:blank >/dev/null 2>&1 || { echo "make test-web: $$browser does not start"; exit 1; }
