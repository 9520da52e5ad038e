# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += ergon

ergon_SOURCES = \
	tools/bench.c \
	tools/bench_output.c \
	tools/bench_output.h \
	tools/bench_rate.c \
	tools/bench_rate.h \
	tools/bench_read.c \
	tools/bench_read.h \
	tools/child.c \
	tools/child.h \
	tools/commands.h \
	tools/ergon.c \
	tools/gather.c \
	tools/help.c \
	tools/list.c \
	tools/list_sensors.c \
	tools/list_sensors.h \
	tools/machine.c \
	tools/machine.h \
	tools/spread.c \
	tools/spread.h \
	tools/stat.c \
	tools/stat_output.c \
	tools/stat_output.h
ergon_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
ergon_LDADD = libergoncore.la $(JANSSON_LIBS)
