/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host for the plugin without Slurm: exports what slurmstepd exports,
 * loads the built plugin and drives its callbacks. A scenario is a child
 * process, as a slurmstepd is; the parent looks at what it left on disk.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <slurm/spank.h>

#include "board.h"
#include "clock.h"
#include "journal.h"
#include "livepath.h"

#define EXPORT __attribute__((visibility("default")))
#define NO_VAL 0xfffffffeu
#define NOBODY 65534

/* --- what slurmstepd, srun and sbatch offer to a plugin --- */

struct variable {
	char *name, *value;
};

static struct host {
	spank_context_t context;
	uint32_t job, step, nodeid;
	uid_t uid;
	uint16_t cpus;
	const char *cores;
	int task_status;          /* -1: not in a task's callback */
	struct variable env[64];
	struct spank_option option;
	int registered;
	int user_lines, errors;
	char user_line[1024];
	char last_log[1024];
} host;

EXPORT spank_context_t spank_context(void)
{
	return host.context;
}

EXPORT spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
	(void)sp;
	host.option = *opt;
	host.registered++;
	return ESPANK_SUCCESS;
}

static uint32_t item_u32(spank_item_t item)
{
	switch (item) {
	case S_JOB_ID: return host.job;
	case S_JOB_STEPID: return host.step;
	case S_JOB_NODEID: return host.nodeid;
	case S_JOB_NNODES: return 2;
	case S_JOB_LOCAL_TASK_COUNT: return 1;
	case S_JOB_TOTAL_TASK_COUNT: return 2;
	case S_SLURM_RESTART_COUNT: return 3;
	case S_JOB_ARRAY_TASK_ID: return NO_VAL;
	default: return 0;
	}
}

EXPORT spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	spank_err_t rc = ESPANK_SUCCESS;
	va_list ap;

	(void)sp;
	va_start(ap, item);
	switch (item) {
	case S_JOB_UID:
		*va_arg(ap, uid_t *) = host.uid;
		break;
	case S_JOB_GID:
		*va_arg(ap, gid_t *) = host.uid ? NOBODY : 0;
		break;
	case S_JOB_NCPUS:
		*va_arg(ap, uint16_t *) = host.cpus;
		break;
	case S_JOB_ALLOC_CORES:
		*va_arg(ap, const char **) = host.cores;
		break;
	case S_TASK_EXIT_STATUS:
		if (host.task_status < 0)
			rc = ESPANK_NOT_TASK;
		else
			*va_arg(ap, int *) = host.task_status;
		break;
	default:
		*va_arg(ap, uint32_t *) = item_u32(item);
	}
	va_end(ap);
	return rc;
}

/* Clocks that a scenario may step; the plugin binds to this. */
static int64_t realtime_shift_s, boottime_shift_s;

EXPORT int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	if (rc == 0 && id == CLOCK_REALTIME)
		ts->tv_sec += realtime_shift_s;
	if (rc == 0 && id == CLOCK_BOOTTIME)
		ts->tv_sec += boottime_shift_s;
	return rc;
}

static struct variable *find(const char *name)
{
	for (size_t i = 0; i < 64 && host.env[i].name; i++)
		if (strcmp(host.env[i].name, name) == 0)
			return &host.env[i];
	return NULL;
}

EXPORT spank_err_t spank_getenv(spank_t sp, const char *var, char *buf, int len)
{
	const struct variable *v = find(var);

	(void)sp;
	if (len < 0)
		return ESPANK_BAD_ARG;
	if (!v)
		return ESPANK_ENV_NOEXIST;
	snprintf(buf, (size_t)len, "%s", v->value);
	return strlen(v->value) >= (size_t)len ? ESPANK_NOSPACE : ESPANK_SUCCESS;
}

EXPORT spank_err_t spank_setenv(spank_t sp, const char *var, const char *val, int overwrite)
{
	struct variable *v = find(var);

	(void)sp;
	if (v && !overwrite)
		return ESPANK_ENV_EXISTS;
	if (!v)
		for (v = host.env; v->name; v++)
			;
	if (!v->name)
		v->name = strdup(var);
	free(v->value);
	v->value = strdup(val);
	return ESPANK_SUCCESS;
}

#define LOGGER(name, action) \
	EXPORT void name(const char *format, ...) \
	{ \
		va_list ap; \
		va_start(ap, format); \
		vsnprintf(host.last_log, sizeof(host.last_log), format, ap); \
		va_end(ap); \
		action; \
	}

LOGGER(slurm_info, (void)0)
LOGGER(slurm_debug, (void)0)
LOGGER(slurm_error, host.errors++)
LOGGER(slurm_spank_log, (host.user_lines++, strcpy(host.user_line, host.last_log)))

/* --- driving it --- */

static char dir[64];              /* of this test */
static char so[4096];

#define CHECK(x) do { \
	if (!(x)) { \
		fprintf(stderr, "%s:%d: %s (last log: %s; to the user: %s)\n", __FILE__, __LINE__, \
			#x, host.last_log, host.user_line); \
		_exit(1); \
	} \
} while (0)

enum call { INIT, INIT_POST_OPT, USER_INIT, TASK_EXIT, EXIT, NCALLS };

static const char *const call_names[NCALLS] = {
	"slurm_spank_init", "slurm_spank_init_post_opt", "slurm_spank_user_init",
	"slurm_spank_task_exit", "slurm_spank_exit",
};

static spank_f *calls[NCALLS];
static char conf_arg[160];

