# SPDX-License-Identifier: BSD-3-Clause
# Gauges that are not energy: temperatures, fans, the CPUs' clock rate.
libergoncore_la_SOURCES += \
	core/cpufreq.c \
	core/cpufreq.h \
	core/gauge.c \
	core/gauge.h \
	core/sensors.c \
	core/sensors.h \
	core/watch.c \
	core/watch.h
