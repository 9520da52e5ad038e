/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "board.h"

struct place {
	char dir[64];
	char path[80];
	int dirfd;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	strcpy(p->dir, "/tmp/ergon-board.XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	snprintf(p->path, sizeof(p->path), "%s/board", p->dir);
	p->dirfd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return p->dirfd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	close(p->dirfd);
	rmdir(p->dir);
	free(p);
	return 0;
}

static const struct ergon_board_cpu two_cpus[] = { { 0, 0, 0 }, { 1, 1, 1 } };

static struct ergon_board_info good_info(void)
{
	struct ergon_board_info info = {
		.mechanism = "perf", .scope = "cpu+dram", .host = "n1", .hz = 100,
		.node_share = 1, .nchannels = 3, .npackages = 2, .ncpus = 2,
		.channels = {
			{ "package0", 6.1e-5, ERGON_DOMAIN_PACKAGE, 0, 1, 0 },
			{ "package1", 6.1e-5, ERGON_DOMAIN_PACKAGE, 1, 1, 0 },
			{ "platform", 1, ERGON_DOMAIN_PLATFORM, -1, 0, 0 },
		},
	};

	return info;
}

static void bad_arguments_are_refused(void **state)
{
	struct place *p = *state;
	struct ergon_board_info good = good_info(), info;
	struct ergon_board_cpu foreign[] = { { 0, 0, 0 }, { 1, 2, 1 } };
	struct ergon_error err;

	assert_null(ergon_board_create(p->dirfd, NULL, &good, two_cpus, 8, &err));
	assert_null(ergon_board_create(p->dirfd, "", &good, two_cpus, 8, &err));
	assert_null(ergon_board_create(p->dirfd, "board", NULL, two_cpus, 8, &err));
	assert_null(ergon_board_create(p->dirfd, "board", &good, NULL, 8, &err));
	assert_null(ergon_board_create(p->dirfd, "board", &good, foreign, 8, &err));
	assert_null(ergon_board_create(p->dirfd, "board", &good, two_cpus, 0, &err));
	assert_null(ergon_board_create(p->dirfd, "board", &good, two_cpus, UINT32_MAX, &err));
#define REFUSED(change) do { \
		info = good; \
		change; \
		errno = 0; \
		assert_null(ergon_board_create(p->dirfd, "board", &info, two_cpus, 8, &err)); \
		assert_int_equal(errno, EINVAL); \
	} while (0)
	REFUSED(info.nchannels = ERGON_BOARD_MAX_CHANNELS + 1);
	REFUSED(info.npackages = ERGON_BOARD_MAX_PACKAGES + 1);
	REFUSED(info.hz = 0);
	REFUSED(info.node_share = 1.5);
	REFUSED(info.channels[1].package = 2);
	REFUSED(info.channels[1].package = -2);
	REFUSED(info.channels[0].unit_j = 0);
	REFUSED(info.channels[0].domain = ERGON_DOMAIN_COUNT);
	REFUSED(memset(info.host, 'x', sizeof(info.host)));
	REFUSED(memset(info.channels[2].name, 'x', sizeof(info.channels[2].name)));
#undef REFUSED
	assert_int_equal(access(p->path, F_OK), -1);
	assert_null(ergon_board_create(-1, "board", &good, two_cpus, 8, NULL));
	assert_null(ergon_board_map(NULL, &err));
	assert_null(ergon_board_map(p->path, &err));
	assert_int_equal(errno, ENOENT);
	assert_null(ergon_board_map(p->dir, &err));
	ergon_board_close(NULL);
}

static void a_second_board_does_not_replace_the_first(void **state)
{
	struct place *p = *state;
	struct ergon_board_info info = good_info();
	struct ergon_board *b = ergon_board_create(p->dirfd, "board", &info, two_cpus, 8, NULL);
	struct ergon_error err;

	assert_non_null(b);
	assert_null(ergon_board_create(p->dirfd, "board", &info, two_cpus, 8, &err));
	assert_int_equal(errno, EEXIST);
	assert_non_null(strstr(err.text, "board"));
	assert_int_equal(access(p->path, F_OK), 0);
	ergon_board_close(b);
}

static void the_file_is_allocated_and_read_only(void **state)
{
	struct place *p = *state;
	struct ergon_board_info info = good_info();
	mode_t old = umask(077);
	struct ergon_board *b = ergon_board_create(p->dirfd, "board", &info, two_cpus, 100, NULL);
	struct stat st;

	umask(old);
	assert_non_null(b);
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	assert_true(st.st_blocks * 512 >= st.st_size);
	ergon_board_close(b);
}

/* Overwrite bytes of the file and expect that it is no longer taken for a board. */
static void damage(struct place *p, off_t offset, const void *bytes, size_t size, int code)
{
	struct ergon_error err = { "" };
	unsigned char saved[64];
	int fd;

	assert_int_equal(chmod(p->path, 0644), 0);
	fd = open(p->path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, saved, size, offset), size);
	assert_int_equal(pwrite(fd, bytes, size, offset), size);
	assert_null(ergon_board_map(p->path, &err));
	assert_int_equal(errno, code);
	assert_non_null(strstr(err.text, p->path));
	assert_int_equal(pwrite(fd, saved, size, offset), size);
	close(fd);
}