static void load(void)
{
	void *handle = dlopen(so, RTLD_LAZY);

	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(handle);
	for (int i = 0; i < NCALLS; i++) {
		calls[i] = (spank_f *)(uintptr_t)dlsym(handle, call_names[i]);
		CHECK(calls[i]);
	}
	CHECK(!dlsym(handle, "ergon_remote_start"));
	CHECK(!dlsym(handle, "spank_options"));
	CHECK(!dlsym(handle, "init") && !dlsym(handle, "fini"));
	CHECK(strcmp((const char *)dlsym(handle, "plugin_name"), "spank_ergon") == 0);
}

static void call(enum call c)
{
	char *argv[] = { conf_arg, NULL };

	CHECK(calls[c](NULL, 1, argv) == 0);
}

static void forget_env(void)
{
	for (size_t i = 0; i < 64; i++) {
		free(host.env[i].name);
		free(host.env[i].value);
	}
	memset(host.env, 0, sizeof(host.env));
}

static void setenv_host(const char *name, const char *value)
{
	spank_setenv(NULL, name, value, 1);
}

/* A stepd of a regular step of job 7 on the first of two nodes. */
static void be_stepd(void)
{
	memset(&host, 0, sizeof(host));
	host.context = S_CTX_REMOTE;
	host.job = 7;
	host.step = 1;
	host.uid = geteuid() == 0 ? NOBODY : geteuid();
	host.cpus = 1024;
	host.cores = "0-511";
	host.task_status = -1;
	setenv_host("SLURM_JOB_NAME", "a \"name\"\n");
	setenv_host("SLURM_CLUSTER_NAME", "c1");
}

static int open_fds(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/fd");

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Threads of ours, by name (a sanitizer may have one of its own). */
static int threads(void)
{
	const struct dirent *e;
	int n = 0;
	DIR *d = opendir("/proc/self/task");

	while ((e = readdir(d))) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f))
			n += strncmp(name, "ergon-", 6) == 0;
		if (f)
			fclose(f);
	}
	closedir(d);
	return n;
}

static void pause_ms(int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* fork, use some CPU, exit: as a task does. */
static void run_task(int ms, int code)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		uint64_t start = ergon_clock_thread_cpu_ns();

		while (ergon_clock_thread_cpu_ns() - start < (uint64_t)ms * 1000000)
			;
		_exit(code);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	host.task_status = status;
	call(TASK_EXIT);
	host.task_status = -1;
}

static void drop(void)
{
	if (geteuid() == 0)
		CHECK(setegid(NOBODY) == 0 && seteuid(NOBODY) == 0);
}

static void reclaim(void)
{
	if (getuid() == 0)
		CHECK(seteuid(0) == 0 && setegid(0) == 0);
}

static void option(const char *text)
{
	CHECK(host.option.cb);
	CHECK(host.option.cb(host.option.val, text, 1) == 0);
}

/* The whole life of a step; nothing of it may be left in the process. */
static void whole_step(const char *text)
{
	int fds;
	sigset_t before, after;

	load();
	fds = open_fds();
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	call(INIT);
	if (text)
		option(text);
	call(INIT_POST_OPT);
	drop();
	call(USER_INIT);
	pause_ms(20);
	reclaim();
	run_task(60, 3);
	run_task(0, 0);
	call(EXIT);
	CHECK(open_fds() == fds);
	CHECK(threads() == 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
	CHECK(host.errors == 0);
}

/* --- the parent's side --- */

static void write_conf(const char *more)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/ergon.conf", dir);
	snprintf(conf_arg, sizeof(conf_arg), "conf=%s", path);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "RunDir = %s/run\nSpoolDir = %s/spool\n%s", dir, dir, more);
	fclose(f);
}

static void in_child(void (*scenario)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		be_stepd();
		scenario();
		forget_env();
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int entries(const char *sub, const char *suffix)
{
	char path[128];
	const struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%s", dir, sub);
	d = opendir(path);
	if (!d)
		return -1;
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name), slen = strlen(suffix);

		n += e->d_name[0] != '.' && len >= slen &&
		     strcmp(e->d_name + len - slen, suffix) == 0;
	}
	closedir(d);
	return n;
}

/* The records of node's journal, every line checked; NULL when there is no journal. */
static json_t *records(const char *node)
{
	char path[160], *line = NULL;
	size_t size = 0;
	ssize_t len;
	json_t *all = json_array();
	FILE *f;

	snprintf(path, sizeof(path), "%s/spool/%s.journal", dir, node);
	f = fopen(path, "r");
	if (!f) {
		json_decref(all);
		return NULL;
	}
	while ((len = getline(&line, &size, f)) > 0) {
		const char *why;
		ssize_t n = ergon_journal_check(line, (size_t)len - 1, &why);
		json_t *json;

		assert_true(n > 0);
		json = json_loadb(line, (size_t)n, 0, NULL);
		assert_non_null(json);
		json_array_append_new(all, json);
	}
	free(line);
	fclose(f);
	return all;
}

static const char *host_name(void)
{
	static char name[64];

	assert_int_equal(gethostname(name, sizeof(name) - 1), 0);
	name[strcspn(name, ".")] = '\0';
	return name;
}

/* The one record this test must have written. */
static json_t *the_record(void)
{
	json_t *all = records(host_name()), *one;

	assert_non_null(all);
	assert_int_equal(json_array_size(all), 1);
	one = json_incref(json_array_get(all, 0));
	json_decref(all);
	assert_int_equal(entries("spool", ".ckpt"), 0);
	return one;
}

