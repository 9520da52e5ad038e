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
	tools/number.c \
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
	tools/number.c \
	tools/problem.c \
	tools/rankfile.c \
	tools/text.c
tests_unit_ledger_read_CPPFLAGS = $(MERGE_CPPFLAGS)
tests_unit_ledger_read_CFLAGS = $(UNIT_CFLAGS)
tests_unit_ledger_read_LDADD = $(UNIT_LIBS) -lm
endif

check_PROGRAMS += \
	tests/bench/mkranks \
	tests/bench/peak \
	tests/tools/fuzz_merge \
	tests/tools/mkledger
tests_tools_mkledger_SOURCES = \
	tests/tools/example_ledger.c \
	tests/tools/example_ledger.h \
	tests/tools/mkledger.c
tests_tools_mkledger_CPPFLAGS = $(MERGE_CPPFLAGS)
tests_tools_fuzz_merge_SOURCES = \
	$(merge_sources) \
	tests/tools/example_ledger.c \
	tests/tools/example_ledger.h \
	tests/tools/fuzz_merge.c
tests_tools_fuzz_merge_CPPFLAGS = $(MERGE_CPPFLAGS)
tests_tools_fuzz_merge_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_tools_fuzz_merge_LDADD = libergoncore.la $(JANSSON_LIBS) -lm

TESTS += \
	tests/tools/fuzz_merge \
	tests/tools/merge.sh \
	tests/tools/merge_scale.sh
dist_check_SCRIPTS += \
	tests/tools/merge.sh \
	tests/tools/merge_scale.sh
EXTRA_DIST += \
	tests/bench/bench_merge.sh \
	tests/golden/merge/killed.txt \
	tests/golden/merge/noenergy.txt \
	tests/golden/merge/problems.txt \
	tests/golden/merge/two-top.txt \
	tests/golden/merge/two.csv \
	tests/golden/merge/two.json \
	tests/golden/merge/two.txt \
	tests/golden/merge/two/node.n2.csv \
	tests/golden/merge/two/rank.w.0.csv \
	tests/golden/merge/two/rank.w.1.csv

bench_needs += tests/bench/mkranks$(EXEEXT) tests/bench/peak$(EXEEXT) ergon$(EXEEXT)
