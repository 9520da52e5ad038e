# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CMOCKA
msr_unit_tests = \
	tests/unit/backend_msr \
	tests/unit/msr
check_PROGRAMS += $(msr_unit_tests)
TESTS += $(msr_unit_tests)

tests_unit_backend_msr_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_msr_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_msr_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_backend_msr_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime -Wl,--wrap=pread
tests_unit_msr_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_msr_CFLAGS = $(UNIT_CFLAGS)
tests_unit_msr_LDADD = $(UNIT_LIBS) -lm
endif

dist_check_SCRIPTS += tests/msr/msr.sh
TESTS += tests/msr/msr.sh