static long long number(const json_t *r, const char *name)
{
	const json_t *v = json_object_get(r, name);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

static bool flagged(const json_t *r, const char *flag)
{
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(r, "flags"), i, v)
		if (strcmp(json_string_value(v), flag) == 0)
			return true;
	return false;
}

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/ergon-spank.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	chmod(dir, 0755);
	write_conf("");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

/* --- scenarios --- */

static void normal_step(void)
{
	whole_step("model");
	CHECK(host.registered == 1);
	CHECK(host.user_lines == 0);
	/* The tasks' environment is as it was. */
	CHECK(!find("LD_PRELOAD") && !find("ERGON_BOARD") && !find("ERGON_FREQ"));
}

static void a_step_leaves_one_complete_record(void **state)
{
	json_t *r;

	(void)state;
	in_child(normal_step);
	r = the_record();
	assert_int_equal(number(r, "v"), 1);
	assert_string_equal(json_string_value(json_object_get(r, "state")), "complete");
	assert_string_equal(json_string_value(json_object_get(r, "node")), host_name());
	assert_string_equal(json_string_value(json_object_get(r, "job_name")), "a \"name\"\n");
	assert_int_equal(number(r, "job"), 7);
	assert_int_equal(number(r, "step"), 1);
	assert_int_equal(number(r, "restart"), 3);
	assert_int_equal(number(r, "exit_code"), 3 << 8);
	assert_true(number(r, "cpu_ns") >= 55000000);
	assert_true(number(r, "end_ns") - number(r, "start_ns") >= 80000000);
	assert_true(number(r, "node_uj") > 0);
	assert_int_equal(number(r, "job_uj"), number(r, "node_uj"));
	assert_int_equal(number(r, "model"), 1);
	assert_true(flagged(r, "estimated"));
	assert_false(flagged(r, "shared"));
	assert_int_equal(entries("run", ""), 1);  /* the topology */
	json_decref(r);
}

static void options_before_init(void)
{
	/* Slurm's man page has it this way round: the option is known only after init. */
	load();
	call(INIT);
	option("off");
	option("model,freq=50");
	option("model,freq=50");
	call(INIT_POST_OPT);
	call(EXIT);
	/* Late and doubled calls find nothing to do. */
	call(USER_INIT);
	call(TASK_EXIT);
	call(EXIT);
}

static void the_last_option_counts_and_order_does_not_matter(void **state)
{
	json_t *r;

	(void)state;
	in_child(options_before_init);
	r = the_record();
	assert_int_equal(number(r, "freq_hz"), 50);
	json_decref(r);
}

static void listed_twice(void)
{
	load();
	for (int c = INIT; c < NCALLS; c++) {
		if (c == INIT_POST_OPT)
			option("model");
		call(c);
		call(c);
	}
	CHECK(host.registered == 1);
	CHECK(threads() == 0);
}

static void a_plugin_listed_twice_counts_once(void **state)
{
	(void)state;
	in_child(listed_twice);
	json_decref(the_record());
}

static void step_by_default(void)
{
	whole_step(NULL);
}

static void without_option_the_site_decides(void **state)
{
	(void)state;
	in_child(step_by_default);
	assert_int_equal(entries("spool", ""), -1);
	write_conf("Default = auto\nAllowModel = yes\n");
	in_child(step_by_default);
	json_decref(the_record());
}

static void step_off(void)
{
	whole_step("off");
	CHECK(host.user_lines == 0);
}

static void off_is_the_users_right_unless_the_site_says_no(void **state)
{
	(void)state;
	write_conf("Default = auto\nAllowModel = yes\n");
	in_child(step_off);
	assert_int_equal(entries("spool", ""), -1);
	write_conf("Default = auto\nAllowModel = yes\nAllowOff = no\n");
	in_child(step_off);
	json_decref(the_record());
}

static void inherited_option(void)
{
	setenv_host("SLURM_SPANK__SLURM_SPANK_OPTION_spank_ergon_energy", "model");
	whole_step(NULL);
}

static void a_lost_option_is_found_in_the_environment(void **state)
{
	(void)state;
	in_child(inherited_option);
	json_decref(the_record());
}

static void hostile_option(void)
{
	setenv_host("SLURM_SPANK__SLURM_SPANK_OPTION_spank_ergon_energy", "%s%n/../x");
	whole_step(NULL);
	CHECK(host.user_lines == 1);
	CHECK(strstr(host.user_line, "unknown mechanism '%s%n/../x'"));
}

static void a_bad_option_in_the_environment_switches_nothing_off(void **state)
{
	(void)state;
	in_child(hostile_option);
	assert_int_equal(entries("spool", ""), -1);
	write_conf("Default = auto\nAllowModel = yes\n");
	in_child(hostile_option);
	json_decref(the_record());
}

static void first_node_without_energy(void)
{
	whole_step("powercap");
	CHECK(host.user_lines == 1);
	CHECK(strncmp(host.user_line, "--energy: not measured: ", 24) == 0);
	CHECK(!strchr(host.user_line, '\n'));
}

static void second_node_without_energy(void)
{
	host.nodeid = 1;
	whole_step("powercap");
	CHECK(host.user_lines == 0);
}

static void nobody_asked_for_energy(void)
{
	whole_step(NULL);
	CHECK(host.user_lines == 0);
}

