# SPDX-License-Identifier: BSD-3-Clause
# The private Slurm of the tests and of quickstart.
dist_check_SCRIPTS += tests/slurm/cluster
