/* SPDX-License-Identifier: BSD-3-Clause */
/* samples.csv: the rows, their sums, and the thread that writes them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "flags.h"
#include "samples_csv.h"
#include "writer.h"

/* Units that do not divide a microjoule, so that every row rounds. */
static const struct ergon_channel channels[] = {
	{ .name = "package0", .domain = ERGON_DOMAIN_PACKAGE, .unit_j = 61.03515625e-6, .in_total = true },
	{ .name = "core0", .domain = ERGON_DOMAIN_CORE, .unit_j = 1e-6 },
	{ .name = "dram0", .domain = ERGON_DOMAIN_DRAM, .unit_j = 1.0 / 3e6, .in_total = true },
};

static const bool all[] = { true, true, true };
static const bool no_core[] = { true, false, true };

static struct ergon_sample sample(uint64_t index, uint64_t t_ns, uint64_t a, uint64_t b, uint64_t c)
{
	struct ergon_sample s = { .index = index, .reading = { .t_ns = t_ns, .counts = { a, b, c } } };

	return s;
}

static void rows_hold_what_happened_since_the_row_before(void **state)
{
	struct ergon_samples_csv csv;
	struct ergon_sample s;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	ergon_samples_csv_init(&csv, channels, no_core, 3);
	ergon_samples_csv_header(&csv, out);
	s = sample(0, 5000000000u, 100, 7, 30);
	ergon_samples_csv_row(&csv, &s, out);
	s = sample(1, 5100000400u, 116, 8, 32);
	ergon_samples_csv_row(&csv, &s, out);
	s = sample(2, 5200000600u, 116, 9, 33);
	s.reading.flags = ERGON_FLAG_RESET | ERGON_FLAG_MISSED;
	ergon_samples_csv_row(&csv, &s, out);
	s = sample(4, 65200000600u, 16500, 9, 3000033);
	ergon_samples_csv_row(&csv, &s, out);
	fclose(out);
	assert_string_equal(text,
			    "t_s,package0_j,dram0_j,flags\n"
			    "0.100000,0.000977,0.000001,\n"
			    "0.200001,0.000000,0.000000,reset|missed\n"
			    "60.200001,1.000000,1.000000,gap\n");
	free(text);
}

/* Add up one column; the digits must be those of an integer number of microjoules. */
static uint64_t sum_column(const char *text, unsigned column)
{
	uint64_t sum = 0;

	for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		const char *cell = line;
		uint64_t j, uj;

		for (unsigned i = 0; i < column; i++)
			cell = strchr(cell, ',') + 1;
		assert_int_equal(sscanf(cell, "%" SCNu64 ".%6" SCNu64 ",", &j, &uj), 2);
		sum += j * 1000000 + uj;
	}
	return sum;
}

struct place {
	char path[64];
	FILE *out;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	int fd;

	if (!p)
		return -1;
	strcpy(p->path, "/tmp/ergon-writer.XXXXXX");
	fd = mkostemp(p->path, O_CLOEXEC);
	p->out = fd < 0 ? NULL : fdopen(fd, "w");
	*state = p;
	return p->out ? 0 : -1;
}

static int teardown(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	free(p);
	return 0;
}

static char *slurp(const char *path)
{
	enum { LIMIT = 4 * 1024 * 1024 };
	FILE *in = fopen(path, "re");
	char *text = malloc(LIMIT);
	size_t size;

	assert_non_null(in);
	assert_non_null(text);
	size = fread(text, 1, LIMIT - 1, in);
	assert_true(feof(in));
	text[size] = '\0';
	fclose(in);
	return text;
}

/* More samples at once than the ring holds: rows are lost, joules are not. */
static void sums_are_exact_even_when_the_ring_overflows(void **state)
{
	struct place *p = *state;
	struct ergon_writer *w = ergon_writer_start(p->out, p->path, channels, all, 3, NULL);
	struct ergon_sample first = sample(0, 1000, 123456789, 5, 77), s = first;
	char *text;

	assert_non_null(w);
	for (uint64_t i = 0; i <= 20000; i++) {
		s = sample(i, 1000 + i * 1000000, first.reading.counts[0] + i * 1637 + i % 7,
			   first.reading.counts[1] + i * i, first.reading.counts[2] + i * 31 + i % 3);
		ergon_writer_push(w, &s);
	}
	assert_int_equal(ergon_writer_finish(w, &s, NULL), 0);
	text = slurp(p->path);
	for (unsigned c = 0; c < 3; c++)
		assert_int_equal(sum_column(text, c + 1),
				 ergon_uj_since(&channels[c], first.reading.counts[c], s.reading.counts[c]));
	assert_non_null(strstr(text, ",gap\n"));
	free(text);
}

static void a_full_disk_is_reported(void **state)
{
	struct place *p = *state;
	FILE *full = fopen("/dev/full", "we");
	struct ergon_writer *w;
	struct ergon_sample s;
	struct ergon_error err = { "" };

	fclose(p->out);
	if (!full)
		skip();
	w = ergon_writer_start(full, "samples.csv", channels, all, 3, NULL);
	assert_non_null(w);
	for (uint64_t i = 0; i < 10; i++) {
		s = sample(i, i, i, i, i);
		ergon_writer_push(w, &s);
	}
	assert_int_equal(ergon_writer_finish(w, NULL, &err), -1);
	assert_non_null(strstr(err.text, "samples.csv"));
	assert_non_null(strstr(err.text, strerror(ENOSPC)));
}

static void bad_arguments_are_refused(void **state)
{
	struct place *p = *state;
	struct ergon_error err;

	assert_null(ergon_writer_start(NULL, "x", channels, all, 3, &err));
	assert_null(ergon_writer_start(p->out, NULL, channels, all, 3, &err));
	assert_null(ergon_writer_start(p->out, "x", NULL, all, 3, &err));
	assert_null(ergon_writer_start(p->out, "x", channels, NULL, 3, &err));
	assert_null(ergon_writer_start(p->out, "x", channels, all, ERGON_METER_MAX_CHANNELS + 1, &err));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ergon_writer_finish(NULL, NULL, &err), 0);
	fclose(p->out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bad_arguments_are_refused, setup, teardown),
		cmocka_unit_test(rows_hold_what_happened_since_the_row_before),
		cmocka_unit_test_setup_teardown(sums_are_exact_even_when_the_ring_overflows, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_is_reported, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