static void without_a_mechanism_the_record_says_why(void **state)
{
	char more[256];
	json_t *all, *r;
	size_t i;

	(void)state;
	snprintf(more, sizeof(more), "%s/empty", dir);
	assert_int_equal(mkdir(more, 0755), 0);
	snprintf(more, sizeof(more), "SysRoot = %s/empty\nMechanism = powercap\nDefault = auto\n", dir);
	write_conf(more);
	in_child(first_node_without_energy);
	in_child(second_node_without_energy);
	in_child(nobody_asked_for_energy);
	all = records(host_name());
	assert_int_equal(json_array_size(all), 3);
	json_array_foreach(all, i, r) {
		assert_true(json_is_null(json_object_get(r, "node_uj")));
		assert_true(json_is_null(json_object_get(r, "mechanism")));
		assert_true(json_is_string(json_object_get(r, "reason")));
		assert_true(flagged(r, "noenergy"));
		assert_true(number(r, "cpu_ns") > 0);
		assert_true(number(r, "end_ns") > number(r, "start_ns"));
	}
	json_decref(all);
}

static void half_a_second(void)
{
	load();
	call(INIT);
	option("auto");
	call(INIT_POST_OPT);
	/* While the sensors are being opened, as slurmstepd does. */
	drop();
	call(USER_INIT);
	pause_ms(500);
	reclaim();
	call(EXIT);
	CHECK(threads() == 0);
}

/* A step of a node whose GPU library takes `init_ms` to start; how long ours kept it. */
static void step_with_gpus(unsigned init_ms, uint64_t *start_ns, uint64_t *end_ns)
{
	const char *build = getenv("top_builddir");
	char path[160];
	uint64_t t;
	FILE *f;

	snprintf(path, sizeof(path), "%s/gpus", dir);
	setenv("ERGON_TEST_GPUS", path, 1);
	f = fopen(path, "w");
	CHECK(f);
	fprintf(f, "init 0 %u\ngpu 0000:1b:00.0 0 0 9000000 3 0\n", init_ms);
	fclose(f);
	/* The loader finds a library by its name once it is there. */
	snprintf(path, sizeof(path), "%s/tests/stub/.libs/libnvidia-ml.so.1", build ? build : ".");
	CHECK(dlopen(path, RTLD_NOW | RTLD_LOCAL));
	load();
	call(INIT);
	option("nvml");
	t = ergon_clock_ns();
	call(INIT_POST_OPT);
	*start_ns = ergon_clock_ns() - t;
	drop();
	call(USER_INIT);
	pause_ms(300);
	reclaim();
	run_task(0, 3);
	t = ergon_clock_ns();
	call(EXIT);
	*end_ns = ergon_clock_ns() - t;
	CHECK(host.errors == 0);
}

/* 3 s are much more than a busy machine needs, and much less than the library takes. */
static void hanging_library(void)
{
	uint64_t start_ns, end_ns;

	step_with_gpus(20000, &start_ns, &end_ns);
	CHECK(start_ns < 3000000000u);
	CHECK(end_ns < 3000000000u);
}

static void late_library(void)
{
	uint64_t start_ns, end_ns;
	int fds = open_fds();

	step_with_gpus(1500, &start_ns, &end_ns);
	CHECK(threads() == 1);
	for (int i = 0; i < 500 && threads() > 0; i++)
		pause_ms(20);
	CHECK(threads() == 0);
	CHECK(open_fds() == fds);
}

/* A vendor's library that hangs holds up neither the step nor the end of its process. */
static void a_library_that_hangs_costs_no_job(void **state)
{
	uint64_t start = ergon_clock_ns();
	char text[512];
	json_t *r;

	(void)state;
	snprintf(text, sizeof(text), "SysRoot = %s/tests/sysroots/dgx-h100\n",
		 getenv("top_srcdir") ? getenv("top_srcdir") : ".");
	write_conf(text);
	in_child(hanging_library);
	assert_true(ergon_clock_ns() - start < 10000000000u);
	r = the_record();
	assert_string_equal(json_string_value(json_object_get(r, "mechanism")), "nvml");
	assert_int_equal(number(r, "exit_code"), 3 << 8);
	assert_true(flagged(r, "gap"));
	assert_true(flagged(r, "noenergy")); /* which is not 0 J */
	assert_true(json_is_null(json_object_get(r, "node_uj")));
	assert_true(json_is_null(json_object_get(r, "job_uj")));
	assert_true(json_is_null(json_object_get(r, "scope")));
	assert_string_equal(json_string_value(json_object_get(r, "reason")), "no source has answered");
	json_decref(r);
}

/* One that is late ends its thread by itself, and leaves nothing open. */
static void a_library_that_is_late_leaves_nothing(void **state)
{
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "SysRoot = %s/tests/sysroots/dgx-h100\n",
		 getenv("top_srcdir") ? getenv("top_srcdir") : ".");
	write_conf(text);
	in_child(late_library);
	json_decref(the_record());
}

/* Integers; the file only root may read is read although the process lowers its uid. */
static void the_record_tells_clock_rate_and_temperature(void **state)
{
	char text[1024];
	json_t *r;

	(void)state;
	snprintf(text, sizeof(text), "set -e; cd %s; mkdir -p root/sys/devices/system/cpu/cpufreq/policy0 "
		 "root/sys/class/hwmon/hwmon3; cd root/sys/devices/system/cpu/cpufreq/policy0; "
		 "echo 0 1 > affected_cpus; echo 2499700 > cpuinfo_cur_freq; echo 800000 > scaling_cur_freq; "
		 "chmod 0400 cpuinfo_cur_freq; cd ../../../../../class/hwmon/hwmon3; echo coretemp > name; "
		 "echo Package id 0 > temp1_label; echo 61600 > temp1_input", dir);
	assert_int_equal(system(text), 0);
	snprintf(text, sizeof(text), "SysRoot = %s/root\nMechanism = powercap\n", dir);
	write_conf(text);
	in_child(half_a_second);
	r = the_record();
	assert_int_equal(number(r, "freq_mhz"), 2500);
	assert_int_equal(number(r, "temp_c"), 62);
	assert_true(flagged(r, "noenergy"));
	json_decref(r);
	snprintf(text, sizeof(text), "rm %s/spool/*.journal", dir);
	assert_int_equal(system(text), 0);
	snprintf(text, sizeof(text), "SysRoot = %s/root\nMechanism = powercap\nSensorFreq = 0\n", dir);
	write_conf(text);
	in_child(half_a_second);
	r = the_record();
	assert_true(json_is_null(json_object_get(r, "freq_mhz")));
	assert_true(json_is_null(json_object_get(r, "temp_c")));
	json_decref(r);
}

