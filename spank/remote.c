/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "account.h"
#include "board_describe.h"
#include "conf.h"
#include "environ.h"
#include "flags.h"
#include "identity.h"
#include "log.h"
#include "options.h"
#include "privdir.h"
#include "rundir.h"
#include "sampler.h"
#include "share.h"

/* sbatch and salloc hand the option to what runs inside under this name. */
#define INHERITED_OPTION "SLURM_SPANK__SLURM_SPANK_OPTION_spank_ergon_energy"

#define MPI_HZ 100
#define BOARD_RING 2048
#define PRELOAD_MAX (1u << 20)

enum stage { BEFORE, MEASURING, OVER };

/* The one handle of the plugin: Slurm calls us without a context. */
static struct {
	enum stage stage;
	bool told;                /* user_init was here */
	bool given;               /* the option's callback was here */
	char text[ERGON_SPEC_MAX];

	struct ergon_conf conf;
	struct ergon_spec spec;
	bool asked;               /* the user wants energy */
	char reason[512];         /* why there is no energy; "" */
	char note[512];           /* what else the user should know; "" */
	struct ergon_rate rate;

	struct ergon_identity id;
	struct ergon_record record;
	struct ergon_machine machine;
	struct ergon_sysroot *sysroot;
	struct ergon_topo *topo;
	struct ergon_meter *meter;
	struct ergon_crosscheck *crosscheck; /* NULL: there is no second mechanism */
	struct ergon_checkpoint *checkpoint;
	struct ergon_rundir *rundir;
	struct ergon_account *account;
	int64_t children_ns;      /* CPU time of reaped children at the start */
	int exit_status;
	char line[ERGON_RECORD_MAX];
} remote;

/* Warnings do not reach the user and are no errors in slurmd's log. */
static void to_slurm(enum ergon_log_level level, const char *line)
{
	if (level == ERGON_LOG_ERROR)
		slurm_error("ergon: %s", line);
	else if (level == ERGON_LOG_WARNING)
		slurm_info("ergon: %s", line);
	else
		slurm_debug("ergon: %s", line);
}

