/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the rate in Hz of the msr PMU's tsc event against CLOCK_MONOTONIC,
 * the clock that ergon divides by. Good to about 1e-5: each end of the
 * interval is the tightest of many clock-counter-clock sandwiches.
 * Exit status 77 and a reason when the machine has no such counter.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TYPE_FILE "/sys/bus/event_source/devices/msr/type"
#define INTERVAL_NS 500000000
#define SANDWICHES 200

struct point {
	uint64_t t_ns;
	uint64_t tsc;
};

static void skip(const char *what)
{
	fprintf(stderr, "no tsc counter: %s: %s\n", what, strerror(errno));
	exit(77);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct point tightest(int fd)
{
	struct point best = { 0, 0 };
	uint64_t best_width = UINT64_MAX;

	for (int i = 0; i < SANDWICHES; i++) {
		uint64_t before = now_ns(), tsc, after;

		if (read(fd, &tsc, sizeof(tsc)) != sizeof(tsc))
			skip("read");
		after = now_ns();
		if (after - before < best_width) {
			best_width = after - before;
			best = (struct point){ before + best_width / 2, tsc };
		}
	}
	return best;
}

static int open_tsc(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	FILE *f = fopen(TYPE_FILE, "re");
	int fd;

	if (!f || fscanf(f, "%u", &attr.type) != 1)
		skip(TYPE_FILE);
	fclose(f);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		skip("perf_event_open (needs root or perf_event_paranoid <= 0)");
	return fd;
}

int main(void)
{
	struct timespec nap = { 0, INTERVAL_NS };
	int fd = open_tsc();
	struct point a = tightest(fd), b;

	nanosleep(&nap, NULL);
	b = tightest(fd);
	if (b.tsc <= a.tsc) {
		errno = ENODATA;
		skip("the counter stands still");
	}
	printf("%.0f\n", (double)(b.tsc - a.tsc) * 1e9 / (double)(b.t_ns - a.t_ns));
	close(fd);
	return 0;
}
