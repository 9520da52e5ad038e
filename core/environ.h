/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every ERGON_* variable, in one table; `ergon help environment` prints it.
 * Read by unprivileged code only: the plugin never configures itself from
 * the environment.
 */
#ifndef ERGON_ENVIRON_H
#define ERGON_ENVIRON_H

#include <stdio.h>

/* X(constant, name, default, help) */
#define ERGON_ENV_TABLE(X) \
	X(BOARD, "ERGON_BOARD", "", "board file to read energy from (set by the Slurm plugin)") \
	X(OUTPUT_DIR, "ERGON_OUTPUT_DIR", ".", "where ranks put ergon.<job>.<step>/") \
	X(MECHANISM, "ERGON_MECHANISM", "auto", "mechanism of the rank that samples when there is no board") \
	X(FREQ, "ERGON_FREQ", "100", "sampling rate when there is no board: 0.1 to 1000 (Hz), auto or auto:HZ") \
	X(SHARE, "ERGON_SHARE", "cores", "split of a package among its ranks: cores or equal") \
	X(DISABLE, "ERGON_DISABLE", "", "1: the MPI library does nothing") \
	X(SYSROOT, "ERGON_SYSROOT", "/", "directory that stands for / when counters are read") \
	X(CONF, "ERGON_CONF", "", "configuration file of the ergon command") \
	X(ACCT_FORMAT, "ERGON_ACCT_FORMAT", "", "default columns of ergon acct") \
	X(DEBUG, "ERGON_DEBUG", "", "categories of debug messages: sampler,board,ledger,csv,... or all")

enum ergon_env {
#define X(c, n, d, h) ERGON_ENV_##c,
	ERGON_ENV_TABLE(X)
#undef X
	ERGON_ENV_COUNT
};

/*
 * The variable's value; its default when unset or empty; uses
 * secure_getenv, so a set-id program sees only defaults.
 */
const char *ergon_env_get(enum ergon_env var);

const char *ergon_env_name(enum ergon_env var);

void ergon_env_help(FILE *out);

#endif
