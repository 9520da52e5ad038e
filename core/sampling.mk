# SPDX-License-Identifier: BSD-3-Clause
# Sampling: the thread, its ring and writer, the board that publishes samples.
libergonbase_la_SOURCES += \
	core/board.c \
	core/board.h
libergoncore_la_SOURCES += \
	core/sampler.c \
	core/sampler.h
libergoncore_la_CFLAGS += -pthread
libergoncore_la_LIBADD += -lpthread
