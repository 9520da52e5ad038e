# SPDX-License-Identifier: BSD-3-Clause
# libergonbase: needs nothing but libc; part of everything, the interposer too.
# libergoncore: topology, backends, sampler, accounting.
noinst_LTLIBRARIES += libergonbase.la libergoncore.la

libergonbase_la_SOURCES = \
	core/channel.c \
	core/channel.h \
	core/clock.c \
	core/clock.h \
	core/delta.c \
	core/delta.h \
	core/environ.c \
	core/environ.h \
	core/error.c \
	core/error.h \
	core/flags.c \
	core/flags.h \
	core/livepath.c \
	core/livepath.h \
	core/log.c \
	core/log.h \
	core/mapfile.c \
	core/mapfile.h \
	core/rate.c \
	core/rate.h

libergoncore_la_SOURCES = \
	core/conf.c \
	core/conf.h
libergoncore_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(INIH_CFLAGS)
libergoncore_la_LIBADD = libergonbase.la $(HWLOC_LIBS) $(INIH_LIBS) -lm