/* Keep the first text that says why something is missing; it goes to the log, too. */
__attribute__((format(printf, 2, 3)))
static void complain(char *kept, const char *fmt, ...)
{
	char text[sizeof(remote.reason)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ergon_log(ERGON_LOG_WARNING, ERGON_LOG_SPANK, "%s", text);
	if (!*kept)
		memcpy(kept, text, sizeof(text));
}

void ergon_remote_option(const char *text)
{
	remote.given = true;
	/* Cut values are too long to be valid, and refused later. */
	snprintf(remote.text, sizeof(remote.text), "%s", text ? text : "");
}

/* --- what was asked for --- */

/* True when this step is to be measured. */
static bool decide(spank_t sp)
{
	const bool site = strcmp(remote.conf.default_energy, "off") != 0;
	struct ergon_error err;

	if (!remote.given)
		remote.given = spank_getenv(sp, INHERITED_OPTION, remote.text,
					    sizeof(remote.text)) == ESPANK_SUCCESS;
	ergon_spec_parse("auto", &remote.spec, NULL);
	if (!remote.given)
		return site;
	if (ergon_spec_parse(remote.text, &remote.spec, &err) < 0) {
		/* Only a hand-made environment gets here; it does not switch the site's off. */
		remote.asked = true;
		complain(remote.note, "%s", err.text);
		return site;
	}
	if (strcmp(remote.spec.mech, "off") != 0) {
		remote.asked = true;
		return true;
	}
	if (!site || remote.conf.allow_off)
		return false;
	ergon_spec_parse("auto", &remote.spec, NULL);
	return true;
}

/* --- starting --- */

static void open_meter(void)
{
	const struct ergon_conf *conf = &remote.conf;
	bool any = strcmp(remote.spec.mech, "auto") == 0;
	struct ergon_error err;

	remote.machine = (struct ergon_machine){
		.sysroot = remote.sysroot,
		.topo = remote.topo,
		.model_idle_watts = conf->model_idle_watts,
		.model_max_watts = conf->model_max_watts,
		.hz = remote.rate.hz,
	};
	memcpy(remote.machine.max_watts, conf->max_watts, sizeof(conf->max_watts));
	remote.meter = ergon_meter_open(&remote.machine, any ? conf->mechanism : remote.spec.mech,
					any && conf->allow_model, &err);
	if (remote.meter)
		remote.crosscheck = ergon_crosscheck_open(&remote.machine, remote.meter, NULL, &err);
	else
		complain(remote.reason, "%s", err.text);
}

static void open_machine(void)
{
	char cache[PATH_MAX + 16];
	struct ergon_error err;

	remote.sysroot = ergon_sysroot_open(remote.conf.sysroot, &err);
	if (!remote.sysroot) {
		complain(remote.reason, "%s", err.text);
		return;
	}
	snprintf(cache, sizeof(cache), "%s/topology", remote.conf.run_dir);
	remote.topo = ergon_topo_load_cached(remote.sysroot, cache, &err);
	if (!remote.topo)
		complain(remote.reason, "%s", err.text);
}

/* <job>.<step>.<nodeid>, with our pid when that is taken. */
static const char *step_name(bool taken)
{
	static char name[112];
	int len = snprintf(name, sizeof(name), "%" PRId64 ".%" PRId64 ".%" PRIu32,
			   remote.record.job, remote.record.step, remote.id.nodeid);

	if (taken)
		snprintf(name + len, sizeof(name) - (size_t)len, ".%d", (int)getpid());
	return name;
}

/* Accounts of steps that died here are finished, ours is begun. */
static void open_spool(void)
{
	struct ergon_error err;
	char name[224];

	if (ergon_privdir_ensure(remote.conf.spool_dir, &err) < 0) {
		ergon_log(ERGON_LOG_ERROR, ERGON_LOG_SPANK, "no record can be written: %s", err.text);
		return;
	}
	if (ergon_checkpoint_sweep(remote.conf.spool_dir, remote.id.host, &err) < 0)
		ergon_log(ERGON_LOG_WARNING, ERGON_LOG_SPANK, "%s", err.text);
	/* Components of a het step on one node agree in all but their process. */
	for (int i = 0; i < 2 && !remote.checkpoint; i++) {
		snprintf(name, sizeof(name), "%s.%s.ckpt", remote.id.host, step_name(i > 0));
		remote.checkpoint = ergon_checkpoint_open(remote.conf.spool_dir, name, &err);
		if (!remote.checkpoint && errno != EBUSY)
			break;
	}
	if (!remote.checkpoint)
		ergon_log(ERGON_LOG_WARNING, ERGON_LOG_SPANK, "no checkpoints: %s", err.text);
}

static double board_hz(void)
{
	double limit = remote.id.whole ? remote.conf.user_rate_hz : remote.conf.user_rate_shared_hz;

	return remote.rate.hz / (double)ergon_account_decimation(remote.rate.hz, limit);
}

/* Where ranks read energy. Without it they report times all the same. */
static void open_rundir(void)
{
	struct ergon_board_info info = {
		.hz = board_hz(), .adapts = remote.rate.adapt, .node_share = 1,
	};
	struct ergon_board_cpu *cpus;
	struct ergon_error err;

	if (!remote.id.whole && remote.record.node_cpus > 0)
		info.node_share = (double)remote.record.cpus / (double)remote.record.node_cpus;
	snprintf(info.host, sizeof(info.host), "%s", remote.record.node);
	snprintf(info.reason, sizeof(info.reason), "%.255s", remote.reason);
	cpus = ergon_board_describe(remote.meter, remote.topo, &info);
	if (!cpus)
		return;
	ergon_rundir_sweep(remote.conf.run_dir);
	for (int i = 0; i < 2 && !remote.rundir; i++) {
		remote.rundir = ergon_rundir_create(remote.conf.run_dir, step_name(i > 0),
						    remote.id.uid, remote.id.gid, &info, cpus,
						    BOARD_RING, &err);
		if (!remote.rundir && errno != EBUSY)
			break;
	}
	if (!remote.rundir)
		complain(remote.note, "--energy: ranks cannot see energy: %s", err.text);
	free(cpus);
}

static int64_t children_cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_CHILDREN, &u) < 0)
		return -1;
	return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void start_account(void)
{
	struct ergon_account_setup setup = {
		.identity = &remote.record,
		.meter = remote.meter,
		.crosscheck = remote.crosscheck,
		.rate = remote.rate,
		.sensor_hz = remote.conf.sensor_hz,
		.curve_points = remote.conf.curve_points,
		.whole = remote.id.whole,
		.idle_w = ergon_idle_watts(remote.conf.idle_watts, remote.record.node),
		.sysroot = remote.sysroot,
		.checkpoint = remote.checkpoint,
		.checkpoint_s = remote.conf.checkpoint_s,
		.board = remote.rundir ? ergon_rundir_board(remote.rundir) : NULL,
		.board_hz = board_hz(),
	};

	if (!remote.meter)
		snprintf(remote.record.reason, sizeof(remote.record.reason), "%.255s",
			 remote.reason);
	remote.children_ns = children_cpu_ns();
	remote.account = ergon_account_start(&setup);
}

