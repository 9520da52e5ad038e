/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "flags.h"
#include "store.h"

struct fixture {
	char dir[64], path[128];
	struct ergon_store *store;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct ergon_error err;

	strcpy(f->dir, "/tmp/ergon-store-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/sub/e.db", f->dir);
	f->store = ergon_store_open(f->path, ERGON_STORE_WRITE, &err);
	if (!f->store)
		fprintf(stderr, "%s\n", err.text);
	*state = f;
	return f->store ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	struct fixture *f = *state;
	char path[160];

	ergon_store_close(f->store);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", f->path, suffixes[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/sub", f->dir);
	rmdir(path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static struct ergon_record record(int64_t job, int64_t step, const char *node, int64_t uj)
{
	struct ergon_record r;

	ergon_record_init(&r);
	strcpy(r.cluster, "c1");
	snprintf(r.node, sizeof(r.node), "%s", node);
	r.job = job;
	r.restart = 0;
	r.step = step;
	r.uid = 1000;
	r.start_ns = 1000;
	r.end_ns = 2000;
	r.state = ERGON_STATE_COMPLETE;
	r.job_uj = r.node_uj = uj;
	return r;
}

struct seen {
	struct ergon_record records[16];
	int n;
};

static int collect(const struct ergon_record *r, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->n < 16);
	seen->records[seen->n++] = *r;
	return 0;
}

static int ask(struct ergon_store *s, struct ergon_store_query q, struct seen *seen)
{
	struct ergon_error err;

	seen->n = 0;
	if (q.until_ns == 0)
		q.until_ns = INT64_MAX;
	if (ergon_store_records(s, &q, collect, seen, &err) != 0)
		fail_msg("%s", err.text);
	return seen->n;
}

static int put(struct ergon_store *s, struct ergon_record r)
{
	struct ergon_error err;
	int result = ergon_store_put(s, &r, &err);

	if (result < 0)
		fail_msg("%s", err.text);
	return result;
}

static void bad_places_are_refused(void **state)
{
	struct fixture *f = *state;
	struct ergon_error err;
	char path[160];
	FILE *other;

	assert_null(ergon_store_path("mysql://host/db", &err));
	assert_non_null(strstr(err.text, "sqlite:FILE"));
	assert_null(ergon_store_path("sqlite:relative.db", &err));
	assert_string_equal(ergon_store_path("sqlite:/x/y.db", &err), "/x/y.db");
	assert_null(ergon_store_open("/nowhere/a.db", ERGON_STORE_READ, &err));
	assert_non_null(strstr(err.text, "ergon ingest"));
	assert_null(ergon_store_open("/nowhere/at/all/a.db", ERGON_STORE_WRITE, &err));

	snprintf(path, sizeof(path), "%s/other", f->dir);
	other = fopen(path, "w");
	fputs("this is a letter to a friend, not a database, and quite a long one at that\n", other);
	fclose(other);
	assert_null(ergon_store_open(path, ERGON_STORE_READ, &err));
	assert_null(ergon_store_open(path, ERGON_STORE_WRITE, &err));
	unlink(path);
}

static void the_file_is_not_for_everyone(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777 & ~0640, 0);
}

static void the_better_record_stays(void **state)
{
	struct fixture *f = *state;
	struct ergon_record r = record(1, 0, "n1", 30);
	struct seen seen;

	r.state = ERGON_STATE_RUNNING;
	assert_int_equal(put(f->store, r), 1);
	assert_int_equal(put(f->store, r), 0);
	r.end_ns = 3000; /* a later checkpoint */
	r.job_uj = 40;
	assert_int_equal(put(f->store, r), 1);
	r.state = ERGON_STATE_PARTIAL;
	r.end_ns = 2500;
	r.job_uj = 35;
	assert_int_equal(put(f->store, r), 1);
	r.state = ERGON_STATE_COMPLETE;
	r.job_uj = 50;
	assert_int_equal(put(f->store, r), 1);
	r.job_uj = 60;
	assert_int_equal(put(f->store, r), 0);
	r.state = ERGON_STATE_PARTIAL;
	r.end_ns = 9000;
	assert_int_equal(put(f->store, r), 0);
	r.state = ERGON_STATE_RUNNING;
	assert_int_equal(put(f->store, r), 0);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ 0 }, &seen), 1);
	assert_int_equal(seen.records[0].job_uj, 50);
	assert_int_equal(seen.records[0].state, ERGON_STATE_COMPLETE);
	assert_int_equal(seen.records[0].end_ns, 2500);
}

