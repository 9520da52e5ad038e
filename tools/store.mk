# SPDX-License-Identifier: BSD-3-Clause
# The store and the commands on it. The library is what tests link.
if HAVE_SQLITE
noinst_LTLIBRARIES += libergonstore.la
libergonstore_la_SOURCES = \
	tools/acct_field.c \
	tools/acct_field.h \
	tools/acct_nodes.c \
	tools/acct_nodes.h \
	tools/acct_run.c \
	tools/acct_run.h \
	tools/acct_select.c \
	tools/acct_select.h \
	tools/acct_time.c \
	tools/acct_time.h \
	tools/acct_total.c \
	tools/acct_total.h \
	tools/ingest_file.c \
	tools/ingest_file.h \
	tools/ingest_parse.c \
	tools/ingest_parse.h \
	tools/json_scan.c \
	tools/json_scan.h \
	tools/record_field.c \
	tools/record_field.h \
	tools/record_read.c \
	tools/record_read.h \
	tools/store.c \
	tools/store.h \
	tools/store_config.c \
	tools/store_config.h
libergonstore_la_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
libergonstore_la_LIBADD = libergoncore.la $(SQLITE_LIBS)

ergon_SOURCES += \
	tools/acct.c \
	tools/acct_json.c \
	tools/acct_json.h \
	tools/ingest.c
ergon_LDADD += libergonstore.la
endif

dist_userdoc_DATA += doc/accounting.md
