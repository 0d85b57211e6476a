# Tests: what is built for them and the targets that run them.
#
#   tests/unit/<pkg>/test_*.c   cmocka, linked with the closure of <pkg> and nothing else
#   tests/prop/prop_*.c         cmocka, linked with what they include
#   tests/fuzz/fuzz_*.c         libFuzzer (V=fuzz), corpus in tests/fuzz/corpus/<name>/
#   tests/{integration,e2e,bench,tools}/*.c   helper programs of the Python suites, linked with what they include
#   tests/lib/*.c, tests/unit/<pkg>/other.c   shared by the tests, as an archive each
#   tests/nvml/*.c              libraries that speak NVML's ABI: libnvml_test.so, and libnvml_old.so
#                               without what recent.c holds; one build serves all variants
#   tests/lib/fake_<pkg>.c      stands in for that package in unit tests of all others

FAKE_SOURCES     := $(sort $(wildcard tests/lib/fake_*.c))
TEST_LIB_SOURCES := $(filter-out $(FAKE_SOURCES),$(sort $(wildcard tests/lib/*.c)))
UNIT_SOURCES     := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_HELPERS     := $(filter-out $(UNIT_SOURCES),$(sort $(wildcard tests/unit/*/*.c)))
PROP_SOURCES     := $(sort $(wildcard tests/prop/prop_*.c))
FUZZ_SOURCES     := $(sort $(wildcard tests/fuzz/fuzz_*.c))
TOOL_SOURCES     := $(sort $(wildcard tests/integration/*.c tests/e2e/*.c tests/bench/*.c tests/tools/*.c))

test-program = $(patsubst %.c,$(OUT)/%,$1)
UNIT_TESTS := $(call test-program,$(UNIT_SOURCES))
PROP_TESTS := $(call test-program,$(PROP_SOURCES))
FUZZERS    := $(call test-program,$(FUZZ_SOURCES))
TOOLS      := $(call test-program,$(TOOL_SOURCES))

# --- what a test of no package's own folder includes, and so needs
BY_INCLUDE := $(PROP_SOURCES) $(FUZZ_SOURCES) $(TOOL_SOURCES)
INCLUDES   := $(if $(BY_INCLUDE),$(shell awk '/^[ \t]*\#[ \t]*include[ \t]*"[a-z]+\// \
	{ split($$0, q, "\""); split(q[2], p, "/"); print FILENAME ":" p[1] }' $(BY_INCLUDE) | sort -u))
$(foreach i,$(INCLUDES),$(eval USES_$(firstword $(subst :, ,$i)) += $(lastword $(subst :, ,$i))))

# --- jansson is what our JSON is compared with; no program of ours links it
JUDGED := $(shell grep -ls '^.include <jansson\.h>' $(UNIT_SOURCES) $(FUZZ_SOURCES))
judge  = $(if $(filter $1,$(JUDGED)),jansson)
$(foreach s,$(JUDGED),$(eval $(call object,$s): LIB_CFLAGS = $$(call lib-cflags,jansson)))

# --- shared helpers
TEST_LIB := $(if $(TEST_LIB_SOURCES),$(OUT)/tests/libtest.a)
$(OUT)/tests/libtest.a: $(call object,$(TEST_LIB_SOURCES))
fake-archive = $(patsubst tests/lib/%.c,$(OUT)/tests/lib%.a,$1)
FAKE_ARCHIVES := $(call fake-archive,$(FAKE_SOURCES))
$(foreach f,$(FAKE_SOURCES),$(eval $(call fake-archive,$f): $(call object,$f)))
# $(call fakes,PACKAGE): what its unit tests may be linked with in place of other packages.
fakes = $(filter-out $(OUT)/tests/libfake_$1.a,$(FAKE_ARCHIVES))
helper-archive = $(if $(filter tests/unit/$1/%,$(UNIT_HELPERS)),$(OUT)/tests/unit/lib$1-helpers.a)
UNIT_PACKAGES := $(sort $(foreach s,$(UNIT_SOURCES) $(UNIT_HELPERS),$(word 3,$(subst /, ,$s))))
HELPER_ARCHIVES := $(foreach p,$(UNIT_PACKAGES),$(call helper-archive,$p))
$(foreach p,$(UNIT_PACKAGES),$(if $(call helper-archive,$p),$(eval \
	$(call helper-archive,$p): $(call object,$(filter tests/unit/$p/%,$(UNIT_HELPERS))))))
$(TEST_LIB) $(FAKE_ARCHIVES) $(HELPER_ARCHIVES):
	$(call say,AR,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^

# --- NVML's stand-ins. Without sanitizers: programs with and without them load the same.
NVML_SOURCES := $(sort $(wildcard tests/nvml/*.c))
NVML_HEADERS := $(wildcard tests/nvml/*.h) pkg/agent/nvml_abi.h pkg/agent/nvml_calls.h
NVML_LIBRARIES := build/nvml/libnvml_test.so build/nvml/libnvml_old.so
build/nvml/libnvml_test.so: $(NVML_SOURCES) $(NVML_HEADERS)
build/nvml/libnvml_old.so: $(filter-out tests/nvml/recent.c,$(NVML_SOURCES)) $(NVML_HEADERS)
$(NVML_LIBRARIES):
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(PROBED) $(if $(filter 1,$(WERROR)),-Werror) -O1 -g -fPIC -shared -Ipkg -o $@ $(filter %.c,$^)

# --- linking
unit-package = $(word 3,$(subst /, ,$1))
$(foreach s,$(UNIT_SOURCES),$(eval $(call link-rules,$(call test-program,$s),$(call object,$s) \
	$(call helper-archive,$(call unit-package,$s)) $(call fakes,$(call unit-package,$s)) $(TEST_LIB),\
	$(call unit-package,$s),cmocka $(call judge,$s))))
$(foreach s,$(PROP_SOURCES),$(eval $(call link-rules,$(call test-program,$s),$(call object,$s) $(TEST_LIB),$(USES_$s),cmocka)))
$(foreach s,$(FUZZ_SOURCES),$(eval $(call link-rules,$(call test-program,$s),$(call object,$s) $(TEST_LIB),$(USES_$s),$(call judge,$s))))
$(foreach s,$(TOOL_SOURCES),$(eval $(call link-rules,$(call test-program,$s),$(call object,$s) $(TEST_LIB),$(USES_$s))))

$(OUT)/obj/tests/%.o: EXTRA_CFLAGS = -Itests
# The entry point of a fuzz target is declared by libFuzzer alone.
$(OUT)/obj/tests/fuzz/%.o: EXTRA_CFLAGS = -Itests -Wno-missing-prototypes

$(UNIT_TESTS) $(PROP_TESTS) $(FUZZERS) $(TOOLS): $(FLAGS_STAMP)
	$(call say,LD,$@)
	$(link)

ifneq ($(BUILDING),)
-include $(patsubst %.o,%.d,$(call object,$(TEST_LIB_SOURCES) $(FAKE_SOURCES) $(UNIT_SOURCES) $(UNIT_HELPERS) \
	$(PROP_SOURCES) $(FUZZ_SOURCES) $(TOOL_SOURCES)))
endif

# --- build targets, for any variant
.PHONY: unit-tests fuzzers tools
unit-tests: $(UNIT_TESTS) $(PROP_TESTS) $(NVML_LIBRARIES)
	@:
fuzzers: $(FUZZERS)
	@:
tools: $(TOOLS) $(NVML_LIBRARIES)
	@:

ifneq ($(filter unit-tests,$(BUILDING)),)
MISSING_IN_TESTS := $(strip $(foreach l,cmocka jansson,$(shell $(PKG_CONFIG) --exists $l || echo $l)))
ifneq ($(MISSING_IN_TESTS),)
$(error libraries are missing: $(MISSING_IN_TESTS); run hack/deps test)
endif
endif
ifneq ($(filter fuzzers,$(BUILDING)),)
ifeq ($(shell command -v clang),)
$(error fuzz targets need clang; run hack/deps)
endif
endif

# --- run targets. They call make again, since each wants a variant of its own.
ASAN := build/asan$(patsubst build/$(V)%,%,$(OUT))
TSAN := build/tsan$(patsubst build/$(V)%,%,$(OUT))
# Fuzzing needs clang, whatever the rest is built with.
FUZZ := build/fuzz-clang

EMPTY :=
SPACE := $(EMPTY) $(EMPTY)
COMMA := ,

sub-make     = $(MAKE) --no-print-directory
unit-paths   = $(patsubst %.c,$1/%,$(UNIT_SOURCES) $(PROP_SOURCES))
fuzz-paths   = $(patsubst %.c,$(FUZZ)/%,$(FUZZ_SOURCES))
# Python suites find the programs here: release binaries, and the same with sanitizers plus helper programs.
SUITE_ENV    = PATH="$$PATH:/usr/sbin" GPUQOS_BIN=$(CURDIR)/build/bin GPUQOS_ASAN_BIN=$(CURDIR)/$(ASAN)/bin \
	GPUQOS_TOOLS=$(CURDIR)/$(ASAN)/tests GPUQOS_NVML=$(CURDIR)/build/nvml
# The whole product is tested in several runs of pytest, each with clusters of its own, so that they can go
# on at the same time. In a run are files that want the same cluster or such as suit them: what needs no controller
# beside it or starts its own, who is evicted, signals that are wrong, who is turned down and what is
# measured, what looks at nodes, tenants, and all else. Those that take longest come first.
E2E_FILES = $(sort $(wildcard tests/e2e/test_*.py))
e2e-files    = $(foreach n,$1,$(filter tests/e2e/test_$n.py,$(E2E_FILES)))
E2E_APART    = $(call e2e-files,placement% kubelet% extender% tenant_rights admission_claims admission_devices \
	admission_scheduling admission_sources admission_tenants)
E2E_ROUNDS   = $(call e2e-files,eviction_rounds)
E2E_EVICT    = $(call e2e-files,evict_% migrate device_series)
E2E_SIGNALS  = $(call e2e-files,signal% measure% feedback_offender)
E2E_FEEDBACK = $(call e2e-files,feedback feedback_ladder credentials objectives% monitoring budgets)
E2E_NODES    = $(call e2e-files,agent% topology% scheduler% sources%)
E2E_TENANTS  = $(call e2e-files,tenants tenant_burst install unreadable quota_quiet)
E2E_OTHERS   = $(filter-out $(E2E_APART) $(E2E_ROUNDS) $(E2E_EVICT) $(E2E_SIGNALS) $(E2E_FEEDBACK) $(E2E_NODES) \
	$(E2E_TENANTS),$(E2E_FILES))
e2e-run      = $(if $2,$1:$(subst $(SPACE),$(COMMA),$(strip $2)))
E2E_LONG     = $(call e2e-run,e2e-signals,$(E2E_SIGNALS)) $(call e2e-run,e2e-evict,$(E2E_EVICT)) \
	$(call e2e-run,e2e-nodes,$(E2E_NODES)) $(call e2e-run,e2e-apart,$(E2E_APART))
E2E_SHORT    = $(call e2e-run,e2e-feedback,$(E2E_FEEDBACK)) $(call e2e-run,e2e-tenants,$(E2E_TENANTS)) \
	$(call e2e-run,e2e,$(E2E_OTHERS)) $(call e2e-run,e2e-rounds,$(E2E_ROUNDS))
have-suite   = $(if $(wildcard tests/$1/test_*.py tests/$1/*_test.py),tests/$1)

build-release  = +@$(sub-make) V=release all
build-asan     = +@$(sub-make) V=asan all unit-tests tools
build-fuzz     = +@$(sub-make) V=fuzz CC=clang fuzzers
# The control plane of the Python suites; taken from the cache where it is there.
build-cluster  = @if [ -x hack/cluster/build ]; then hack/cluster/build; fi

.PHONY: unit tsan fuzz fuzz-smoke integration e2e test soak bench
unit: ## unit and property tests under ASan and UBSan
	+@$(sub-make) V=asan unit-tests
	@$(SUITE_ENV) tests/run $(call unit-paths,$(ASAN)) $(call have-suite,lib) $(call have-suite,monitoring)

tsan: ## unit and property tests under TSan
	+@$(sub-make) V=tsan unit-tests
	@$(SUITE_ENV) tests/run $(call unit-paths,$(TSAN))

fuzz-smoke: ## each fuzz target: its corpus, then 5 seconds
	$(build-fuzz)
	@tests/run --fuzz-seconds 5 $(fuzz-paths)

fuzz: ## each fuzz target for FUZZ_SECONDS
	$(build-fuzz)
	@tests/run --fuzz-seconds $(FUZZ_SECONDS) $(fuzz-paths)

integration: ## the real runtime against a real API server
	$(build-release)
	$(build-asan)
	$(build-cluster)
	@$(SUITE_ENV) tests/run $(call have-suite,integration)

e2e: ## the whole product on a real control plane
	$(build-release)
	$(build-asan)
	$(build-cluster)
	@$(SUITE_ENV) tests/run $(E2E_LONG) $(call have-suite,setup) $(E2E_SHORT)

test: ## everything: installs what it needs, builds, runs all suites
	@hack/deps build test
	$(build-release)
	$(build-asan)
	$(build-fuzz)
	$(build-cluster)
	@$(SUITE_ENV) tests/run --fuzz-seconds $(if $(GPUQOS_SOAK),60,1) $(call unit-paths,$(ASAN)) $(fuzz-paths) \
		$(call have-suite,integration) $(E2E_LONG) $(call have-suite,setup) $(E2E_SHORT) \
		$(call have-suite,callgrind) $(call have-suite,lib) $(call have-suite,monitoring)

soak: ## the same suites with full counts, and the oldest Kubernetes; takes hours
	+@GPUQOS_SOAK=1 $(sub-make) test
	+@GPUQOS_K8S=v1.34 $(sub-make) e2e

bench: ## the benchmark table
	$(build-release)
	+@$(sub-make) V=release tools
	$(build-cluster)
	@$(SUITE_ENV) tests/bench/run
