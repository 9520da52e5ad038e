/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ergon.conf: `Key = value` lines, `#` comments. One table defines every
 * key; `ergon help config` prints it. Unknown key: one warning. Bad value:
 * one clear error naming file and line.
 */
#ifndef ERGON_CONF_H
#define ERGON_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "channel.h"
#include "error.h"
#include "rate.h"

struct ergon_conf {
	char default_energy[64];  /* Default: "auto" or "off" */
	bool allow_off;           /* AllowOff */
	bool allow_model;         /* AllowModel */
	char mechanism[128];      /* Mechanism: preference list, "auto" */
	struct ergon_rate freq;   /* Freq */
	double sensor_hz;         /* SensorFreq; 0: none */
	int curve_points;         /* CurvePoints */
	double user_rate_hz;      /* UserRate */
	double user_rate_shared_hz; /* UserRateShared */
	int checkpoint_s;         /* Checkpoint */
	char sysroot[PATH_MAX];   /* SysRoot */
	char run_dir[PATH_MAX];   /* RunDir */
	char spool_dir[PATH_MAX]; /* SpoolDir */
	char store[PATH_MAX];     /* Store: sqlite:FILE */
	char mpi_library[PATH_MAX]; /* MpiLibrary */
	char idle_watts[128];     /* IdleWatts: number, or "n[1-9]:95,n10:80"; "" unknown */
	double model_idle_watts;  /* ModelIdleWatts */
	double model_max_watts;   /* ModelMaxWatts */
	double max_watts[ERGON_DOMAIN_COUNT]; /* MaxWatts = package:800,node:5000; 0: default */
};

/* Fill with the defaults of the table. */
void ergon_conf_defaults(struct ergon_conf *conf);

/*
 * Read a file over the defaults. path NULL: $(sysconfdir)/ergon/ergon.conf,
 * which may be missing. A given path must exist. 0; -1 + err on a bad value
 * (conf then holds what was read before it). Unknown keys: ergon_log warning.
 */
int ergon_conf_load(struct ergon_conf *conf, const char *path, struct ergon_error *err);

/* Print the table: key, default, meaning. */
void ergon_conf_help(FILE *out);

/* Path used when none is given. */
const char *ergon_conf_default_path(void);

#endif