void ergon_remote_start(spank_t sp, const char *conf_file)
{
	struct ergon_error err;

	if (remote.stage != BEFORE)
		return;
	remote.stage = OVER;
	ergon_log_set_sink(to_slurm);
	if (ergon_conf_load(&remote.conf, conf_file, &err) < 0) {
		ergon_log(ERGON_LOG_ERROR, ERGON_LOG_SPANK, "energy is not accounted: %s", err.text);
		remote.asked = remote.given;
		complain(remote.reason, "%s", err.text);
		return;
	}
	if (!decide(sp))
		return;
	ergon_record_init(&remote.record);
	if (ergon_privdir_ensure(remote.conf.run_dir, &err) < 0)
		ergon_log(ERGON_LOG_WARNING, ERGON_LOG_SPANK, "%s", err.text);
	open_machine();
	ergon_identity_get(sp, remote.topo, &remote.id, &remote.record);
	ergon_identity_node(sp, &remote.id, &remote.record);
	remote.rate = remote.spec.freq.hz > 0 ? remote.spec.freq : remote.conf.freq;
	if (remote.spec.mpi && remote.spec.freq.hz <= 0)
		remote.rate.hz = MPI_HZ;
	if (remote.topo && !*remote.reason)
		open_meter();
	open_spool();
	if (remote.spec.mpi && remote.id.regular && remote.topo)
		open_rundir();
	start_account();
	remote.stage = MEASURING;
}

/* --- the tasks --- */

/* Our library before the user's own: a list joined by ':'. */
static void set_preload(spank_t sp)
{
	const char *library = remote.conf.mpi_library;
	size_t head = strlen(library) + 1, size = 4096;
	char *value = NULL;
	spank_err_t rc;

	if (faccessat(AT_FDCWD, library, R_OK, AT_EACCESS) < 0) {
		complain(remote.note, "--energy: MPI calls are not seen: %s: %s", library, strerror(errno));
		return;
	}
	do {
		char *bigger = realloc(value, head + size);

		if (!bigger)
			break;
		value = bigger;
		rc = spank_getenv(sp, "LD_PRELOAD", value + head, (int)size);
		size *= 4;
	} while (rc == ESPANK_NOSPACE && size <= PRELOAD_MAX);
	if (!value || rc == ESPANK_NOSPACE) {
		complain(remote.note, "--energy: MPI calls are not seen: LD_PRELOAD is too long");
		free(value);
		return;
	}
	memcpy(value, library, head - 1);
	value[head - 1] = rc == ESPANK_SUCCESS && value[head] ? ':' : '\0';
	spank_setenv(sp, "LD_PRELOAD", value, 1);
	free(value);
}

