# SPDX-License-Identifier: BSD-3-Clause
# Tests of the store, ergon ingest and ergon acct.
EXTRA_DIST += \
	tests/bench/bench_ingest.sh
dist_check_SCRIPTS += \
	tests/tools/acct.sh \
	tests/tools/ingest.sh

dist_check_SCRIPTS += tests/slurm/acct_union.sh

if HAVE_SQLITE
if HAVE_SLURM
TESTS += tests/slurm/acct_union.sh
endif
STORE_LIBS = libergonstore.la libergoncore.la

check_PROGRAMS += tests/tools/journal_make
tests_tools_journal_make_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_tools_journal_make_LDADD = $(STORE_LIBS)

TESTS += \
	tests/tools/acct.sh \
	tests/tools/ingest.sh

bench_needs += tests/tools/journal_make$(EXEEXT) ergon$(EXEEXT)

if HAVE_CMOCKA
store_tests = \
	tests/unit/acct_format \
	tests/unit/acct_total \
	tests/unit/record_read \
	tests/unit/store
check_PROGRAMS += $(store_tests)
TESTS += $(store_tests)

tests_unit_acct_format_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_acct_format_CFLAGS = $(UNIT_CFLAGS)
tests_unit_acct_format_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
tests_unit_acct_total_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_acct_total_CFLAGS = $(UNIT_CFLAGS)
tests_unit_acct_total_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
tests_unit_record_read_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_record_read_CFLAGS = $(UNIT_CFLAGS)
tests_unit_record_read_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
tests_unit_store_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_store_CFLAGS = $(UNIT_CFLAGS)
tests_unit_store_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
endif
endif
