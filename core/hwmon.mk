# SPDX-License-Identifier: BSD-3-Clause
libergoncore_la_SOURCES += \
	core/hwmon.c \
	core/hwmon.h