static void damaged_files_are_refused(void **state)
{
	struct place *p = *state;
	struct ergon_board_info info = good_info();
	struct ergon_board *b = ergon_board_create(p->dirfd, "board", &info, two_cpus, 8, NULL);
	static const unsigned char ones[64] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	static const unsigned char zero[64];
	const uint32_t ring = 9, huge = 1u << 19;
	struct stat st;

	assert_non_null(b);
	ergon_board_close(b);
	damage(p, 0, ones, 8, EINVAL);          /* magic */
	damage(p, 0, zero, 8, EAGAIN);          /* not finished */
	damage(p, 8, ones, 4, EINVAL);          /* version */
	damage(p, 12, ones, 4, EINVAL);         /* header size */
	damage(p, 16, &ring, 4, EINVAL);        /* not a power of 2 */
	damage(p, 16, &huge, 4, EINVAL);        /* more than the file holds */
	damage(p, 16, zero, 4, EINVAL);
	damage(p, 20, zero, 4, EINVAL);         /* slot size */
	damage(p, 24, ones, 8, EINVAL);         /* offset of the CPUs */
	damage(p, 32, ones, 8, EINVAL);         /* offset of the slots */
	assert_int_equal(stat(p->path, &st), 0);
	for (off_t size = st.st_size - 1; size > 0; size = size * 3 / 4) {
		assert_int_equal(truncate(p->path, size), 0);
		assert_null(ergon_board_map(p->path, NULL));
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(truncate(p->path, 0), 0);
	assert_null(ergon_board_map(p->path, NULL));
	assert_int_equal(errno, EAGAIN);
}

/* Whatever the file says, a reader stays within it. */
static void random_damage_is_survived(void **state)
{
	struct place *p = *state;
	struct ergon_board_info info = good_info();
	struct ergon_board *w = ergon_board_create(p->dirfd, "board", &info, two_cpus, 8, NULL);
	uint64_t random = 88172645463325252u;
	unsigned mapped = 0, refused = 0;
	unsigned char good[8192];
	ssize_t size;
	int fd;

	assert_non_null(w);
	ergon_board_publish(w, 1, 0, (const uint64_t[]){ 1, 2, 3 });
	ergon_board_close(w);
	assert_int_equal(chmod(p->path, 0644), 0);
	fd = open(p->path, O_RDWR | O_CLOEXEC);
	size = pread(fd, good, sizeof(good), 0);
	assert_true(size > 1000);
	for (int round = 0; round < 20000; round++) {
		struct ergon_board_sample s;
		struct ergon_board *r;
		off_t at;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* Mostly the sizes at the beginning, sometimes anywhere. */
		at = (off_t)((random >> 32) % (round % 4 ? 96 : (uint64_t)size - 8));
		assert_int_equal(pwrite(fd, &random, 1 + round % 8, at), 1 + round % 8);
		r = ergon_board_map(p->path, NULL);
		mapped += r != NULL;
		refused += r == NULL;
		if (r) {
			uint64_t head = ergon_board_head(r);

			assert_true(ergon_board_info(r)->nchannels <= ERGON_BOARD_MAX_CHANNELS);
			for (uint32_t i = 0; i < ergon_board_info(r)->ncpus; i++)
				assert_true(ergon_board_cpus(r)[i].package < ERGON_BOARD_MAX_PACKAGES);
			ergon_board_read(r, 0, &s);
			ergon_board_read(r, head - 1, &s);
			ergon_board_read(r, ergon_board_tail(r), &s);
			ergon_board_close(r);
		}
		assert_int_equal(pwrite(fd, good + at, 8, at), 8);
	}
	close(fd);
	assert_true(mapped > 0 && refused > 0);
}

static void a_reader_sees_what_was_published(void **state)
{
	struct place *p = *state;
	struct ergon_board_info info = good_info();
	struct ergon_board *w = ergon_board_create(p->dirfd, "board", &info, two_cpus, 3, NULL);
	struct ergon_board *r = ergon_board_map(p->path, NULL);
	struct ergon_board_sample s = { 0 };

	assert_non_null(w);
	assert_non_null(r);
	assert_memory_equal(ergon_board_info(r), &info, sizeof(info));
	assert_memory_equal(ergon_board_cpus(r), two_cpus, sizeof(two_cpus));
	assert_int_equal(ergon_board_head(r), 0);
	assert_int_equal(ergon_board_read(r, 0, &s), -1);
	for (uint64_t i = 0; i < 6; i++)
		ergon_board_publish(w, 1000 + i, (uint32_t)i,
				    (const uint64_t[]){ i, 10 * i, 100 * i });
	assert_int_equal(ergon_board_head(r), 6);
	assert_int_equal(ergon_board_tail(r), 2); /* 3 was rounded up to 4 */
	assert_int_equal(ergon_board_read(r, 1, &s), -1);
	assert_int_equal(ergon_board_read(r, 6, &s), -1);
	for (uint64_t i = 2; i < 6; i++) {
		assert_int_equal(ergon_board_read(r, i, &s), 0);
		assert_int_equal(s.index, i);
		assert_int_equal(s.t_ns, 1000 + i);
		assert_int_equal(s.flags, i);
		assert_int_equal(s.counts[2], 100 * i);
	}
	assert_false(ergon_board_finished(r));
	ergon_board_finish(w);
	assert_true(ergon_board_finished(r));
	ergon_board_close(w);
	assert_int_equal(ergon_board_read(r, 5, &s), 0);
	ergon_board_close(r);
}

static void no_channels_is_a_board_with_a_reason(void **state)
{
	struct place *p = *state;
	struct ergon_board_info info = { .hz = 1, .node_share = 1, .reason = "no counters" };
	struct ergon_board *w = ergon_board_create(p->dirfd, "board", &info, NULL, 4, NULL);
	struct ergon_board *r = ergon_board_map(p->path, NULL);
	struct ergon_board_sample s;

	assert_non_null(w);
	assert_non_null(r);
	assert_string_equal(ergon_board_info(r)->reason, "no counters");
	ergon_board_publish(w, 5, 0, NULL);
	assert_int_equal(ergon_board_read(r, 0, &s), 0);
	assert_int_equal(s.t_ns, 5);
	ergon_board_close(w);
	ergon_board_close(r);
}

#define STRESS_SAMPLES 400000u
#define STRESS_CHANNELS 32u
#define STRESS_RING 2u

/* Each value follows from the index, so a torn sample cannot pass. */
static uint64_t value_of(uint64_t index, uint32_t channel)
{
	return index * 0x9e3779b97f4a7c15u + channel;
}

struct follower {
	const char *path;
	uint64_t good, overrun, torn;
};

static void *follow(void *arg)
{
	struct follower *f = arg;
	struct ergon_board *b = ergon_board_map(f->path, NULL);
	uint64_t next = 0;

	while (b) {
		bool finished = ergon_board_finished(b);
		uint64_t head = ergon_board_head(b), tail = ergon_board_tail(b);
		struct ergon_board_sample s;

		if (next < tail) {
			f->overrun += tail - next;
			next = tail;
		}
		if (next == head) {
			if (finished)
				break;
			continue;
		}
		if (ergon_board_read(b, next, &s) < 0) {
			f->overrun++;
		} else {
			bool torn = s.index != next || s.t_ns != value_of(next, 1000);

			for (uint32_t i = 0; i < STRESS_CHANNELS; i++)
				torn |= s.counts[i] != value_of(next, i);
			f->torn += torn;
			f->good += !torn;
		}
		next++;
	}
	ergon_board_close(b);
	return NULL;
}

static void readers_never_see_a_torn_sample(void **state)
{
	struct place *p = *state;
	struct ergon_board_info info = { .hz = 1, .node_share = 1, .nchannels = STRESS_CHANNELS };
	struct follower followers[3] = { { .path = p->path }, { .path = p->path }, { .path = p->path } };
	uint64_t counts[STRESS_CHANNELS];
	struct ergon_board *w;
	pthread_t threads[3];

	for (uint32_t i = 0; i < STRESS_CHANNELS; i++)
		info.channels[i] = (struct ergon_board_channel){ "c", 1, ERGON_DOMAIN_NODE, -1, 1, 0 };
	w = ergon_board_create(p->dirfd, "board", &info, NULL, STRESS_RING, NULL);
	assert_non_null(w);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, follow, &followers[i]), 0);
	for (uint64_t n = 0; n < STRESS_SAMPLES; n++) {
		for (uint32_t i = 0; i < STRESS_CHANNELS; i++)
			counts[i] = value_of(n, i);
		ergon_board_publish(w, value_of(n, 1000), 0, counts);
	}
	ergon_board_finish(w);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(followers[i].torn, 0);
		assert_true(followers[i].good > 0);
		assert_int_equal(followers[i].good + followers[i].overrun, STRESS_SAMPLES);
	}
	/* A ring of two cannot serve a reader that is ever descheduled. */
	assert_true(followers[0].overrun + followers[1].overrun + followers[2].overrun > 0);
	ergon_board_close(w);
}

/* The kernel's own answer is SIGXFSZ, which would end the job. */
static void a_limit_on_file_sizes_refuses_the_board(void **state)
{
	const struct place *p = *state;
	struct ergon_board_info info = good_info();
	struct rlimit saved, small;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
	small = saved;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	errno = 0;
	assert_null(ergon_board_create(p->dirfd, "board", &info, two_cpus, 4096, NULL));
	assert_int_equal(errno, EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
	assert_int_equal(access(p->path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bad_arguments_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_second_board_does_not_replace_the_first, setup, teardown),
		cmocka_unit_test_setup_teardown(the_file_is_allocated_and_read_only, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_files_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(random_damage_is_survived, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reader_sees_what_was_published, setup, teardown),
		cmocka_unit_test_setup_teardown(no_channels_is_a_board_with_a_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(a_limit_on_file_sizes_refuses_the_board, setup, teardown),
		cmocka_unit_test_setup_teardown(readers_never_see_a_torn_sample, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
