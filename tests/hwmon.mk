# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CMOCKA
hwmon_unit_tests = \
	tests/unit/backend_hwmon \
	tests/unit/hwmon
check_PROGRAMS += $(hwmon_unit_tests)
TESTS += $(hwmon_unit_tests)

tests_unit_backend_hwmon_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_hwmon_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_hwmon_LDADD = libergontest.la $(UNIT_LIBS) -lm
# Readings that take long.
tests_unit_backend_hwmon_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ergon_fd_read_u64
tests_unit_hwmon_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_hwmon_CFLAGS = $(UNIT_CFLAGS)
tests_unit_hwmon_LDADD = libergontest.la $(UNIT_LIBS)
endif

dist_check_SCRIPTS += tests/fakenode/hwmon.sh tests/stat/hwmon.sh
TESTS += tests/fakenode/hwmon.sh tests/stat/hwmon.sh
