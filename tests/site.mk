# SPDX-License-Identifier: BSD-3-Clause
# Checks of the tree as a whole, the example, the private Slurm.
site_tests = \
	tests/examples.sh \
	tests/headers.sh \
	tests/scripts.sh \
	tests/spdx.sh \
	tests/symbols.sh
TESTS += $(site_tests)
dist_check_SCRIPTS += \
	$(site_tests) \
	tests/slurm/cluster

exampledir = $(docdir)/examples
dist_example_DATA = examples/heat2d.c

# The unit tests alone: what a sanitizer build runs.
check-unit:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter tests/unit/%,$(TESTS))'
.PHONY: check-unit

# Three kinds: those that measure rates and costs and need the machine to themselves; real Slurm and MPI
# jobs, a row of each beside the other; and the rest, which mostly waits and may run in any number.
alone = tests/slurm/fake_spank tests/stat/rate.sh tests/stat/auto_rate.sh tests/unit/sampler \
	tests/unit/sampler_auto tests/tools/bench.sh tests/tools/merge_scale.sh
slurm = tests/slurm/%.sh
mpi = tests/mpi/% tests/examples.sh
check-alone:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter $(alone),$(TESTS))'
check-slurm:
	$(MAKE) $(AM_MAKEFLAGS) -j1 check TESTS='$(filter $(slurm),$(TESTS))' TEST_SUITE_LOG=slurm-suite.log
check-mpi:
	$(MAKE) $(AM_MAKEFLAGS) -j1 check TESTS='$(filter $(mpi),$(TESTS))' TEST_SUITE_LOG=mpi-suite.log
check-jobs:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS=
	$(MAKE) $(AM_MAKEFLAGS) -j2 check-slurm check-mpi
check-together:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter-out $(alone) $(slurm) $(mpi),$(TESTS))'
CLEANFILES += slurm-suite.log mpi-suite.log
.PHONY: check-alone check-jobs check-mpi check-slurm check-together

EXTRA_DIST += \
	doc/HOWTO-test.md \
	doc/INTERNALS.md \
	doc/benchmarks.md \
	doc/decisions.md
