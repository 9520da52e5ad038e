/* SPDX-License-Identifier: BSD-3-Clause */
#include "pm_counters.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* "20 digits J 20 digits us" and some space. */
#define TEXT_MAX 80
#define TRIES 3
/* Two scans: a stamp that is new to us and looks older is from another clock. */
#define CLOCK_JUMP_NS 200000000
/*
 * The lives of a counter lie so many joules apart: 5 MW for a century. The
 * first begins in the middle, so there is room for 2^19 of them.
 */
#define LIFE_J (1ull << 44)
#define FIRST_LIFE (1ull << 63)

#define BLANKS " \t\n\r\v\f"

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, BLANKS);
}

/* After the number; NULL + errno. */
static const char *take_number(const char *p, uint64_t *value)
{
	const char *first = p;

	for (*value = 0; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*p - '0'), value)) {
			errno = ERANGE;
			return NULL;
		}
	}
	if (p > first && (!*p || strchr(BLANKS, *p)))
		return skip_blanks(p);
	errno = EINVAL;
	return NULL;
}

/* After the word and what blanks follow it; NULL + errno. */
static const char *take_word(const char *p, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(p, word, len) == 0 && (!p[len] || strchr(BLANKS, p[len])))
		return skip_blanks(p + len);
	errno = EINVAL;
	return NULL;
}

int ergon_pm_parse(const char *text, const char *unit, struct ergon_pm_value *out)
{
	struct ergon_pm_value v = { 0, 0 };
	const char *p = take_number(skip_blanks(text), &v.value);

	if (p && *p && *unit)
		p = take_word(p, unit);
	if (p && *p && *unit) {
		p = take_number(p, &v.us);
		p = p ? take_word(p, "us") : NULL;
	}
	if (!p)
		return -1;
	if (*p) {
		errno = EINVAL;
		return -1;
	}
	*out = v;
	return 0;
}

int ergon_pm_read(int fd, const char *unit, struct ergon_pm_value *out)
{
	char text[TEXT_MAX];
	ssize_t len;

	do {
		len = pread(fd, text, sizeof(text), 0);
	} while (len < 0 && errno == EINTR);
	if (len < 0)
		return -1;
	if ((size_t)len == sizeof(text) || memchr(text, '\0', (size_t)len)) {
		errno = EINVAL;
		return -1;
	}
	text[len] = '\0';
	return ergon_pm_parse(text, unit, out);
}

/* A number that a machine may not have. */
struct mark {
	bool some;
	uint64_t value;
};

static struct mark read_mark(ergon_pm_reader_f *read, void *arg, size_t file)
{
	struct ergon_pm_value v = { 0, 0 };
	struct mark mark = { read(arg, file, &v) == 0, v.value };

	return mark;
}

static bool same(const struct mark *a, const struct mark *b)
{
	return a->some == b->some && a->value == b->value;
}

bool ergon_pm_take(ergon_pm_reader_f *read, void *arg, struct ergon_pm_snapshot *snap)
{
	struct mark fresh = read_mark(read, arg, ERGON_PM_FRESHNESS);
	struct mark startup = read_mark(read, arg, ERGON_PM_STARTUP);
	bool restarted = true;

	snap->torn = true;
	for (int i = 0; i < TRIES && snap->torn; i++) {
		struct mark fresh_after, startup_after;

		for (size_t c = 0; c < snap->n; c++)
			snap->ok[c] = read(arg, ERGON_PM_COUNTERS + c, &snap->values[c]) == 0;
		fresh_after = read_mark(read, arg, ERGON_PM_FRESHNESS);
		startup_after = read_mark(read, arg, ERGON_PM_STARTUP);
		restarted = !same(&startup, &startup_after);
		snap->torn = restarted || !same(&fresh, &fresh_after);
		fresh = fresh_after;
		startup = startup_after;
	}
	snap->has_startup = startup.some;
	snap->startup = startup.value;
	return !restarted;
}

uint64_t ergon_pm_advance(struct ergon_pm_counter *counter, uint64_t value,
			  const struct ergon_pm_snapshot *snap)
{
	bool restarted = snap->has_startup && counter->has_startup &&
			 snap->startup != counter->startup;

	if (!counter->based) {
		counter->based = true;
		counter->base = counter->shown = FIRST_LIFE;
	} else if (restarted || value < counter->last) {
		counter->base -= LIFE_J;
		counter->shown = counter->base;
	} else {
		counter->shown += value - counter->last;
	}
	counter->last = value;
	if (snap->has_startup) {
		counter->has_startup = true;
		counter->startup = snap->startup;
	}
	return counter->shown;
}

uint64_t ergon_pm_time(struct ergon_pm_clock *clock, uint64_t us, uint64_t now_ns)
{
	/* Differences of clocks are signed, and wrap like the clocks. */
	uint64_t offset_ns = now_ns - us * 1000;
	int64_t later_ns = (int64_t)(offset_ns - clock->offset_ns);

	if (!clock->based || later_ns < 0 || (us != clock->last_us && later_ns > CLOCK_JUMP_NS))
		clock->offset_ns = offset_ns;
	clock->based = true;
	clock->last_us = us;
	return us * 1000 + clock->offset_ns;
}