static void step_without_a_machine(void)
{
	whole_step("auto");
	CHECK(strstr(host.user_line, "/none: No such file"));
}

static void a_system_root_that_is_not_there_costs_no_job(void **state)
{
	char more[256];
	json_t *r;

	(void)state;
	snprintf(more, sizeof(more), "SysRoot = %s/none\n", dir);
	write_conf(more);
	in_child(step_without_a_machine);
	r = the_record();
	assert_true(json_is_null(json_object_get(r, "node_uj")));
	assert_true(json_is_null(json_object_get(r, "freq_mhz")));
	json_decref(r);
}

static void special_step(void)
{
	whole_step("model,mpi");
	CHECK(!find("LD_PRELOAD") && !find("ERGON_BOARD"));
}

static void batch_step(void)
{
	host.step = 0xfffffffb;
	special_step();
}

static void interactive_step(void)
{
	host.step = 0xfffffffa;
	special_step();
}

/* The extern step has no options, no environment, no user_init and no tasks. */
static void extern_step(void)
{
	host.step = 0xfffffffc;
	forget_env();
	load();
	call(INIT);
	call(INIT_POST_OPT);
	pause_ms(5);
	call(EXIT);
}

static void special_steps_are_accounted_but_not_preloaded(void **state)
{
	static const int steps[] = { -5, -6, -4 };
	json_t *all, *r;
	size_t i;

	(void)state;
	write_conf("Default = auto\nAllowModel = yes\n");
	in_child(batch_step);
	in_child(interactive_step);
	in_child(extern_step);
	all = records(host_name());
	assert_int_equal(json_array_size(all), 3);
	json_array_foreach(all, i, r)
		assert_int_equal(number(r, "step"), steps[i]);
	r = json_array_get(all, 2);
	assert_true(json_is_null(json_object_get(r, "cpu_ns")));
	assert_true(json_is_null(json_object_get(r, "exit_code")));
	assert_true(json_is_null(json_object_get(r, "cluster")));
	json_decref(all);
}

static void unspoolable(void)
{
	load();
	call(INIT);
	option("model");
	call(INIT_POST_OPT);
	CHECK(host.errors == 1);
	call(USER_INIT);
	run_task(0, 0);
	call(EXIT);
	CHECK(host.user_lines == 0);
	CHECK(threads() == 0);
}

static void a_useless_spool_directory_costs_no_job(void **state)
{
	char more[256];

	(void)state;
	snprintf(more, sizeof(more), "SpoolDir = %s/ergon.conf/spool\n", dir);
	write_conf(more);
	in_child(unspoolable);
	/* One that others can write is not used either. */
	snprintf(more, sizeof(more), "%s/open", dir);
	assert_int_equal(mkdir(more, 0777), 0);
	assert_int_equal(chmod(more, 0777), 0);
	snprintf(more, sizeof(more), "SpoolDir = %s/open\n", dir);
	write_conf(more);
	in_child(unspoolable);
	assert_int_equal(entries("open", ""), 0);
}

static void misconfigured(void)
{
	load();
	call(INIT);
	option("model");
	call(INIT_POST_OPT);
	CHECK(host.errors == 1);
	call(USER_INIT);
	CHECK(host.user_lines == 1);
	call(EXIT);
}

static void a_bad_configuration_is_one_error_in_the_log(void **state)
{
	(void)state;
	write_conf("Checkpoint = never\n");
	in_child(misconfigured);
	snprintf(conf_arg, sizeof(conf_arg), "conf=%s/none", dir);
	in_child(misconfigured);
	assert_int_equal(entries("spool", ""), -1);
}

static void step_on_part_of_the_node(void)
{
	host.cpus = 1;
	host.cores = "0";
	whole_step("model");
}

static void a_shared_node_closes(void **state)
{
	json_t *r;

	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	write_conf("IdleWatts = 5\n");
	in_child(step_on_part_of_the_node);
	r = the_record();
	assert_true(flagged(r, "shared"));
	assert_true(number(r, "job_uj") <= number(r, "node_uj"));
	assert_int_equal(number(r, "job_uj") + number(r, "other_uj") + number(r, "unallocated_uj"),
			 number(r, "node_uj"));
	assert_true(number(r, "unallocated_uj") > 0);
	json_decref(r);
}

static int64_t to_step_s, to_sleep_s;

static void step_in_which_clocks_step(void)
{
	load();
	call(INIT);
	option("model,freq=100");
	call(INIT_POST_OPT);
	call(USER_INIT);
	pause_ms(200);
	realtime_shift_s = to_step_s;
	boottime_shift_s = to_sleep_s;
	pause_ms(200);
	call(EXIT);
	CHECK(threads() == 0);
}

