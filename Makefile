# SPDX-License-Identifier: GPL-2.0-only
#
# The bench of the series: `make` says what there is.

BASE ?= 6.12
MODE ?= 4k
export BASE

stock := $(if $(filter 1,$(STOCK)),--stock)

.DEFAULT_GOAL := help
.PHONY: help setup demo check check-full kernel module selftests shell run list lint clean tlbsan \
	distclean patch unpatch ktree export

help:
	@echo 'make demo              fetch, patch, build, boot, insmod, selftests; with a summary'
	@echo 'make check             unit tests, lint, and the guests of the group "check"'
	@echo 'make check-full        the same with every mode, and each patch of the series by itself'
	@echo
	@echo 'make kernel            a kernel; the last line is the path of the Image'
	@echo 'make module            the module for that kernel'
	@echo 'make selftests         the selftests; KSRC=DIR: with the lib.mk of that kernel tree'
	@echo 'make shell             an interactive guest with the module loaded (CPU=, APPEND=)'
	@echo 'make run RUN="NAME..." guests of scripts/runs.tsv; make list shows them'
	@echo
	@echo 'make KSRC=DIR patch    apply the series to a kernel tree of yours'
	@echo 'make KSRC=DIR unpatch  and take it off again'
	@echo
	@echo 'make ktree             the kernel tree with the series, build/$(BASE)/linux (FORCE=1)'
	@echo 'make export            write its commits back to patches/$(BASE) (TREE=DIR)'
	@echo 'make tlbsan            the flush sanitizer over the module'"'"'s tests (RUN=, STOCK=1, BBML2=on|off,'
	@echo '                       KSRC= or IMAGE= VMLINUX= INITRD= for any kernel): scripts/tlbsan/README.md'
	@echo 'make lint              check the scripts, the series and the patches'
	@echo 'make setup             install the host packages that are missing'
	@echo 'make clean             remove build/ and results/, but for downloads'
	@echo 'make distclean         remove these too'
	@echo
	@echo "  BASE=$(BASE) (of: $(notdir $(wildcard patches/*)))"
	@echo "  MODE=$(MODE) (of: $$(sed -n 's/^\([^#: ]*\):.*/\1/p' configs/$(BASE)/modes | xargs))"
	@echo '  STOCK=1 is the kernel without the series; V=1 shows whole builds'

setup:
	@scripts/setup

demo:
	@scripts/demo

check:
	@scripts/check

check-full:
	@scripts/check --full

kernel:
	@scripts/setup
	@scripts/build-kernel $(stock) $(MODE)

module:
	@scripts/setup
	@scripts/build-module $(stock) $(MODE)

selftests:
	@scripts/setup
	@scripts/build-selftests $(if $(KSRC),--ksrc '$(KSRC)')

shell:
	@scripts/setup
	@scripts/run --shell $(stock) $(if $(CPU),--cpu '$(CPU)') $(if $(APPEND),--append '$(APPEND)') $(MODE)

run:
	@scripts/setup
	@scripts/run $(RUN)

list:
	@scripts/run --list

lint:
	@scripts/setup
	@scripts/lint

tlbsan:
	@scripts/setup
	@scripts/tlbsan/run $(if $(KSRC),--ksrc '$(KSRC)') $(if $(IMAGE),--image '$(IMAGE)' --vmlinux '$(VMLINUX)' --initrd '$(INITRD)') \
		$(stock) $(if $(BBML2),--bbml2 '$(BBML2)') $(or $(RUN),$(if $(KSRC),linear_map:rights,module:all))

patch unpatch:
	@scripts/patch-tree $@ '$(KSRC)'

ktree:
	@scripts/setup
	@scripts/ktree $(stock) $(if $(filter 1,$(FORCE)),--force)

export:
	@scripts/export $(TREE)

# Directories of the scripts alone: what else lies in build/ stays.
clean:
	rm -rf $(addprefix build/,$(notdir $(wildcard patches/*))) build/guest results

distclean: clean
	rm -rf build/dl
