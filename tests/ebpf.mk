# SPDX-License-Identifier: BSD-3-Clause
# The eBPF backend on the stand-in; the script also where it was left out.
if HAVE_EBPF
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/backend_ebpf
TESTS += tests/unit/backend_ebpf
tests_unit_backend_ebpf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_ebpf_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_ebpf_LDADD = libergontest.la $(UNIT_LIBS)
endif
endif

TESTS += tests/stat/ebpf.sh
dist_check_SCRIPTS += tests/stat/ebpf.sh
