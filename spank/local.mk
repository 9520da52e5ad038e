# SPDX-License-Identifier: BSD-3-Clause
# The Slurm plugin. Slurm's symbols are resolved by the process that loads it.
# nodelete: a thread that hangs in a dead disk must not lose its code.
if HAVE_SLURM
slurmplugin_LTLIBRARIES = spank_ergon.la
endif
spank_ergon_la_SOURCES = \
	spank/account.c \
	spank/account.h \
	spank/dispatch.c \
	spank/identity.c \
	spank/identity.h \
	spank/local.c \
	spank/local.h \
	spank/options.c \
	spank/options.h \
	spank/remote.c \
	spank/remote.h \
	spank/rundir.c \
	spank/rundir.h
spank_ergon_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CFLAGS)
spank_ergon_la_CFLAGS = $(AM_CFLAGS) -pthread
spank_ergon_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -pthread \
	-Wl,-z,nodelete -Wl,--version-script=$(srcdir)/spank/spank.map
spank_ergon_la_LIBADD = libergoncore.la
spank_ergon_la_DEPENDENCIES = libergoncore.la $(srcdir)/spank/spank.map
EXTRA_DIST += spank/spank.map
