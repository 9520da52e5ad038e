/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The real kernel runs the real program; only the description of the PMU is
 * the test's (standin.h). What the perf backend reads before and after is
 * the truth, so nothing here depends on how busy the machine is. Where the
 * kernel does not let us, tests skip.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "ebpf.h"
#include "meter.h"
#include "standin.h"
#include "tree.h"

#define CHANNELS 16
/* What read() grants, and a little for clocks that tick differently. */
#define AGE_NS 1600000.0

static struct tree tree;
static pid_t burners[2];
static struct ergon_cpu cpus[2];
static int packages[2] = { 0, 1 };
static struct ergon_topo topo;
static struct ergon_machine m;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	for (int i = 0; i < 2; i++)
		cpus[i] = (struct ergon_cpu){ .os = i, .package = i, .core = i };
	topo = (struct ergon_topo){
		.ncpus = 1, .cpus = cpus, .npackages = 1, .packages = packages, .ncores = 1,
		.vendor = "GenuineIntel", .family = 6, .model = 0x8f,
	};
	m = (struct ergon_machine){ .sysroot = tree_open(&tree), .topo = &topo, .hz = 1000 };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		if (burners[i] > 0) {
			kill(burners[i], SIGKILL);
			waitpid(burners[i], NULL, 0);
		}
		burners[i] = 0;
	}
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
	return 0;
}

/* Some hypervisors hide an idle CPU's ticks from perf: keep it from being idle, behind all others. */
static pid_t burn(int cpu)
{
	pid_t pid = fork();
	cpu_set_t set;

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	setpriority(PRIO_PROCESS, 0, 19);
	for (volatile unsigned i = 0;; i++)
		;
}

/* Leaders are the adjacent CPUs 0 and, if there is one, 1. Skips where BPF is not to be had. */
static void stand_in(void)
{
	struct ergon_probe probe;

	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		topo.ncpus = topo.ncores = topo.npackages = 2;
	if (!standin_write(&tree, NULL)) {
		print_message("no msr PMU here\n");
		skip();
	}
	ergon_backend_ebpf.probe(&m, &probe);
	if (probe.state != ERGON_PROBE_OK) {
		print_message("no eBPF here: %s\n", probe.reason);
		skip();
	}
	for (size_t i = 0; i < topo.ncpus; i++)
		burners[i] = burn(cpus[i].os);
}

static void *open_backend(const struct ergon_backend *backend)
{
	struct ergon_error err = { "" };
	void *inst = backend->open(&m, &err);

	assert_string_equal(err.text, "");
	assert_non_null(inst);
	return inst;
}

/* --- the truth: perf read before and after --- */

struct bracket {
	uint64_t t_ns;
	uint64_t before[CHANNELS], value[CHANNELS], after[CHANNELS];
};

static size_t read_all(const struct ergon_backend *backend, void *inst, uint64_t *raw)
{
	const struct ergon_channel *ch;
	size_t n = backend->channels(inst, &ch);
	bool ok[CHANNELS] = { false };

	assert_true(n > 0 && n <= CHANNELS);
	assert_int_equal(backend->read(inst, raw, ok), n);
	return n;
}

static size_t read_bracket(void *perf, void *ebpf, struct bracket *b)
{
	size_t n;

	b->t_ns = ergon_clock_ns();
	read_all(&ergon_backend_perf, perf, b->before);
	n = read_all(&ergon_backend_ebpf, ebpf, b->value);
	assert_int_equal(read_all(&ergon_backend_perf, perf, b->after), n);
	return n;
}

/*
 * The two count the same clock from different starts: only growth can be
 * compared. A value is the count of a moment between AGE_NS before its
 * bracket and the bracket's end.
 */
static void assert_true_value(const struct bracket *first, const struct bracket *now, size_t channel,
			      double per_ns)
{
	double grown = (double)now->value[channel] - (double)first->value[channel];
	double most = (double)now->after[channel] - (double)first->before[channel];
	double least = (double)now->before[channel] - (double)first->after[channel];

	assert_true(grown <= most + AGE_NS * per_ns);
	assert_true(grown >= least - AGE_NS * per_ns);
}

/* Read for a while, every period; checks each value. How many readings it took. */
static unsigned follow(void *perf, void *ebpf, const char *dead, unsigned ms, unsigned period_us)
{
	const struct ergon_channel *ch;
	struct bracket first, now;
	size_t n = read_bracket(perf, ebpf, &first);
	double per_ns;
	unsigned reads = 0;

	ergon_backend_ebpf.channels(ebpf, &ch);
	/* The rate must be known before it is used. */
	usleep(20000);
	read_bracket(perf, ebpf, &now);
	per_ns = (double)(now.before[0] - first.before[0]) / (double)(now.t_ns - first.t_ns);
	assert_true(per_ns > 0);
	do {
		usleep(period_us);
		read_bracket(perf, ebpf, &now);
		reads++;
		for (size_t i = 0; i < n; i++) {
			if (dead && ch[i].domain == (enum ergon_domain)ergon_domain_parse(dead))
				assert_int_equal(now.value[i], 0);
			else
				assert_true_value(&first, &now, i, per_ns);
		}
	} while (now.t_ns - first.t_ns < ms * 1000000ull);
	return reads;
}

