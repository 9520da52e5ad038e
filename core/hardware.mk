# SPDX-License-Identifier: BSD-3-Clause
libergoncore_la_SOURCES += \
	core/backend.h \
	core/backend_model.c \
	core/backend_perf.c \
	core/backend_powercap.c \
	core/backends.c \
	core/crosscheck.c \
	core/crosscheck.h \
	core/integral.c \
	core/integral.h \
	core/meter.c \
	core/meter.h \
	core/power_pmu.c \
	core/power_pmu.h \
	core/powercap.c \
	core/powercap.h \
	core/scope.c \
	core/scope.h \
	core/slow.c \
	core/slow.h \
	core/sysroot.c \
	core/sysroot.h \
	core/topo.c \
	core/topo.h