static void every_part_of_the_key_counts(void **state)
{
	struct fixture *f = *state;
	struct ergon_record r = record(1, 0, "n1", 1);
	struct seen seen;

	assert_int_equal(put(f->store, r), 1);
	r.het = 0;
	assert_int_equal(put(f->store, r), 1);
	r.restart = 1;
	assert_int_equal(put(f->store, r), 1);
	r.step = ERGON_STEP_EXTERN;
	assert_int_equal(put(f->store, r), 1);
	strcpy(r.node, "n2");
	assert_int_equal(put(f->store, r), 1);
	strcpy(r.cluster, "c2");
	assert_int_equal(put(f->store, r), 1);
	r.start_ns = 1500; /* the number came back */
	assert_int_equal(put(f->store, r), 1);
	assert_int_equal(put(f->store, r), 0);
	r.restart = ERGON_NONE; /* unknown is a value like another */
	r.het = ERGON_NONE;
	assert_int_equal(put(f->store, r), 1);
	assert_int_equal(put(f->store, r), 0);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ 0 }, &seen), 8);
}

static void a_record_comes_back_whole(void **state)
{
	struct fixture *f = *state;
	struct ergon_record r = record(4294967295, 3, "n1", INT64_C(100000000000000000));
	char before[8192], after[8192];
	struct seen seen;

	strcpy(r.job_name, "'; DROP TABLE record; --");
	strcpy(r.reason, "\xc3\xa9");
	r.start_ns = INT64_C(1796083200123456789);
	r.end_ns = r.start_ns + INT64_C(120000000000);
	r.domain_uj[ERGON_DOMAIN_GPU] = 0;
	r.domain_uj[ERGON_DOMAIN_CORE] = 17;
	r.freq_hz = 0.25;
	r.max_w_mw = 99;
	r.temp_c = -1;
	r.curve.used = ERGON_CURVE_MAX;
	for (int i = 0; i < ERGON_CURVE_MAX; i++)
		r.curve.uj[i] = (uint64_t)1000 << (i % 40);
	r.flags = ERGON_FLAG_WRAPPED | ERGON_FLAG_NOENERGY;
	r.node_uj = 0;            /* the curve is written unscaled */
	assert_int_equal(put(f->store, r), 1);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ 0 }, &seen), 1);
	assert_true(ergon_record_format(&r, before, sizeof(before)) > 0);
	assert_true(ergon_record_format(&seen.records[0], after, sizeof(after)) > 0);
	assert_string_equal(after, before);
	assert_int_equal(seen.records[0].curve.end_ns, INT64_C(120000000000));
}

static void a_rollback_leaves_nothing(void **state)
{
	struct ergon_store_source src = { 42, 1, 2, 3, 4 }, back;
	struct fixture *f = *state;
	struct ergon_error err;
	struct seen seen;

	assert_int_equal(ergon_store_source_get(f->store, "/a", &back, &err), 0);
	assert_int_equal(ergon_store_begin(f->store, &err), 0);
	put(f->store, record(1, 0, "n1", 1));
	assert_int_equal(ergon_store_source_put(f->store, "/a", &src, &err), 0);
	ergon_store_rollback(f->store);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ 0 }, &seen), 0);
	assert_int_equal(ergon_store_source_get(f->store, "/a", &back, &err), 0);

	assert_int_equal(ergon_store_begin(f->store, &err), 0);
	assert_int_equal(ergon_store_source_put(f->store, "/a", &src, &err), 0);
	assert_int_equal(ergon_store_commit(f->store, &err), 0);
	assert_int_equal(ergon_store_source_get(f->store, "/a", &back, &err), 1);
	assert_memory_equal(&src, &back, sizeof(src));
}

