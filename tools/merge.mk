# SPDX-License-Identifier: BSD-3-Clause
# merge_main.c parses options; the rest is what tests link.
merge_sources = \
	tools/ledger_read.c \
	tools/ledger_read.h \
	tools/merge.c \
	tools/merge.h \
	tools/merge_check.c \
	tools/merge_csv.c \
	tools/merge_json.c \
	tools/merge_scan.c \
	tools/merge_scan.h \
	tools/merge_sum.c \
	tools/merge_sum.h \
	tools/merge_text.c \
	tools/merge_which.c \
	tools/merge_which.h \
	tools/number.c \
	tools/number.h \
	tools/problem.c \
	tools/problem.h \
	tools/rankfile.c \
	tools/rankfile.h \
	tools/strmap.c \
	tools/strmap.h \
	tools/text.c \
	tools/text.h
ergon_SOURCES += $(merge_sources) tools/merge_main.c
ergon_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/pmpi
ergon_LDADD += -lm
dist_userdoc_DATA += doc/reading-the-result.md
