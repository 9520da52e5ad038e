# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/spank_options
TESTS += tests/unit/spank_options
tests_unit_spank_options_SOURCES = tests/unit/spank_options.c spank/options.c
tests_unit_spank_options_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_spank_options_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_options_LDADD = $(UNIT_LIBS)

# The plugin finds Slurm's functions in the program that loads it.
if HAVE_SLURM
check_PROGRAMS += tests/slurm/fake_spank
TESTS += tests/slurm/fake_spank
tests_slurm_fake_spank_SOURCES = tests/slurm/fake_spank.c
tests_slurm_fake_spank_CPPFLAGS = $(UNIT_CPPFLAGS) $(SLURM_CFLAGS)
tests_slurm_fake_spank_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_slurm_fake_spank_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_slurm_fake_spank_LDADD = $(UNIT_LIBS) $(JANSSON_LIBS) -ldl
endif
endif

# On a real, private Slurm; skipped where there is none.
slurm_tests = \
	tests/slurm/kill.sh \
	tests/slurm/known_power.sh \
	tests/slurm/options.sh \
	tests/slurm/transparency.sh
if HAVE_SLURM
TESTS += $(slurm_tests)
endif
dist_check_SCRIPTS += $(slurm_tests)
EXTRA_DIST += \
	tests/bench/bench_slurm.sh \
	tests/slurm/common
CLEANFILES += tests/slurm/lock
