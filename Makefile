# gpuqos: build, tests and quality checks. `make help` lists what there is.
#
# Everything is found by wildcard and built out of tree, one folder per variant:
#   pkg/<package>/**.c    build/<variant>/lib/lib<package>.a
#   cmd/<binary>/*.c      build/<variant>/bin/<binary>   (release also: build/bin/<binary>)
#   tests/...             build/<variant>/tests/...
# Which package may link against which is asked of hack/layers, nothing here repeats it.
#
#   V=release|debug|asan|tsan|fuzz   the variant          CC=clang      another compiler, its own folder
#   WERROR=1                         warnings are errors  VERBOSE=1     show the commands
#   JOBS=N                           parallel jobs        FUZZ_SECONDS  for each target of `make fuzz`

VERSION ?= 0.1.0-dev
PREFIX  ?= /usr/local
V       ?= release
JOBS    ?= $(shell nproc 2>/dev/null || echo 1)

FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-builtin-variables
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif

include mk/toolchain.mk
include mk/rules.mk
include mk/tests.mk

.PHONY: help all programs install clean lint format demo image

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

all: archives programs ## build the binaries (V=debug, asan, tsan for other variants)

programs: $(PROGRAMS)
ifeq ($(V),release)
	@mkdir -p build/bin
	@$(foreach p,$(PROGRAMS),ln -sfn ../$(patsubst build/%,%,$p) build/bin/$(notdir $p);)
endif
	@$(if $(PROGRAMS),,echo 'nothing to build: no cmd/<binary>/main.c')

install: all ## install binaries, CRDs and config under DESTDIR and PREFIX
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/gpuqos" "$(DESTDIR)$(PREFIX)/share/doc/gpuqos"
	$(if $(PROGRAMS),install -m 755 $(PROGRAMS) "$(DESTDIR)$(PREFIX)/bin/")
	for d in crds config; do \
	        if [ -d $$d ]; then cp -R $$d "$(DESTDIR)$(PREFIX)/share/gpuqos/"; fi; done
	install -m 755 hack/extender-certs "$(DESTDIR)$(PREFIX)/share/gpuqos/"
	install -m 644 LICENSE CHANGELOG.md "$(DESTDIR)$(PREFIX)/share/doc/gpuqos/"

lint: ## check format, layers, sizes, banned calls, and run the static analysers
	@hack/lint

format: ## reformat the C files in place
	@hack/lint-files c | xargs -r clang-format -i

demo: ## play the product on a real control plane (KEEP=1 leaves it up)
	@hack/demo

image: all ## make container images, build/gpuqos-controller.tar and -agent.tar (needs buildah)
	@hack/image build/bin/gpuqos-controller build/gpuqos-controller.tar
	@hack/image build/bin/gpuqos-agent build/gpuqos-agent.tar

clean: ## remove build/
	rm -rf build
