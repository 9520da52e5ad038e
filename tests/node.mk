# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CMOCKA
node_unit_tests = \
	tests/unit/backend_cray \
	tests/unit/backend_dcmi \
	tests/unit/dcmi \
	tests/unit/ipmi \
	tests/unit/pm_counters
check_PROGRAMS += $(node_unit_tests)
TESTS += $(node_unit_tests)

tests_unit_backend_cray_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_cray_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_cray_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_backend_dcmi_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_dcmi_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_dcmi_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_dcmi_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_dcmi_CFLAGS = $(UNIT_CFLAGS)
tests_unit_dcmi_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_ipmi_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_ipmi_CFLAGS = $(UNIT_CFLAGS)
tests_unit_ipmi_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_ipmi_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ioctl
tests_unit_pm_counters_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_pm_counters_CFLAGS = $(UNIT_CFLAGS)
tests_unit_pm_counters_LDADD = libergontest.la $(UNIT_LIBS)
endif

dist_check_SCRIPTS += tests/stat/node_meters.sh
TESTS += tests/stat/node_meters.sh

# slurmstepd reads a node's meter; see tests/slurm/common.
if HAVE_SLURM
TESTS += tests/slurm/node_meters.sh
endif
dist_check_SCRIPTS += tests/slurm/node_meters.sh