/* Whatever the clocks do, a record's times are those of the run, and what is counted is power times them. */
static void clocks_may_be_set_and_machines_may_sleep(void **state)
{
	static const struct {
		int64_t step_s, sleep_s;
	} cases[] = { { -3600, 0 }, { 86400, 0 }, { 0, 3600 }, { 3600, 3600 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		long long before = (long long)ergon_clock_real_ns(), elapsed;
		json_t *r;

		to_step_s = cases[i].step_s;
		to_sleep_s = cases[i].sleep_s;
		in_child(step_in_which_clocks_step);
		r = the_record();
		assert_string_equal(json_string_value(json_object_get(r, "state")), "complete");
		assert_in_range(number(r, "start_ns"), before, ergon_clock_real_ns());
		elapsed = number(r, "end_ns") - number(r, "start_ns") - to_sleep_s * 1000000000;
		assert_true(elapsed >= 400000000);
		assert_true(before + elapsed <= (long long)ergon_clock_real_ns());
		assert_true(flagged(r, "gap") == (to_sleep_s > 0));
		assert_false(flagged(r, "reset") || flagged(r, "glitch"));
		assert_true(number(r, "node_uj") > 0);
		/* No second of the suspend is a tick, or on the curve. */
		assert_true(number(r, "samples") + number(r, "missed") <= elapsed / 10000000 + 3);
		assert_true(json_array_size(json_object_get(json_object_get(r, "curve"), "job_mj")) <= 60);
		json_decref(r);
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
	}
}

/* A stepd's own socket gives the name away at once. */
static void on_node_n3(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/n3_7.1-ib_7.1.2", dir);
	CHECK(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	setenv_host("SLURMD_NODENAME", "liar");
	whole_step("model");
}

static void on_node_n4(void)
{
	setenv_host("SLURMD_NODENAME", "n4");
	whole_step("model");
}

static void in_a_bad_place(void)
{
	setenv_host("SLURMD_NODENAME", "../../etc/n5");
	whole_step("model");
}

static void the_nodes_name_is_slurms(void **state)
{
	json_t *all;

	(void)state;
	in_child(on_node_n3);
	in_child(on_node_n4);
	in_child(in_a_bad_place);
	assert_int_equal(entries("spool", ".journal"), 3);
	all = records("n3_7.1-ib");
	assert_int_equal(number(json_array_get(all, 0), "het"), 2);
	json_decref(all);
	json_decref(records("n4"));
	json_decref(records(host_name()));
}

/* As killed ranks would, and a bit worse. */
static void leave_live_directory(const char *board_dir, char *live)
{
	char name[ERGON_LIVE_NAME_MAX], path[sizeof(ERGON_LIVE_PARENT) + ERGON_LIVE_NAME_MAX + 16];

	ergon_live_name(name, geteuid(), board_dir);
	sprintf(live, ERGON_LIVE_PARENT "/%s", name);
	CHECK(mkdir(live, 0700) == 0);
	snprintf(path, sizeof(path), "%s/roster", live);
	CHECK(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
	snprintf(path, sizeof(path), "%s/link", live);
	CHECK(symlink(dir, path) == 0);
	snprintf(path, sizeof(path), "%s/sub", live);
	CHECK(mkdir(path, 0) == 0);
}

static void fast_mpi_step(void)
{
	struct ergon_error err;
	struct ergon_board_sample a, b;
	struct ergon_board *board;
	uint64_t head;

	load();
	call(INIT);
	option("model,mpi,freq=500");
	call(INIT_POST_OPT);
	drop();
	call(USER_INIT);
	board = ergon_board_map(find("ERGON_BOARD")->value, &err);
	CHECK(board);
	CHECK(ergon_board_info(board)->hz == 50);
	pause_ms(500);
	head = ergon_board_head(board);
	CHECK(head >= 10);
	CHECK(ergon_board_read(board, 0, &a) == 0 && ergon_board_read(board, head - 1, &b) == 0);
	/* One sample in each 20 ms, the first at their beginning; not one more. */
	CHECK((head - 1) * 20000000 <= b.t_ns - a.t_ns + 1000000);
	ergon_board_close(board);
	reclaim();
	call(TASK_EXIT);
	call(EXIT);
}

static void a_board_is_no_faster_than_the_site_allows(void **state)
{
	json_t *r;

	(void)state;
	write_conf("UserRate = 50\n");
	in_child(fast_mpi_step);
	r = the_record();
	assert_int_equal(number(r, "freq_hz"), 500);
	assert_true(number(r, "samples") + number(r, "missed") >= 250);
	json_decref(r);
}

static void automatic_mpi_step(void)
{
	struct ergon_error err;
	struct ergon_board *board;

	load();
	call(INIT);
	option("model,mpi");
	call(INIT_POST_OPT);
	drop();
	call(USER_INIT);
	CHECK(strcmp(find("ERGON_FREQ")->value, "auto:100") == 0);
	board = ergon_board_map(find("ERGON_BOARD")->value, &err);
	CHECK(board);
	CHECK(ergon_board_info(board)->hz == 100 && ergon_board_info(board)->adapts);
	pause_ms(50);
	ergon_board_close(board);
	reclaim();
	call(TASK_EXIT);
	call(EXIT);
}

static void an_automatic_rate_is_the_sites_and_the_ranks(void **state)
{
	json_t *r;

	(void)state;
	write_conf("Freq = auto:20\n");
	in_child(automatic_mpi_step);
	r = the_record();
	assert_int_equal(number(r, "freq_hz"), 100);
	assert_true(number(r, "samples") >= 2);
	json_decref(r);
}

static void mpi_step(void)
{
	struct ergon_error err;
	const struct ergon_board_info *info;
	struct ergon_board *board;
	struct stat st;
	char path[256], live[sizeof(ERGON_LIVE_PARENT) + ERGON_LIVE_NAME_MAX], *slash;

	setenv_host("LD_PRELOAD", "/users/own.so");
	load();
	call(INIT);
	option("model,mpi,share=equal,out=some/dir");
	call(INIT_POST_OPT);
	pause_ms(20);
	CHECK(threads() == 2);
	drop();
	call(USER_INIT);
	CHECK(host.user_lines == 0);
	snprintf(path, sizeof(path), "%s/lib.so:/users/own.so", dir);
	CHECK(strcmp(find("LD_PRELOAD")->value, path) == 0);
	CHECK(strcmp(find("ERGON_SHARE")->value, "equal") == 0);
	CHECK(strcmp(find("ERGON_FREQ")->value, "100") == 0);
	CHECK(strcmp(find("ERGON_OUTPUT_DIR")->value, "some/dir") == 0);
	snprintf(path, sizeof(path), "%s", find("ERGON_BOARD")->value);
	/* As the user: to read, not to write. */
	board = ergon_board_map(path, &err);
	CHECK(board);
	info = ergon_board_info(board);
	CHECK(strcmp(info->mechanism, "model") == 0 && info->estimated);
	CHECK(info->nchannels > 0 && info->ncpus > 0 && info->node_share == 1 && info->hz == 100);
	pause_ms(100);
	CHECK(ergon_board_head(board) >= 2);
	if (getuid() == 0)
		CHECK(open(path, O_WRONLY) < 0 && errno == EACCES);
	slash = strrchr(path, '/');
	*slash = '\0';
	CHECK(stat(path, &st) == 0 && st.st_uid == host.uid && (st.st_mode & 07777) == 0500);
	/* The owner can do what he wants in there. */
	CHECK(chmod(path, 0700) == 0);
	strcpy(slash, "/sub");
	CHECK(mkdir(path, 0) == 0);
	strcpy(slash, "/link");
	CHECK(symlink(dir, path) == 0);
	strcpy(slash, "/board");
	CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
	strcpy(slash, "/board/more");
	CHECK(symlink("/etc", path) == 0);
	*slash = '\0';
	leave_live_directory(path, live);
	reclaim();
	call(EXIT);
	CHECK(lstat(live, &st) < 0 && errno == ENOENT);
	CHECK(ergon_board_finished(board));
	ergon_board_close(board);
	CHECK(host.errors == 0);
}

static void ranks_get_a_board_and_nothing_of_it_stays(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/lib.so", dir);
	close(open(path, O_CREAT | O_WRONLY, 0644));
	snprintf(path, sizeof(path), "MpiLibrary = %s/lib.so\n", dir);
	write_conf(path);
	in_child(mpi_step);
	assert_int_equal(entries("run", ""), 1);
	assert_int_equal(entries("", "ergon.conf"), 1);
	json_decref(the_record());
}

static void mpi_with_a_long_preload(void)
{
	char *longer = malloc(100001);

	memset(longer, 'p', 100000);
	longer[100000] = '\0';
	setenv_host("LD_PRELOAD", longer);
	host.cpus = 1;
	host.cores = "0";
	whole_step("model,mpi");
	CHECK(strlen(find("LD_PRELOAD")->value) == strlen(dir) + strlen("/lib.so:") + 100000);
	free(longer);
}

static void mpi_without_library(void)
{
	whole_step("model,mpi");
	CHECK(!find("LD_PRELOAD"));
	CHECK(host.user_lines == 1 && strstr(host.user_line, "none.so: No such file"));
}

static void preload_is_joined_or_left_alone(void **state)
{
	char more[128];

	(void)state;
	snprintf(more, sizeof(more), "%s/lib.so", dir);
	close(open(more, O_CREAT | O_WRONLY, 0644));
	snprintf(more, sizeof(more), "MpiLibrary = %s/lib.so\n", dir);
	write_conf(more);
	in_child(mpi_with_a_long_preload);
	snprintf(more, sizeof(more), "MpiLibrary = %s/none.so\n", dir);
	write_conf(more);
	in_child(mpi_without_library);
}

static void killed_step(void)
{
	char path[160];
	struct stat st;

	load();
	call(INIT);
	option("model,mpi");
	call(INIT_POST_OPT);
	/* Wait for a checkpoint that has energy in it (Checkpoint = 1). */
	snprintf(path, sizeof(path), "%s/spool/%s.7.1.0.ckpt", dir, host_name());
	for (int i = 0; i < 100; i++) {
		pause_ms(50);
		if (i > 30 && stat(path, &st) == 0 && st.st_size > ERGON_JOURNAL_LINE_MAX)
			break;
	}
	kill(getpid(), SIGKILL);
}

static void next_step(void)
{
	host.job = 8;
	whole_step("model,mpi");
}

static void a_killed_stepd_is_finished_by_the_next(void **state)
{
	json_t *all, *r;
	pid_t pid;
	int status;

	(void)state;
	write_conf("Checkpoint = 1\n");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		be_stepd();
		killed_step();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(entries("spool", ".ckpt"), 1);
	assert_int_equal(entries("run", "7.1.0"), 1);
	in_child(next_step);
	all = records(host_name());
	assert_int_equal(json_array_size(all), 2);
	r = json_array_get(all, 0);
	assert_int_equal(number(r, "job"), 7);
	assert_string_equal(json_string_value(json_object_get(r, "state")), "partial");
	assert_true(flagged(r, "partial"));
	assert_true(number(r, "node_uj") > 0);
	assert_int_equal(number(json_array_get(all, 1), "job"), 8);
	assert_int_equal(entries("spool", ".ckpt"), 0);
	assert_int_equal(entries("run", ""), 1);
	json_decref(all);
}

static void journal_in_the_way(void)
{
	char path[160];

	load();
	call(INIT);
	option("model");
	call(INIT_POST_OPT);
	snprintf(path, sizeof(path), "%s/spool/%s.journal", dir, host_name());
	CHECK(mkdir(path, 0700) == 0);
	call(EXIT);
	CHECK(rmdir(path) == 0);
	CHECK(host.errors == 0);
}

static void a_record_that_cannot_be_journalled_is_kept(void **state)
{
	json_t *all, *r;

	(void)state;
	in_child(journal_in_the_way);
	assert_int_equal(entries("spool", ".ckpt"), 1);
	in_child(next_step);
	all = records(host_name());
	assert_int_equal(json_array_size(all), 2);
	r = json_array_get(all, 0);
	assert_int_equal(number(r, "job"), 7);
	assert_string_equal(json_string_value(json_object_get(r, "state")), "complete");
	json_decref(all);
}

static void srun(void)
{
	host.context = S_CTX_LOCAL;
	load();
	call(INIT);
	CHECK(host.registered == 1);
	CHECK(host.option.cb(0, "model,mpi", 0) == 0);
	CHECK(host.option.cb(0, NULL, 0) == 0);
	CHECK(host.user_lines == 0);
	CHECK(host.option.cb(0, "model,speed=1", 0) == -1);
	CHECK(host.user_lines == 1);
	CHECK(strncmp(host.user_line, "--energy: unknown key 'speed'", 29) == 0);
	call(INIT_POST_OPT);
	call(EXIT);
	CHECK(threads() == 0);
}

static void sbatch(void)
{
	host.context = S_CTX_ALLOCATOR;
	load();
	call(INIT);
	CHECK(host.registered == 1);
	call(INIT_POST_OPT);
	call(EXIT);
}

static void slurmd(void)
{
	host.context = S_CTX_SLURMD;
	load();
	call(INIT);
	CHECK(host.registered == 0);
}

static void the_users_side_only_checks(void **state)
{
	(void)state;
	in_child(srun);
	in_child(sbatch);
	in_child(slurmd);
	assert_int_equal(entries("run", ""), -1);
	assert_int_equal(entries("spool", ""), -1);
}

static void timed(void)
{
	uint64_t start, took;
	FILE *f;
	char path[128];

	load();
	start = ergon_clock_ns();
	call(INIT);
	option("model");
	call(INIT_POST_OPT);
	took = ergon_clock_ns() - start;
	call(EXIT);
	snprintf(path, sizeof(path), "%s/took", dir);
	f = fopen(path, "w");
	fprintf(f, "%llu", (unsigned long long)took);
	fclose(f);
}

static void launching_a_step_costs_less_than_5_ms(void **state)
{
	unsigned long long best = ~0ull, took;

	(void)state;
	if (getenv("ERGON_SANITIZERS") && *getenv("ERGON_SANITIZERS"))
		skip();
	/* The best of several: other work on this machine is not ours. */
	for (int i = 0; i < 10; i++) {
		char path[128];
		FILE *f;

		in_child(timed);
		snprintf(path, sizeof(path), "%s/took", dir);
		f = fopen(path, "r");
		assert_int_equal(fscanf(f, "%llu", &took), 1);
		fclose(f);
		if (took < best)
			best = took;
	}
	print_message("init and init_post_opt: %.2f ms\n", (double)best * 1e-6);
	assert_true(best < 5000000);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_users_side_only_checks),
		TEST(a_step_leaves_one_complete_record),
		TEST(the_last_option_counts_and_order_does_not_matter),
		TEST(a_plugin_listed_twice_counts_once),
		TEST(without_option_the_site_decides),
		TEST(off_is_the_users_right_unless_the_site_says_no),
		TEST(a_lost_option_is_found_in_the_environment),
		TEST(a_bad_option_in_the_environment_switches_nothing_off),
		TEST(without_a_mechanism_the_record_says_why),
		TEST(the_record_tells_clock_rate_and_temperature),
		TEST(a_library_that_hangs_costs_no_job),
		TEST(a_library_that_is_late_leaves_nothing),
		TEST(a_system_root_that_is_not_there_costs_no_job),
		TEST(special_steps_are_accounted_but_not_preloaded),
		TEST(a_useless_spool_directory_costs_no_job),
		TEST(a_bad_configuration_is_one_error_in_the_log),
		TEST(a_shared_node_closes),
		TEST(clocks_may_be_set_and_machines_may_sleep),
		TEST(the_nodes_name_is_slurms),
		TEST(a_board_is_no_faster_than_the_site_allows),
		TEST(an_automatic_rate_is_the_sites_and_the_ranks),
		TEST(ranks_get_a_board_and_nothing_of_it_stays),
		TEST(preload_is_joined_or_left_alone),
		TEST(a_killed_stepd_is_finished_by_the_next),
		TEST(a_record_that_cannot_be_journalled_is_kept),
		TEST(launching_a_step_costs_less_than_5_ms),
	};
	const char *build = getenv("top_builddir");

	snprintf(so, sizeof(so), "%s/.libs/spank_ergon.so", build ? build : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
