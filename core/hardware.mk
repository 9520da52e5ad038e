# SPDX-License-Identifier: BSD-3-Clause
libergoncore_la_SOURCES += \
	core/backend.h \
	core/backend_model.c \
	core/backends.c \
	core/meter.c \
	core/meter.h \
	core/sysroot.c \
	core/sysroot.h \
	core/topo.c \
	core/topo.h
