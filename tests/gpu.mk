# SPDX-License-Identifier: BSD-3-Clause
# Stub libraries that tell what a test's file says: see tests/stub/story.h.
stub_libraries = \
	tests/stub/libamd_smi.la \
	tests/stub/libnvidia-ml.la \
	tests/stub/librocm_smi64.la \
	tests/stub/lacking/libamd_smi.la \
	tests/stub/lacking/libnvidia-ml.la
check_LTLIBRARIES += $(stub_libraries)
STUB_LDFLAGS = $(AM_LDFLAGS) -rpath /nowhere -shared
stub_story = tests/stub/story.c tests/stub/story.h

tests_stub_libamd_smi_la_SOURCES = tests/stub/amd_smi.c $(stub_story)
tests_stub_libamd_smi_la_LDFLAGS = $(STUB_LDFLAGS) -avoid-version
tests_stub_librocm_smi64_la_SOURCES = tests/stub/amd_smi.c $(stub_story)
tests_stub_librocm_smi64_la_CPPFLAGS = $(AM_CPPFLAGS) -DROCM
tests_stub_librocm_smi64_la_LDFLAGS = $(STUB_LDFLAGS) -avoid-version
tests_stub_libnvidia_ml_la_SOURCES = tests/stub/nvml.c $(stub_story)
tests_stub_libnvidia_ml_la_LDFLAGS = $(STUB_LDFLAGS) -version-info 1:0:0
tests_stub_lacking_libamd_smi_la_SOURCES = tests/stub/amd_smi.c $(stub_story)
tests_stub_lacking_libamd_smi_la_CPPFLAGS = $(AM_CPPFLAGS) -DLACKS_ENERGY
tests_stub_lacking_libamd_smi_la_LDFLAGS = $(STUB_LDFLAGS) -avoid-version
tests_stub_lacking_libnvidia_ml_la_SOURCES = tests/stub/nvml.c $(stub_story)
tests_stub_lacking_libnvidia_ml_la_CPPFLAGS = $(AM_CPPFLAGS) -DLACKS_ENERGY
tests_stub_lacking_libnvidia_ml_la_LDFLAGS = $(STUB_LDFLAGS) -version-info 1:0:0

if HAVE_CMOCKA
gpu_unit_tests = \
	tests/unit/backend_nvml \
	tests/unit/backend_rocm \
	tests/unit/dynlib \
	tests/unit/gpu_count \
	tests/unit/pci
check_PROGRAMS += $(gpu_unit_tests)
TESTS += $(gpu_unit_tests)

tests_unit_backend_nvml_SOURCES = tests/unit/backend_nvml.c tests/unit/gpu_stage.c tests/unit/gpu_stage.h
tests_unit_backend_nvml_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_nvml_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_nvml_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_backend_rocm_SOURCES = tests/unit/backend_rocm.c tests/unit/gpu_stage.c tests/unit/gpu_stage.h
tests_unit_backend_rocm_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_rocm_CFLAGS = $(UNIT_CFLAGS)
tests_unit_backend_rocm_LDADD = libergontest.la $(UNIT_LIBS)
tests_unit_dynlib_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_dynlib_CFLAGS = $(UNIT_CFLAGS)
tests_unit_dynlib_LDADD = $(UNIT_LIBS)
tests_unit_gpu_count_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_gpu_count_CFLAGS = $(UNIT_CFLAGS)
tests_unit_gpu_count_LDADD = $(UNIT_LIBS)
tests_unit_pci_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_pci_CFLAGS = $(UNIT_CFLAGS)
tests_unit_pci_LDADD = $(UNIT_LIBS)
endif

dist_check_SCRIPTS += tests/gpu/gpu.sh
TESTS += tests/gpu/gpu.sh
dist_check_SCRIPTS += tests/mpi/gpus.sh
TESTS += tests/mpi/gpus.sh

# slurmstepd loads a stub and records its joules; see tests/slurm/common.
if HAVE_SLURM
TESTS += tests/slurm/gpus.sh
endif
dist_check_SCRIPTS += tests/slurm/gpus.sh
