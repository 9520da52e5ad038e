# SPDX-License-Identifier: BSD-3-Clause
# The store and the commands on it. The library is what tests link.
if HAVE_SQLITE
noinst_LTLIBRARIES += libergonstore.la
libergonstore_la_SOURCES = \
	tools/ingest_file.c \
	tools/ingest_file.h \
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
	tools/ingest.c
ergon_LDADD += libergonstore.la
endif