/* --- without the kernel --- */

static void absence_is_explained(void **state)
{
	struct ergon_error err = { "" };
	struct ergon_probe probe;

	(void)state;
	ergon_backend_ebpf.probe(&m, &probe);
	assert_true(probe.state == ERGON_PROBE_ABSENT || probe.state == ERGON_PROBE_UNSUPPORTED);
	assert_true(*probe.reason && *probe.remedy);
	assert_null(ergon_backend_ebpf.open(&m, &err));
	assert_int_equal(strncmp(err.text, "ebpf: ", 6), 0);
	ergon_backend_ebpf.close(NULL);
}

static void auto_never_takes_it(void **state)
{
	struct ergon_error err = { "" };
	struct ergon_meter *meter;

	(void)state;
	assert_false(ergon_backend_ebpf.automatic);
	stand_in();
	meter = ergon_meter_open(&m, "auto", false, &err);
	assert_non_null(meter);
	assert_string_equal(ergon_meter_mechanism(meter), "perf");
	ergon_meter_close(meter);
	/* Named after perf it has nothing left to tell. */
	meter = ergon_meter_open(&m, "perf+ebpf", false, &err);
	assert_non_null(meter);
	assert_string_equal(ergon_meter_mechanism(meter), "perf");
	ergon_meter_close(meter);
}

/* --- with it --- */

/* Five events on each of two adjacent CPUs: no leader overwrites what its neighbour reads. */
static void values_are_those_of_perf(void **state)
{
	const struct ergon_channel *ch;
	struct ergon_ebpf_stats stats;
	void *perf, *ebpf;
	unsigned reads;
	size_t n;

	(void)state;
	stand_in();
	standin_event(&tree, "energy-ram", STANDIN_TSC, STANDIN_EXACT);
	standin_event(&tree, "energy-gpu", STANDIN_SMI, STANDIN_EXACT);
	standin_event(&tree, "energy-cores", STANDIN_TSC, STANDIN_EXACT);
	standin_event(&tree, "energy-psys", STANDIN_TSC, STANDIN_EXACT);
	ebpf = open_backend(&ergon_backend_ebpf);
	/* Opened last, its counts are behind: a value of perf's would be seen. */
	perf = open_backend(&ergon_backend_perf);
	n = ergon_backend_ebpf.channels(ebpf, &ch);
	assert_int_equal(n, 5 * topo.npackages);
	assert_string_equal(ch[0].source, "ebpf");
	assert_string_equal(ch[0].detail, "power/energy-pkg cpu0");
	assert_true(ch[0].unit_j == 0x1p-32);
	reads = follow(perf, ebpf, "uncore", 2000, 1000);
	ergon_ebpf_stats(ebpf, &stats);
	print_message("%u readings: %llu ticks, %llu records, %llu lost, %llu direct\n", reads,
		      (unsigned long long)stats.ticks, (unsigned long long)stats.records,
		      (unsigned long long)stats.lost, (unsigned long long)stats.direct);
	assert_int_equal(stats.lost, 0);
	assert_true(stats.records <= stats.ticks);
	/* The clock does run, at no more than 1000 Hz, and what is read does come from it. */
	assert_true(stats.ticks > 500 * topo.npackages);
	assert_true(stats.ticks < 2500 * topo.npackages || stats.ticks < 2 * reads * topo.npackages);
	assert_true(stats.direct < reads * topo.npackages / 2);
	ergon_backend_ebpf.close(ebpf);
	ergon_backend_perf.close(perf);
}

/* At this rate the buffer lasts 2 s; whoever comes later than that misses records, not energy. */
static void lost_records_are_counted(void **state)
{
	struct ergon_ebpf_stats stats, later;
	void *perf, *ebpf;

	(void)state;
	m.hz = 900;
	stand_in();
	ebpf = open_backend(&ergon_backend_ebpf);
	perf = open_backend(&ergon_backend_perf);
	follow(perf, ebpf, NULL, 1, 2600000);
	ergon_ebpf_stats(ebpf, &stats);
	assert_true(stats.lost > 0);
	assert_true(stats.records > 0);
	assert_true(stats.records + stats.lost <= stats.ticks);
	follow(perf, ebpf, NULL, 100, 1000);
	ergon_ebpf_stats(ebpf, &later);
	assert_int_equal(later.lost, stats.lost);
	assert_true(later.records > stats.records);
	ergon_backend_ebpf.close(ebpf);
	ergon_backend_perf.close(perf);
}

/* A clock that has not ticked yet, as one whose CPU went offline: the events are asked. */
static void a_silent_clock_costs_no_energy(void **state)
{
	struct ergon_ebpf_stats stats;
	void *perf, *ebpf;
	unsigned reads;

	(void)state;
	stand_in();
	m.hz = 0.1;
	ebpf = open_backend(&ergon_backend_ebpf);
	perf = open_backend(&ergon_backend_perf);
	reads = follow(perf, ebpf, NULL, 200, 5000);
	ergon_ebpf_stats(ebpf, &stats);
	assert_int_equal(stats.ticks, 0);
	assert_true(stats.direct >= reads);
	ergon_backend_ebpf.close(ebpf);
	ergon_backend_perf.close(perf);
}

