# SPDX-License-Identifier: BSD-3-Clause
# The interposer. Its only dependency is libc: it is preloaded into everything.
libergonbase_la_SOURCES += \
	pmpi/ledger.c \
	pmpi/ledger.h

pkglib_LTLIBRARIES += libergon-mpi.la ergon-sampler.la

libergon_mpi_la_SOURCES = \
	pmpi/attrib.c \
	pmpi/attrib.h \
	pmpi/enter.c \
	pmpi/enter.h \
	pmpi/identity.c \
	pmpi/identity.h \
	pmpi/keeper.c \
	pmpi/keeper.h \
	pmpi/ledgerfile.c \
	pmpi/ledgerfile.h \
	pmpi/live.h \
	pmpi/livedir.c \
	pmpi/livedir.h \
	pmpi/locks.c \
	pmpi/locks.h \
	pmpi/next.c \
	pmpi/next.h \
	pmpi/rankcsv.c \
	pmpi/rankcsv.h \
	pmpi/sampling.h \
	pmpi/say.c \
	pmpi/say.h \
	pmpi/stamp.c \
	pmpi/stamp.h \
	pmpi/tally.c \
	pmpi/tally.h \
	pmpi/wrap.c \
	pmpi/wrap.h
libergon_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/pmpi
libergon_mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
libergon_mpi_la_LIBADD = libergonbase.la

# What the interposer opens by dlopen when nobody else samples.
ergon_sampler_la_SOURCES = \
	pmpi/sampling.c \
	pmpi/sampling.h
ergon_sampler_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
ergon_sampler_la_LIBADD = libergoncore.la

EXTRA_DIST += pmpi/calls.in pmpi/gen.awk
BUILT_SOURCES += pmpi/wrap.c

pmpi/wrap.c: $(srcdir)/pmpi/calls.in $(srcdir)/pmpi/gen.awk
	$(AM_V_GEN)$(MKDIR_P) pmpi && \
	$(AWK) -f $(srcdir)/pmpi/gen.awk $(srcdir)/pmpi/calls.in >$@.tmp && mv $@.tmp $@

MAINTAINERCLEANFILES = pmpi/wrap.c
