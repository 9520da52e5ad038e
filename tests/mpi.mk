# SPDX-License-Identifier: BSD-3-Clause
# The interposer: pure parts as units, the rest with real MPIs (skipped without).
if HAVE_CMOCKA
mpi_unit_tests = \
	tests/unit/attrib \
	tests/unit/rankcsv \
	tests/unit/stamp
check_PROGRAMS += $(mpi_unit_tests)
TESTS += $(mpi_unit_tests)

tests_unit_attrib_SOURCES = tests/unit/attrib.c pmpi/attrib.c
tests_unit_attrib_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_attrib_CFLAGS = $(UNIT_CFLAGS)
tests_unit_attrib_LDADD = $(UNIT_LIBS) -lm
tests_unit_stamp_SOURCES = tests/unit/stamp.c pmpi/stamp.c
tests_unit_stamp_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_stamp_CFLAGS = $(UNIT_CFLAGS)
tests_unit_stamp_LDADD = $(UNIT_LIBS)
tests_unit_stamp_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_unit_rankcsv_SOURCES = tests/unit/rankcsv.c pmpi/rankcsv.c
tests_unit_rankcsv_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_rankcsv_CFLAGS = $(UNIT_CFLAGS)
tests_unit_rankcsv_LDADD = $(UNIT_LIBS) -lm
endif

mpi_scripts = \
	tests/mpi/table.sh \
	tests/mpi/mock.sh \
	tests/mpi/untouched.sh \
	tests/mpi/programs.sh \
	tests/mpi/random_kills.sh \
	tests/mpi/shares.sh \
	tests/mpi/hosts.sh \
	tests/mpi/endings.sh \
	tests/mpi/keeper.sh \
	tests/mpi/pace.sh \
	tests/mpi/phases.sh \
	tests/mpi/polling.sh
dist_check_SCRIPTS += $(mpi_scripts)
TESTS += $(mpi_scripts)

# The same under srun; with the locking of tests/slurm/common.
if HAVE_SLURM
TESTS += tests/slurm/phases.sh
endif
dist_check_SCRIPTS += tests/slurm/phases.sh
EXTRA_DIST += \
	tests/bench/bench_mpi.sh \
	tests/bench/mpi_calls.c \
	tests/bench/spawn.c \
	tests/mpi/endings.c \
	tests/mpi/host.c \
	tests/mpi/lib.sh \
	tests/mpi/mock.awk \
	tests/mpi/mockrank.c \
	tests/mpi/phases.c \
	tests/mpi/polling.c \
	tests/mpi/programs.c \
	tests/mpi/sessions.c \
	tests/mpi/spawn.c \
	tests/mpi/stacked.c \
	tests/mpi/threads.c \
	tests/mpi/untouched.c
