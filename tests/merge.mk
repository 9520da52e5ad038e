# SPDX-License-Identifier: BSD-3-Clause
MERGE_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(srcdir)/tests/tools

if HAVE_CMOCKA
merge_unit_tests = \
	tests/unit/ledger_read \
	tests/unit/rankfile
check_PROGRAMS += $(merge_unit_tests)
TESTS += $(merge_unit_tests)

tests_unit_rankfile_SOURCES = \
	tests/unit/rankfile.c \
	tools/problem.c \
	tools/rankfile.c \
	tools/text.c
tests_unit_rankfile_CPPFLAGS = $(MERGE_CPPFLAGS)
tests_unit_rankfile_CFLAGS = $(UNIT_CFLAGS)
tests_unit_rankfile_LDADD = $(UNIT_LIBS) -lm

tests_unit_ledger_read_SOURCES = \
	tests/tools/example_ledger.c \
	tests/tools/example_ledger.h \
	tests/unit/ledger_read.c \
	tools/ledger_read.c \
	tools/problem.c \
	tools/rankfile.c \
	tools/text.c
tests_unit_ledger_read_CPPFLAGS = $(MERGE_CPPFLAGS)
tests_unit_ledger_read_CFLAGS = $(UNIT_CFLAGS)
tests_unit_ledger_read_LDADD = $(UNIT_LIBS) -lm
endif

check_PROGRAMS += \
	tests/bench/mkranks \
	tests/tools/mkledger
tests_tools_mkledger_SOURCES = \
	tests/tools/example_ledger.c \
	tests/tools/example_ledger.h \
	tests/tools/mkledger.c
tests_tools_mkledger_CPPFLAGS = $(MERGE_CPPFLAGS)
