# The compiler, the variants and the libraries.
#
# Flags that not every compiler knows are probed by hack/cc-flags, which keeps its answers in build/probe.

ifeq ($(origin CC),default)
CC := cc
endif
ifeq ($(origin AR),default)
AR := ar
endif
CC ?= cc
AR ?= ar
PKG_CONFIG ?= pkg-config

# These goals need no compiler and no library; all others are told early what is missing.
QUIET_GOALS := help clean lint format demo test soak fuzz fuzz-smoke tsan bench e2e integration
GOALS       := $(or $(MAKECMDGOALS),all)
BUILDING    := $(filter-out $(QUIET_GOALS),$(GOALS))

# --- where it goes: build/<variant> for the default compiler, build/<variant>-<compiler> for others
CC_NAME := $(notdir $(firstword $(CC)))
OUT     := build/$(V)$(if $(filter cc gcc,$(CC_NAME)),,-$(CC_NAME))

# --- variants
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wcast-qual -Wcast-align -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wconversion -Wsign-conversion \
	-Wswitch-enum -Wimplicit-fallthrough
HARDENING := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fno-plt

# Null-dereference is checked where the optimiser sees through calls; sanitizers add branches of their
# own that make it report paths that cannot be.
CFLAGS_release  := -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fPIE
PROBE_release   := $(HARDENING) -Wnull-dereference
LDFLAGS_release := -pie -Wl,-z,relro,-z,now,-z,noexecstack

CFLAGS_debug    := -Og -g -DGPUQOS_DEBUG

SANITIZE_asan   := -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_asan     := -O1 -g -fno-omit-frame-pointer -DGPUQOS_DEBUG $(SANITIZE_asan)
LDFLAGS_asan    := $(SANITIZE_asan)

CFLAGS_tsan     := -O1 -g -fno-omit-frame-pointer -DGPUQOS_DEBUG -fsanitize=thread
LDFLAGS_tsan    := -fsanitize=thread

CFLAGS_fuzz     := -O1 -g -fno-omit-frame-pointer -DGPUQOS_DEBUG -fsanitize=fuzzer-no-link $(SANITIZE_asan)
LDFLAGS_fuzz    := -fsanitize=fuzzer $(SANITIZE_asan)

ifeq ($(filter $(V),release debug asan tsan fuzz),)
$(error unknown variant V=$(V); it is one of release, debug, asan, tsan, fuzz. For the commands: VERBOSE=1)
endif

# --- what is missing is said before the first compiler error
LIBRARIES := libcurl libevent libevent_openssl yaml-0.1 openssl hwloc
ifneq ($(BUILDING),)
ifeq ($(shell command -v $(firstword $(CC))),)
$(error no compiler $(CC); run hack/deps build)
endif
ifeq ($(shell command -v $(PKG_CONFIG)),)
$(error no pkg-config; run hack/deps build)
endif
MISSING := $(strip $(foreach l,$(LIBRARIES),$(shell $(PKG_CONFIG) --exists $l || echo $l)))
ifneq ($(MISSING),)
$(error libraries are missing: $(MISSING); run hack/deps build)
endif
PROBED := $(shell hack/cc-flags '$(CC)' $(WARNINGS) $(PROBE_$(V)))
ifeq ($(PROBED),)
$(error $(CC) compiles nothing; run hack/deps build, or see build/probe/log)
endif
endif

# CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS of the caller come last, so that they win.
ALL_CPPFLAGS := -Ipkg -MMD -MP $(CPPFLAGS)
ALL_CFLAGS   := -std=gnu11 $(PROBED) $(if $(filter 1,$(WERROR)),-Werror) $(CFLAGS_$(V)) $(CFLAGS)
ALL_LDFLAGS  := $(LDFLAGS_$(V)) -Wl,--as-needed $(LDFLAGS)
ALL_LDLIBS   := $(LDLIBS) -lm -pthread

# Objects depend on this file, whose content is the command line: other flags mean other objects.
FLAGS_STAMP := $(OUT)/flags
FLAGS_TEXT  := $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(ALL_LDLIBS) $(VERSION)
ifneq ($(BUILDING),)
ifneq ($(file <$(FLAGS_STAMP)),$(FLAGS_TEXT))
$(shell mkdir -p $(OUT))
$(file >$(FLAGS_STAMP),$(FLAGS_TEXT))
endif
endif

# $(call lib-cflags,NAMES) and $(call lib-libs,NAMES): what pkg-config says, asked once per name.
lib-ask    = $(if $($1_$2_asked),,$(eval $1_$2_asked := y)$(eval $1_$2 := $(shell $(PKG_CONFIG) --$1 $2)))$($1_$2)
lib-cflags = $(foreach l,$1,$(call lib-ask,cflags,$l))
lib-libs   = $(foreach l,$1,$(call lib-ask,libs,$l))

# $(call say,WORD,WHAT): the short line, or nothing where VERBOSE shows the command.
Q    := $(if $(filter 1,$(VERBOSE)),,@)
say   = $(if $(filter 1,$(VERBOSE)),,@printf '  %-5s %s\n' '$1' '$2')
