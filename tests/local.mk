# SPDX-License-Identifier: BSD-3-Clause
# What `make bench` (sampling.mk) wants built.
bench_needs =

# Unit tests: tests/unit/<noun>.c, one program each.
UNIT_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/pmpi -I$(srcdir)/spank -I$(srcdir)/tools
UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
UNIT_LIBS = libergoncore.la $(CMOCKA_LIBS)

if HAVE_CMOCKA
unit_tests = \
	tests/unit/channel \
	tests/unit/delta \
	tests/unit/flags \
	tests/unit/livepath
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

tests_unit_channel_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_channel_CFLAGS = $(UNIT_CFLAGS)
tests_unit_channel_LDADD = $(UNIT_LIBS)
tests_unit_delta_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_delta_CFLAGS = $(UNIT_CFLAGS)
tests_unit_delta_LDADD = $(UNIT_LIBS)
tests_unit_flags_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_flags_CFLAGS = $(UNIT_CFLAGS)
tests_unit_flags_LDADD = $(UNIT_LIBS)
tests_unit_livepath_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_livepath_CFLAGS = $(UNIT_CFLAGS)
tests_unit_livepath_LDADD = $(UNIT_LIBS)
endif
