# SPDX-License-Identifier: BSD-3-Clause
# Sampling: the thread, its ring and writer, the board that publishes samples.
libergonbase_la_SOURCES += \
	core/board.c \
	core/board.h \
	core/thread.c \
	core/thread.h
libergoncore_la_SOURCES += \
	core/board_describe.c \
	core/board_describe.h \
	core/cputime.c \
	core/cputime.h \
	core/pace.c \
	core/pace.h \
	core/ring.c \
	core/ring.h \
	core/sampler.c \
	core/sampler.h \
	core/samples_csv.c \
	core/samples_csv.h \
	core/writer.c \
	core/writer.h
libergoncore_la_CFLAGS += -pthread
libergoncore_la_LIBADD += -lpthread
