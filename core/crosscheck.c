/* SPDX-License-Identifier: BSD-3-Clause */
#include "crosscheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delta.h"
#include "flags.h"
#include "scope.h"

#define WINDOW_NS 1000000000u
#define UPDATE_NS 1000000u
#define TOLERANCE 0.01
/* Where no sound second can be had it is given up: each try costs a read. */
#define MAX_TRIES 5

/* Flags of readings that say that an interval's energy is not to be relied on. */
#define UNSOUND (ERGON_FLAG_GAP | ERGON_FLAG_RESET | ERGON_FLAG_GLITCH)

struct ergon_crosscheck {
	struct ergon_meter *other;
	char names[2][32];
	size_t n;
	struct ergon_crosscheck_pair pairs[ERGON_METER_MAX_CHANNELS];
	size_t at[ERGON_METER_MAX_CHANNELS][2]; /* the channel in each meter */
	double unit_j[ERGON_METER_MAX_CHANNELS][2];
	struct ergon_reading first[2], last;
	bool started, over;
	int tries;
	uint64_t dt_ns;
};

double ergon_crosscheck_allowed_j(double a, double b, double unit_a_j, double unit_b_j,
				  uint64_t dt_ns)
{
	double more = a > b ? a : b;
	double update = dt_ns ? more * UPDATE_NS / (double)dt_ns : 0;

	return 2 * (unit_a_j + unit_b_j + update) + TOLERANCE * more;
}

/* Channels of both meters that measure the same by different mechanisms. */
static void match(struct ergon_crosscheck *check, const struct ergon_meter *meter)
{
	const struct ergon_channel *ours, *theirs;
	size_t nours = ergon_meter_channels(meter, &ours);
	size_t ntheirs = ergon_meter_channels(check->other, &theirs);

	for (size_t i = 0; i < nours; i++) {
		for (size_t k = 0; k < ntheirs; k++) {
			if (!ergon_scope_same(&ours[i], &theirs[k]) ||
			    strcmp(ours[i].source, theirs[k].source) == 0)
				continue;
			snprintf(check->pairs[check->n].name, sizeof(check->pairs[0].name), "%s",
				 ours[i].name);
			snprintf(check->names[0], sizeof(check->names[0]), "%s", ours[i].source);
			snprintf(check->names[1], sizeof(check->names[1]), "%s", theirs[k].source);
			check->unit_j[check->n][0] = ours[i].unit_j;
			check->unit_j[check->n][1] = theirs[k].unit_j;
			check->at[check->n][0] = i;
			check->at[check->n++][1] = k;
			break;
		}
	}
}

static struct ergon_crosscheck *try_other(const struct ergon_machine *m,
					  const struct ergon_meter *meter, const char *name,
					  struct ergon_error *err)
{
	struct ergon_crosscheck *check = calloc(1, sizeof(*check));

	if (!check) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	check->other = ergon_meter_open(m, name, false, err);
	if (check->other)
		match(check, meter);
	if (check->n > 0)
		return check;
	if (check->other)
		ergon_error_set(err, "%s measures nothing that %s does", name,
				ergon_meter_mechanism(meter));
	ergon_crosscheck_close(check);
	return NULL;
}

/* The group of a channel's backend; NULL: none. */
static const char *group_of(const struct ergon_meter *meter, char *source, size_t size)
{
	const struct ergon_channel *channels;
	size_t n = ergon_meter_channels(meter, &channels);

	for (size_t i = 0; i < n; i++) {
		const struct ergon_backend *backend = ergon_backend_by_name(channels[i].source);

		if (backend && backend->group) {
			snprintf(source, size, "%s", channels[i].source);
			return backend->group;
		}
	}
	return NULL;
}

