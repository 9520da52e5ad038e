# SPDX-License-Identifier: BSD-3-Clause
# A stand-in for known watts: see the head of make-sysroot.
check_PROGRAMS += tests/standin/tschz
tests_standin_tschz_SOURCES = tests/standin/tschz.c
dist_check_SCRIPTS += tests/standin/make-sysroot

# Clocks that step; a module, never installed.
check_LTLIBRARIES += tests/standin/clockshift.la
tests_standin_clockshift_la_SOURCES = tests/standin/clockshift.c
tests_standin_clockshift_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

if HAVE_CMOCKA
sampling_unit_tests = \
	tests/unit/board \
	tests/unit/board_describe \
	tests/unit/pace \
	tests/unit/rate \
	tests/unit/ring \
	tests/unit/sampler \
	tests/unit/sampler_auto \
	tests/unit/spread \
	tests/unit/writer
check_PROGRAMS += $(sampling_unit_tests)
TESTS += $(sampling_unit_tests)

tests_unit_board_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_board_CFLAGS = $(UNIT_CFLAGS) -pthread
tests_unit_board_LDADD = $(UNIT_LIBS)
tests_unit_board_describe_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_board_describe_CFLAGS = $(UNIT_CFLAGS)
tests_unit_board_describe_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_pace_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_pace_CFLAGS = $(UNIT_CFLAGS)
tests_unit_pace_LDADD = $(UNIT_LIBS)
tests_unit_rate_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_rate_CFLAGS = $(UNIT_CFLAGS)
tests_unit_rate_LDADD = $(UNIT_LIBS)
tests_unit_sampler_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_sampler_CFLAGS = $(UNIT_CFLAGS) -pthread
tests_unit_sampler_LDADD = $(UNIT_LIBS) -lm
tests_unit_sampler_auto_SOURCES = tests/unit/sampler_auto.c tests/unit/tree.c tests/unit/tree.h
tests_unit_sampler_auto_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_sampler_auto_CFLAGS = $(UNIT_CFLAGS) -pthread
tests_unit_sampler_auto_LDADD = $(UNIT_LIBS) -lm
tests_unit_spread_SOURCES = tests/unit/spread.c tools/spread.c tools/spread.h
tests_unit_spread_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_spread_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spread_LDADD = $(UNIT_LIBS)
tests_unit_ring_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_ring_CFLAGS = $(UNIT_CFLAGS) -pthread
tests_unit_ring_LDADD = $(UNIT_LIBS)
tests_unit_writer_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_writer_CFLAGS = $(UNIT_CFLAGS) -pthread
tests_unit_writer_LDADD = $(UNIT_LIBS)
endif

# ergon stat and ergon bench, end to end.
stat_scripts = \
	tests/stat/auto_rate.sh \
	tests/stat/behaviour.sh \
	tests/stat/clocks.sh \
	tests/stat/known_power.sh \
	tests/stat/rate.sh \
	tests/tools/bench.sh
TESTS += $(stat_scripts)
dist_check_SCRIPTS += $(stat_scripts)
EXTRA_DIST += tests/stat/lib.sh

# `make bench`: figures, not tests. Each tests/bench/bench_*.sh prints a part of the table.
EXTRA_PROGRAMS = \
	tests/bench/bench_rate \
	tests/bench/bench_read
tests_bench_bench_rate_LDADD = libergoncore.la
tests_bench_bench_read_LDADD = libergoncore.la
EXTRA_DIST += \
	tests/bench/bench_sampling.sh \
	tests/bench/run.sh

bench_needs += $(EXTRA_PROGRAMS) tests/standin/tschz$(EXEEXT)
bench: $(bench_needs)
	@$(AM_TESTS_ENVIRONMENT) sh $(srcdir)/tests/bench/run.sh
.PHONY: bench
