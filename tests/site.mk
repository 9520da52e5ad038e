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

# Tests that need the machine to themselves (real Slurm and MPI jobs, rates, cost), and the others, which mostly wait.
alone = tests/slurm/% tests/mpi/% tests/examples.sh tests/stat/rate.sh tests/stat/auto_rate.sh \
	tests/unit/sampler tests/unit/sampler_auto tests/tools/bench.sh tests/tools/merge_scale.sh
check-alone:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter $(alone),$(TESTS))'
check-together:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter-out $(alone),$(TESTS))'
.PHONY: check-alone check-together

EXTRA_DIST += \
	doc/HOWTO-test.md \
	doc/INTERNALS.md \
	doc/benchmarks.md \
	doc/decisions.md
