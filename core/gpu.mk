# SPDX-License-Identifier: BSD-3-Clause
# GPUs, read through the vendors' libraries.
libergoncore_la_SOURCES += \
	core/backend_nvml.c \
	core/backend_rocm.c \
	core/dynlib.c \
	core/dynlib.h \
	core/gpu.c \
	core/gpu.h \
	core/gpu_count.c \
	core/gpu_count.h \
	core/pci.c \
	core/pci.h
