# Packages, archives, binaries.
#
# hack/layers --make writes, for each package and binary: its link closure (DEPS_x), the libraries of
# that closure (LIBS_x), the libraries it may itself include (OWN_x); and ORDER, the packages from the
# top down. A test of a pure package is linked with that closure and no more.

ifneq ($(BUILDING),)
include build/layers.mk
endif
build/layers.mk: hack/layers
	@mkdir -p $(@D)
	@hack/layers --make >$@

# --- packages
PKG_SOURCES := $(sort $(wildcard pkg/*/*.c pkg/*/*/*.c))
PACKAGES    := $(sort $(foreach s,$(PKG_SOURCES),$(word 2,$(subst /, ,$s))))
ifneq ($(ORDER),)
UNKNOWN := $(filter-out $(ORDER),$(PACKAGES))
ifneq ($(UNKNOWN),)
$(error hack/layers has no row for: $(UNKNOWN))
endif
endif

object  = $(patsubst %.c,$(OUT)/obj/%.o,$1)
archive = $(OUT)/lib/lib$1.a

# $(call closure,NAMES): the packages to link for a user of NAMES, users before what they use.
closure      = $(filter $(PACKAGES),$(filter $(foreach p,$1,$(DEPS_$p)),$(ORDER)))
closure-libs = $(sort $(foreach p,$1,$(LIBS_$p)))

define package-rules
$(call archive,$1): $(call object,$(filter pkg/$1/%,$(PKG_SOURCES)))
$(OUT)/obj/pkg/$1/%.o: LIB_CFLAGS = $$(call lib-cflags,$(OWN_$1))
endef
$(foreach p,$(PACKAGES),$(eval $(call package-rules,$p)))

ARCHIVES := $(foreach p,$(PACKAGES),$(call archive,$p))
$(ARCHIVES):
	$(call say,AR,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^

.PHONY: archives
archives: $(ARCHIVES)
	@:

# --- objects
$(OUT)/obj/%.o: %.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(LIB_CFLAGS) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -c -o $@ $<

# $(call link-rules,TARGET,OBJECTS,NAMES,EXTRA LIBRARIES): TARGET from OBJECTS and the closure of NAMES.
define link-rules
$1: LINK_LIBS = $$(call lib-libs,$(sort $(call closure-libs,$3) $4))
$1: $2 $(foreach p,$(call closure,$3),$(call archive,$p))
endef
link = $(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LINK_LIBS) $(ALL_LDLIBS)

# --- binaries
CMD_SOURCES := $(sort $(wildcard cmd/*/*.c))
BINARIES    := $(patsubst cmd/%/main.c,%,$(filter %/main.c,$(CMD_SOURCES)))
PROGRAMS    := $(BINARIES:%=$(OUT)/bin/%)

$(OUT)/obj/cmd/%.o: EXTRA_CFLAGS = -DGPUQOS_VERSION='"$(VERSION)"'
$(foreach b,$(BINARIES),$(eval $(call link-rules,$(OUT)/bin/$b,$(call object,$(filter cmd/$b/%,$(CMD_SOURCES))),cmd/$b)))
$(PROGRAMS): $(FLAGS_STAMP)
	$(call say,LD,$@)
	$(link)

DEPFILES := $(patsubst %.o,%.d,$(call object,$(PKG_SOURCES) $(CMD_SOURCES)))
ifneq ($(BUILDING),)
-include $(DEPFILES)
endif
