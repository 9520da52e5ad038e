# SPDX-License-Identifier: BSD-3-Clause
# Helpers of unit tests: a temporary machine, a scripted backend.
if HAVE_CMOCKA
check_LTLIBRARIES += libergontest.la
libergontest_la_SOURCES = \
	tests/unit/handclock.c \
	tests/unit/handclock.h \
	tests/unit/script.c \
	tests/unit/script.h \
	tests/unit/standin.c \
	tests/unit/standin.h \
	tests/unit/tree.c \
	tests/unit/tree.h
libergontest_la_CPPFLAGS = $(UNIT_CPPFLAGS)
libergontest_la_CFLAGS = $(UNIT_CFLAGS)
libergontest_la_LIBADD = $(UNIT_LIBS)

# Time by hand: see handclock.h.
handclock_link = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime

hardware_unit_tests = \
	tests/unit/backend_model \
	tests/unit/backend_perf \
	tests/unit/backend_powercap \
	tests/unit/crosscheck \
	tests/unit/fuzz_sysfs \
	tests/unit/integral \
	tests/unit/meter \
	tests/unit/meter_time \
	tests/unit/scope \
	tests/unit/slow \
	tests/unit/sysroot \
	tests/unit/topo
check_PROGRAMS += $(hardware_unit_tests)
TESTS += $(hardware_unit_tests)

tests_unit_backend_model_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_model_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_model_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_backend_perf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_perf_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_perf_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_backend_powercap_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_powercap_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_powercap_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_crosscheck_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_crosscheck_CFLAGS = $(UNIT_CFLAGS)
tests_unit_crosscheck_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_crosscheck_LDFLAGS = $(handclock_link)
tests_unit_fuzz_sysfs_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_fuzz_sysfs_CFLAGS = $(UNIT_CFLAGS)
tests_unit_fuzz_sysfs_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_meter_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_meter_CFLAGS = $(UNIT_CFLAGS)
tests_unit_meter_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_meter_time_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_meter_time_CFLAGS = $(UNIT_CFLAGS)
tests_unit_meter_time_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_meter_time_LDFLAGS = $(handclock_link)
tests_unit_integral_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_integral_CFLAGS = $(UNIT_CFLAGS)
tests_unit_integral_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_scope_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_scope_CFLAGS = $(UNIT_CFLAGS)
tests_unit_scope_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_slow_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_slow_CFLAGS = $(UNIT_CFLAGS)
tests_unit_slow_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_sysroot_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_sysroot_CFLAGS = $(UNIT_CFLAGS)
tests_unit_sysroot_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_topo_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_topo_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_LDADD = libergontest.la $(UNIT_LIBS)
endif

# Machines as directories; see tests/sysroots/generate.
EXTRA_DIST += tests/sysroots
dist_check_SCRIPTS += tests/tools/gather.sh tests/tools/list.sh
TESTS += tests/tools/gather.sh tests/tools/list.sh

# A machine whose counters move, and what checks the joules: see fakenode.c.
if HAVE_FUSE
check_PROGRAMS += tests/fakenode/fakenode tests/fakenode/verify
tests_fakenode_fakenode_SOURCES = tests/fakenode/fakenode.c
tests_fakenode_fakenode_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS)
tests_fakenode_fakenode_LDADD = $(FUSE_LIBS)
tests_fakenode_verify_SOURCES = tests/fakenode/verify.c
tests_fakenode_verify_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_fakenode_verify_LDADD = $(JANSSON_LIBS) -lm
endif
dist_check_SCRIPTS += tests/fakenode/faults.sh tests/fakenode/powercap.sh
TESTS += tests/fakenode/faults.sh tests/fakenode/powercap.sh

# Which test shows what: recipes.txt.
dist_check_SCRIPTS += tests/recipes.sh
EXTRA_DIST += tests/recipes.txt
TESTS += tests/recipes.sh
