# SPDX-License-Identifier: BSD-3-Clause
# The eBPF backend: a program for the kernel, compiled by clang, carried as
# a header that bpftool makes of it. Left out by configure: backend_ebpf_none.c.
EXTRA_DIST += core/energy.bpf.c

if HAVE_EBPF
libergoncore_la_SOURCES += \
	core/backend_ebpf.c \
	core/ebpf.h \
	core/energy_record.h
BUILT_SOURCES += core/energy.skel.h
CLEANFILES += core/energy.bpf.o core/energy.skel.h

core/energy.bpf.o: $(srcdir)/core/energy.bpf.c $(srcdir)/core/energy_record.h
	$(AM_V_GEN)$(MKDIR_P) core && \
	$(BPF_CLANG) -g -O2 -target bpf $(WARN_CFLAGS) -Wno-missing-prototypes $(BPF_CPPFLAGS) \
		-I$(srcdir)/core -c $(srcdir)/core/energy.bpf.c -o $@

core/energy.skel.h: core/energy.bpf.o
	$(AM_V_GEN)$(BPFTOOL) gen skeleton core/energy.bpf.o name energy_bpf >$@.tmp && mv $@.tmp $@
else
libergoncore_la_SOURCES += core/backend_ebpf_none.c
endif