static void queries_find_by_job_user_and_time(void **state)
{
	struct fixture *f = *state;
	struct ergon_record r = record(10, 0, "n1", 1);
	struct ergon_store_pick pick = { 10, ERGON_NONE, ERGON_NONE };
	struct ergon_store_user user = { 1000, NULL };
	struct seen seen;

	put(f->store, r);
	r = record(11, 0, "n1", 1);
	r.array_job = 10;
	r.array_task = 4;
	r.uid = 1001;
	strcpy(r.user, "bob");
	r.start_ns = 5000;
	r.end_ns = 6000;
	put(f->store, r);
	r.step = 1;
	r.start_ns = 8000;
	r.end_ns = 9000;
	put(f->store, r);

	assert_int_equal(ask(f->store, (struct ergon_store_query){ .picks = &pick, .npicks = 1 },
			     &seen), 3);
	pick.array_task = 4;
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .picks = &pick, .npicks = 1 },
			     &seen), 2);
	assert_int_equal(seen.records[0].job, 11);
	pick.array_task = 5;
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .picks = &pick, .npicks = 1 },
			     &seen), 0);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .users = &user, .nusers = 1 },
			     &seen), 1);
	user = (struct ergon_store_user){ ERGON_NONE, "bob" };
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .users = &user, .nusers = 1 },
			     &seen), 2);
	user.name = "nobody";
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .users = &user, .nusers = 1 },
			     &seen), 0);
	/* A job between two of its steps ran at that time; all of it is shown. */
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .since_ns = 6500,
			     .until_ns = 7000 }, &seen), 2);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .since_ns = 9500 }, &seen), 0);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .until_ns = 500 }, &seen), 0);
}

static void two_clusters_do_not_mix(void **state)
{
	struct fixture *f = *state;
	struct ergon_store_user user = { 1000, NULL };
	struct ergon_record r = record(10, 0, "n1", 1);
	struct seen seen;

	put(f->store, r);
	strcpy(r.cluster, "c2");
	r.uid = 1001;
	put(f->store, r);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .users = &user, .nusers = 1 },
			     &seen), 1);
	assert_string_equal(seen.records[0].cluster, "c1");
	strcpy(r.cluster, "");
	r.step = ERGON_STEP_EXTERN;
	put(f->store, r);
	assert_int_equal(ask(f->store, (struct ergon_store_query){ .users = &user, .nusers = 1 },
			     &seen), 2);
}

static void readers_and_a_second_writer_get_along(void **state)
{
	struct fixture *f = *state;
	struct ergon_store *reader, *writer;
	struct ergon_error err;
	struct seen seen;

	put(f->store, record(1, 0, "n1", 1));
	reader = ergon_store_open(f->path, ERGON_STORE_READ, &err);
	assert_non_null(reader);
	writer = ergon_store_open(f->path, ERGON_STORE_WRITE, &err);
	assert_non_null(writer);
	assert_int_equal(ergon_store_begin(writer, &err), 0);
	put(writer, record(2, 0, "n1", 1));
	assert_int_equal(ask(reader, (struct ergon_store_query){ 0 }, &seen), 1);
	assert_int_equal(ergon_store_commit(writer, &err), 0);
	assert_int_equal(ask(reader, (struct ergon_store_query){ 0 }, &seen), 2);
	assert_int_equal(ergon_store_put(reader, &seen.records[0], &err), -1);
	ergon_store_close(reader);
	ergon_store_close(writer);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(bad_places_are_refused),
		STORE_TEST(the_file_is_not_for_everyone),
		STORE_TEST(the_better_record_stays),
		STORE_TEST(every_part_of_the_key_counts),
		STORE_TEST(a_record_comes_back_whole),
		STORE_TEST(a_rollback_leaves_nothing),
		STORE_TEST(queries_find_by_job_user_and_time),
		STORE_TEST(two_clusters_do_not_mix),
		STORE_TEST(readers_and_a_second_writer_get_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
