# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CMOCKA
sampling_unit_tests = \
	tests/unit/board
check_PROGRAMS += $(sampling_unit_tests)
TESTS += $(sampling_unit_tests)

tests_unit_board_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_board_CFLAGS = $(UNIT_CFLAGS) -pthread
tests_unit_board_LDADD = $(UNIT_LIBS)
endif
