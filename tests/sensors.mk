# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CMOCKA
sensors_unit_tests = \
	tests/unit/cpufreq \
	tests/unit/gauge \
	tests/unit/sensors \
	tests/unit/watch
check_PROGRAMS += $(sensors_unit_tests)
TESTS += $(sensors_unit_tests)

tests_unit_cpufreq_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_cpufreq_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cpufreq_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_gauge_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_gauge_CFLAGS = $(UNIT_CFLAGS)
tests_unit_gauge_LDADD = $(UNIT_LIBS)
tests_unit_sensors_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_sensors_CFLAGS = $(UNIT_CFLAGS)
tests_unit_sensors_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_watch_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_watch_CFLAGS = $(UNIT_CFLAGS)
tests_unit_watch_LDADD = libergontest.la $(UNIT_LIBS)
endif

dist_check_SCRIPTS += tests/stat/sensors.sh
TESTS += tests/stat/sensors.sh
