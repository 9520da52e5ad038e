# SPDX-License-Identifier: BSD-3-Clause
# Accounting: records, power curves, journals, shares.
libergoncore_la_SOURCES += \
	core/curve.c \
	core/curve.h \
	core/journal.c \
	core/journal.h \
	core/privdir.c \
	core/privdir.h \
	core/record.c \
	core/record.h \
	core/share.c \
	core/share.h

if HAVE_CMOCKA
account_tests = \
	tests/unit/curve \
	tests/unit/journal \
	tests/unit/privdir \
	tests/unit/record \
	tests/unit/share
check_PROGRAMS += $(account_tests)
TESTS += $(account_tests)

tests_unit_curve_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_curve_CFLAGS = $(UNIT_CFLAGS)
tests_unit_curve_LDADD = $(UNIT_LIBS)
tests_unit_journal_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_journal_CFLAGS = $(UNIT_CFLAGS)
tests_unit_journal_LDADD = $(UNIT_LIBS)
tests_unit_privdir_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_privdir_CFLAGS = $(UNIT_CFLAGS)
tests_unit_privdir_LDADD = $(UNIT_LIBS)
tests_unit_record_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_record_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_record_LDADD = $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_share_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_share_CFLAGS = $(UNIT_CFLAGS)
tests_unit_share_LDADD = $(UNIT_LIBS)
endif
