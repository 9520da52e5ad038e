# SPDX-License-Identifier: BSD-3-Clause
libergoncore_la_SOURCES += \
	core/backend_hwmon.c \
	core/hwmon.c \
	core/hwmon.h \
	core/hwmon_source.c \
	core/hwmon_source.h