struct ergon_crosscheck *ergon_crosscheck_open(const struct ergon_machine *m,
					       const struct ergon_meter *meter,
					       const char *other, struct ergon_error *err)
{
	char source[32] = "";
	const char *group = group_of(meter, source, sizeof(source));

	if (other)
		return try_other(m, meter, other, err);
	ergon_error_set(err, "no second mechanism for the same counters");
	for (size_t i = 0; group && ergon_backends[i]; i++) {
		const struct ergon_backend *backend = ergon_backends[i];
		struct ergon_crosscheck *check;

		if (!backend->group || strcmp(backend->group, group) != 0 ||
		    strcmp(backend->name, source) == 0 || !backend->automatic ||
		    backend == &ergon_backend_perf)
			continue;
		check = try_other(m, meter, backend->name, err);
		if (check)
			return check;
	}
	return NULL;
}

void ergon_crosscheck_close(struct ergon_crosscheck *check)
{
	if (!check)
		return;
	ergon_meter_close(check->other);
	free(check);
}

/* One side's energy of a pair between its two readings. */
static double joules(const struct ergon_crosscheck *check, size_t pair, int side,
		     const struct ergon_reading *last)
{
	size_t at = check->at[pair][side];

	return (double)(last->counts[at] - check->first[side].counts[at]) *
	       check->unit_j[pair][side];
}

static void compare(struct ergon_crosscheck *check, const struct ergon_reading *mine,
		    const struct ergon_reading *theirs)
{
	check->dt_ns = mine->t_ns - check->first[0].t_ns;
	for (size_t i = 0; i < check->n; i++) {
		struct ergon_crosscheck_pair *pair = &check->pairs[i];

		pair->joules[0] = joules(check, i, 0, mine);
		pair->joules[1] = joules(check, i, 1, theirs);
		pair->allowed_j = ergon_crosscheck_allowed_j(pair->joules[0], pair->joules[1],
			check->unit_j[i][0], check->unit_j[i][1], check->dt_ns);
		pair->agree = fabs(pair->joules[0] - pair->joules[1]) <= pair->allowed_j;
	}
}

bool ergon_crosscheck_feed(struct ergon_crosscheck *check, const struct ergon_reading *reading)
{
	if (check->over)
		return false;
	if (!check->started) {
		check->over = ++check->tries > MAX_TRIES;
		check->first[0] = *reading;
		ergon_meter_read(check->other, &check->first[1]);
		/* Late: whatever held us up lies between the two readings. */
		check->started = check->first[1].t_ns - reading->t_ns < UPDATE_NS;
		return !check->over;
	}
	if ((reading->flags | check->first[1].flags) & UNSOUND) {
		check->started = false;
		return true;
	}
	if (reading->t_ns - check->first[0].t_ns < WINDOW_NS)
		return true;
	ergon_meter_read(check->other, &check->last);
	if (check->last.flags & UNSOUND || check->last.t_ns - reading->t_ns >= UPDATE_NS) {
		check->started = false;
		return true;
	}
	compare(check, reading, &check->last);
	check->over = true;
	return false;
}

const char *ergon_crosscheck_other(const struct ergon_crosscheck *check)
{
	return check->names[1];
}

uint64_t ergon_crosscheck_pairs(const struct ergon_crosscheck *check,
				const struct ergon_crosscheck_pair **pairs, size_t *n)
{
	*pairs = check->pairs;
	*n = check->n;
	return check->dt_ns;
}

char *ergon_crosscheck_verdict(const struct ergon_crosscheck *check, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; check->dt_ns && i < check->n && used < size; i++) {
		const struct ergon_crosscheck_pair *p = &check->pairs[i];

		if (p->agree)
			continue;
		used += (size_t)snprintf(buf + used, size - used, "%s%s: %s %.6g J, %s %.6g J",
					 used ? "; " : "", p->name, check->names[0], p->joules[0],
					 check->names[1], p->joules[1]);
		if (p->joules[0] > 0 && used < size)
			used += (size_t)snprintf(buf + used, size - used, " (1 : %.2f)",
						 p->joules[1] / p->joules[0]);
	}
	return buf;
}