/* Ticks per second of CPU 0's clock. */
static double measured_hz(double asked)
{
	struct ergon_ebpf_stats before, after;
	uint64_t start;
	double s;
	void *ebpf;

	topo.ncpus = topo.ncores = topo.npackages = 1;
	m.hz = asked;
	ebpf = open_backend(&ergon_backend_ebpf);
	start = ergon_clock_ns();
	ergon_ebpf_stats(ebpf, &before);
	usleep(500000);
	ergon_ebpf_stats(ebpf, &after);
	s = (double)(ergon_clock_ns() - start) * 1e-9;
	ergon_backend_ebpf.close(ebpf);
	return (double)(after.ticks - before.ticks) / s;
}

static void the_clock_runs_as_asked(void **state)
{
	(void)state;
	stand_in();
	assert_in_range((uintmax_t)measured_hz(100), 50, 105);
	assert_in_range((uintmax_t)measured_hz(0), 500, 1005);
}

/* --- a guest in the process --- */

#define MAX_FDS 256

/* Which descriptors are open; their number. */
static size_t list_fds(bool open[MAX_FDS])
{
	size_t n = 0;

	for (int fd = 0; fd < MAX_FDS; fd++) {
		open[fd] = fcntl(fd, F_GETFD) >= 0;
		n += open[fd];
	}
	return n;
}

static bool printed;

static int host_print(int level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	printed = true;
	return 0;
}

typedef int print_f(int level, const char *fmt, va_list ap);

static void the_process_stays_as_it_was(void **state)
{
	print_f *(*set_print)(print_f *);
	void *libbpf = dlopen("libbpf.so.1", RTLD_NOW);
	struct rlimit before, after;
	bool mine[MAX_FDS], all[MAX_FDS];
	size_t fds;
	void *ebpf;

	(void)state;
	stand_in();
	assert_non_null(libbpf);
	*(void **)&set_print = dlsym(libbpf, "libbpf_set_print");
	assert_non_null(set_print);
	set_print(host_print);
	fds = list_fds(mine);
	getrlimit(RLIMIT_MEMLOCK, &before);
	ebpf = open_backend(&ergon_backend_ebpf);
	assert_true(list_fds(all) > fds + 4);
	for (int fd = 0; fd < MAX_FDS; fd++)
		assert_true(mine[fd] || !all[fd] || (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	getrlimit(RLIMIT_MEMLOCK, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	ergon_backend_ebpf.close(ebpf);
	assert_int_equal(list_fds(all), fds);
	assert_ptr_equal(set_print(NULL), host_print);
	assert_false(printed);
	dlclose(libbpf);
}

/* slurmstepd forks before each task: what a child lets go of is still the parent's. */
static void a_child_may_close_its_copy(void **state)
{
	struct ergon_ebpf_stats before, after;
	void *perf, *ebpf;
	int status;
	pid_t pid;

	(void)state;
	stand_in();
	ebpf = open_backend(&ergon_backend_ebpf);
	perf = open_backend(&ergon_backend_perf);
	ergon_ebpf_stats(ebpf, &before);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		ergon_backend_ebpf.close(ebpf);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	follow(perf, ebpf, NULL, 300, 1000);
	ergon_ebpf_stats(ebpf, &after);
	assert_true(after.records > before.records);
	ergon_backend_ebpf.close(ebpf);
	ergon_backend_perf.close(perf);
}

/* In a child: with CAP_PERFMON alone the events open, the program does not load. */
static int probe_without_cap_bpf(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };
	struct ergon_probe probe;

	data[CAP_PERFMON / 32].effective = data[CAP_PERFMON / 32].permitted = 1u << (CAP_PERFMON % 32);
	if (syscall(SYS_capset, &header, data) < 0)
		return 2;
	ergon_backend_perf.probe(&m, &probe);
	if (probe.state != ERGON_PROBE_OK)
		return 2;
	ergon_backend_ebpf.probe(&m, &probe);
	printf("%s; %s\n", probe.reason, probe.remedy);
	fflush(stdout);
	return probe.state == ERGON_PROBE_PERMISSION && strstr(probe.remedy, "CAP_BPF") ? 0 : 1;
}

static void missing_rights_are_named(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	stand_in();
	if (geteuid() != 0) {
		print_message("not root\n");
		skip();
	}
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(probe_without_cap_bpf());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2) {
		print_message("CAP_PERFMON does not open the events here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(absence_is_explained),
		TEST(auto_never_takes_it),
		TEST(values_are_those_of_perf),
		TEST(lost_records_are_counted),
		TEST(a_silent_clock_costs_no_energy),
		TEST(the_clock_runs_as_asked),
		TEST(the_process_stays_as_it_was),
		TEST(a_child_may_close_its_copy),
		TEST(missing_rights_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
