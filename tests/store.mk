# SPDX-License-Identifier: BSD-3-Clause
# Tests of the store, ergon ingest and ergon acct.
if HAVE_SQLITE
check_PROGRAMS += tests/tools/journal_make
tests_tools_journal_make_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_tools_journal_make_LDADD = libergonstore.la
endif
