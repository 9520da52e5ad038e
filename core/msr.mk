# SPDX-License-Identifier: BSD-3-Clause
# RAPL registers read directly.
libergoncore_la_SOURCES += \
	core/backend_msr.c \
	core/msr.c \
	core/msr.h \
	core/msr_place.c \
	core/msr_place.h