static void set_ranks_env(spank_t sp)
{
	char rate[32];

	set_preload(sp);
	if (remote.rundir)
		spank_setenv(sp, ergon_env_name(ERGON_ENV_BOARD),
			     ergon_rundir_board_path(remote.rundir), 1);
	ergon_rate_format(&remote.rate, rate, sizeof(rate));
	spank_setenv(sp, ergon_env_name(ERGON_ENV_FREQ), rate, 1);
	if (*remote.spec.share)
		spank_setenv(sp, ergon_env_name(ERGON_ENV_SHARE), remote.spec.share, 1);
	if (*remote.spec.out)
		spank_setenv(sp, ergon_env_name(ERGON_ENV_OUTPUT_DIR), remote.spec.out, 1);
}

void ergon_remote_user_init(spank_t sp)
{
	if (remote.told)
		return;
	remote.told = true;
	if (remote.stage == MEASURING && remote.spec.mpi && remote.id.regular)
		set_ranks_env(sp);
	if (!remote.asked || remote.id.nodeid != 0)
		return;
	if (*remote.reason)
		slurm_spank_log("--energy: not measured: %s", remote.reason);
	else if (*remote.note)
		slurm_spank_log("%s", remote.note);
}

void ergon_remote_task_exit(spank_t sp)
{
	int status;

	if (remote.stage == MEASURING &&
	    spank_get_item(sp, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS &&
	    status > remote.exit_status)
		remote.exit_status = status;
}

/* --- finishing --- */

static int journal(int len, struct ergon_error *err)
{
	struct ergon_journal *j;
	int rc;

	if (len < 0)
		return ergon_error_set(err, "the record does not fit into %d bytes", ERGON_RECORD_MAX);
	j = ergon_journal_open(remote.conf.spool_dir, remote.record.node, err);
	if (!j)
		return -1;
	rc = ergon_journal_append(j, remote.line, (size_t)len, err);
	ergon_journal_close(j);
	return rc;
}

static void write_record(void)
{
	int len = ergon_record_format(&remote.record, remote.line, sizeof(remote.line));
	struct ergon_error err;
	bool kept = false;

	if (journal(len, &err) < 0) {
		/* The checkpoint keeps the finished record until somebody can journal it. */
		kept = len > 0 && remote.checkpoint &&
		       ergon_checkpoint_write(remote.checkpoint, remote.line, (size_t)len) == 0;
		ergon_log(kept ? ERGON_LOG_WARNING : ERGON_LOG_ERROR, ERGON_LOG_SPANK,
			  "record %s: %s", kept ? "stays in its checkpoint" : "is lost", err.text);
	}
	ergon_checkpoint_close(remote.checkpoint, !kept);
	remote.checkpoint = NULL;
}

void ergon_remote_finish(spank_t sp)
{
	struct ergon_record *r = &remote.record;
	int64_t children = children_cpu_ns();

	if (remote.stage != MEASURING)
		return;
	remote.stage = OVER;
	ergon_identity_node(sp, &remote.id, r);
	if (remote.account) {
		/* The extern step reaps no task: what the job used is not known here. */
		bool known = r->step != ERGON_STEP_EXTERN && children >= 0 && remote.children_ns >= 0;

		ergon_account_finish(remote.account, known ? children - remote.children_ns : -1, r);
		r->state = ERGON_STATE_COMPLETE;
		r->exit_code = r->step == ERGON_STEP_EXTERN ? ERGON_NONE : remote.exit_status;
		write_record();
	}
	ergon_rundir_remove(remote.rundir);
	ergon_account_free(remote.account);
	ergon_crosscheck_close(remote.crosscheck);
	ergon_meter_close(remote.meter);
	ergon_topo_free(remote.topo);
	ergon_sysroot_close(remote.sysroot);
	ergon_log_set_sink(NULL);
}
