/* SPDX-License-Identifier: BSD-3-Clause */
#include "gpu_stage.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MODE "ERGON_TEST_MODE"

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	exit(1);
}

/* Links to the built libraries, or their removal. */
static void set_libraries(const char *dir, const struct gpu_libraries *mode, bool there)
{
	const char *top = getenv("top_builddir");

	for (size_t i = 0; i < 3 && mode->files[i]; i++) {
		const char *name = strrchr(mode->files[i], '/');
		char from[PATH_MAX], real[PATH_MAX], to[PATH_MAX];

		name = name ? name + 1 : mode->files[i];
		snprintf(from, sizeof(from), "%s/tests/stub/%.*s.libs/%s", top ? top : ".",
			 (int)(name - mode->files[i]), mode->files[i], name);
		snprintf(to, sizeof(to), "%s/%s", dir, name);
		if (there)
			must(realpath(from, real) && symlink(real, to) == 0, from);
		else
			unlink(to);
	}
}

static int run_mode(char **argv, const struct gpu_libraries *mode)
{
	char dir[] = "/tmp/ergon-test-libraries-XXXXXX";
	int status = 1;
	pid_t pid;

	must(mkdtemp(dir) != NULL, dir);
	set_libraries(dir, mode, true);
	pid = fork();
	if (pid == 0) {
		setenv(MODE, mode->mode, 1);
		setenv("LD_LIBRARY_PATH", dir, 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid, "fork");
	set_libraries(dir, mode, false);
	rmdir(dir);
	return status;
}

int gpu_stage_run(char **argv, const struct gpu_libraries *modes, size_t n)
{
	int failed = 0;

	if (getenv(MODE))
		return -1;
	for (size_t i = 0; i < n; i++)
		failed |= run_mode(argv, &modes[i]) != 0;
	return failed;
}

const char *gpu_stage_mode(void)
{
	return getenv(MODE);
}

void gpu_stage_open(struct gpu_stage *s)
{
	char path[PATH_MAX];

	memset(s, 0, sizeof(*s));
	tree_create(&s->tree);
	s->topo = (struct ergon_topo){
		.ncpus = 1, .cpus = &s->cpu, .npackages = 1, .packages = &s->package, .ncores = 1,
		.family = -1, .model = -1,
	};
	s->m = (struct ergon_machine){ .sysroot = tree_open(&s->tree), .topo = &s->topo };
	/* Joules appear between two reads that are milliseconds apart. */
	s->m.max_watts[ERGON_DOMAIN_GPU] = 1e9;
	tree_write(&s->tree, "/story.calls", "");
	snprintf(path, sizeof(path), "%s/story", s->tree.path);
	setenv("ERGON_TEST_GPUS", path, 1);
}

void gpu_stage_close(struct gpu_stage *s)
{
	ergon_sysroot_close((struct ergon_sysroot *)s->m.sysroot);
	tree_destroy(&s->tree);
}

void gpu_stage_tell(const struct gpu_stage *s, const char *fmt, ...)
{
	char text[4096], from[PATH_MAX], to[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tree_write(&s->tree, "/story.new", text);
	snprintf(from, sizeof(from), "%s/story.new", s->tree.path);
	snprintf(to, sizeof(to), "%s/story", s->tree.path);
	assert_int_equal(rename(from, to), 0);
}

int gpu_stage_calls(const struct gpu_stage *s, const char *call)
{
	char path[PATH_MAX], line[64];
	FILE *in;
	int n = 0;

	snprintf(path, sizeof(path), "%s/story.calls", s->tree.path);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		n += strcmp(line, call) == 0;
	}
	if (in)
		fclose(in);
	return n;
}

struct ergon_meter *gpu_stage_meter(const struct gpu_stage *s, const char *mechanism)
{
	struct ergon_error err = { "" };
	struct ergon_meter *meter = ergon_meter_open(&s->m, mechanism, false, &err);

	assert_string_equal(err.text, "");
	assert_non_null(meter);
	return meter;
}

void gpu_stage_settle(struct ergon_meter *meter)
{
	if (!ergon_meter_settle(meter, 5000))
		fail_msg("no answer after 5 s");
}

uint64_t gpu_stage_until(struct ergon_meter *meter, size_t i, uint64_t uj, unsigned *flags)
{
	struct ergon_reading first, r;

	ergon_meter_read(meter, &first);
	*flags = first.flags;
	for (int tries = 0; tries < 500; tries++) {
		ergon_meter_read(meter, &r);
		*flags |= r.flags;
		if (r.counts[i] - first.counts[i] >= uj)
			break;
		usleep(10000);
	}
	return r.counts[i] - first.counts[i];
}
