# SPDX-License-Identifier: BSD-3-Clause
# Meters of whole nodes.
libergoncore_la_SOURCES += \
	core/backend_cray.c \
	core/backend_dcmi.c \
	core/backend_dcmi.h \
	core/dcmi.c \
	core/dcmi.h \
	core/ipmi.c \
	core/ipmi.h \
	core/pm_counters.c \
	core/pm_counters.h
