/* SPDX-License-Identifier: BSD-3-Clause */
#include "acct_time.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NS_PER_S INT64_C(1000000000)

static const struct {
	const char *word;
	int hour;
} hours[] = {
	{ "today", 0 }, { "midnight", 0 }, { "noon", 12 }, { "fika", 15 }, { "teatime", 16 },
};

static const struct {
	const char *word;
	long seconds;
} units[] = {
	{ "seconds", 1 }, { "minutes", 60 }, { "hours", 3600 }, { "days", 86400 },
	{ "weeks", 7 * 86400 },
};

/* "now", then nothing or a sign, a number and a unit. */
static int parse_now(const char *text, time_t now, time_t *result)
{
	const char *unit;
	char *end;
	long number;

	if (*text == '\0') {
		*result = now;
		return 0;
	}
	if ((*text != '+' && *text != '-') || !isdigit((unsigned char)text[1]))
		return -1;
	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || number > 1000000000 || number < -1000000000)
		return -1;
	unit = *end ? end : "seconds";
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strncasecmp(units[i].word, unit, strlen(unit)) == 0) {
			*result = now + number * units[i].seconds;
			return 0;
		}
	}
	return -1;
}

/* Take a number of exactly so many digits, in its range, off the front of *text. */
static int take(const char **text, int digits, int min, int max, int *value)
{
	*value = 0;
	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)**text))
			return -1;
		*value = *value * 10 + *(*text)++ - '0';
	}
	return *value >= min && *value <= max ? 0 : -1;
}

static int take_char(const char **text, char c)
{
	if (**text != c)
		return -1;
	(*text)++;
	return 0;
}

/* HH:MM[:SS] */
static int parse_clock(const char *text, struct tm *tm)
{
	tm->tm_sec = 0;
	if (take(&text, 2, 0, 23, &tm->tm_hour) < 0 || take_char(&text, ':') < 0 ||
	    take(&text, 2, 0, 59, &tm->tm_min) < 0)
		return -1;
	if (*text == ':' && (text++, take(&text, 2, 0, 59, &tm->tm_sec) < 0))
		return -1;
	return *text ? -1 : 0;
}

static int parse_date(const char *text, struct tm *tm)
{
	int year, month, day;

	if (take(&text, 4, 1970, 9999, &year) < 0 || take_char(&text, '-') < 0 ||
	    take(&text, 2, 1, 12, &month) < 0 || take_char(&text, '-') < 0 ||
	    take(&text, 2, 1, 31, &day) < 0)
		return -1;
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
	if (*text == '\0')
		return 0;
	return take_char(&text, 'T') < 0 ? -1 : parse_clock(text, tm);
}

int ergon_acct_time_parse(const char *text, time_t now, time_t *result)
{
	struct tm tm;
	time_t t;

	if (strncasecmp(text, "now", 3) == 0)
		return parse_now(text + 3, now, result);
	if (!localtime_r(&now, &tm))
		return -1;
	tm.tm_isdst = -1;
	for (size_t i = 0; i < sizeof(hours) / sizeof(hours[0]); i++) {
		if (strcasecmp(text, hours[i].word) != 0)
			continue;
		tm.tm_hour = hours[i].hour;
		tm.tm_min = tm.tm_sec = 0;
		*result = mktime(&tm);
		return 0;
	}
	if (parse_clock(text, &tm) < 0 && parse_date(text, &tm) < 0)
		return -1;
	t = mktime(&tm);
	if (t == (time_t)-1)
		return -1;
	*result = t;
	return 0;
}

char *ergon_acct_time_format(int64_t ns, char *buf, size_t size)
{
	time_t t = (time_t)(ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&t, &tm) || strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		snprintf(buf, size, "Unknown");
	return buf;
}

char *ergon_acct_elapsed_format(int64_t ns, char *buf, size_t size)
{
	int64_t s = ns / NS_PER_S, days = s / 86400;
	int used = 0;

	if (days > 0)
		used = snprintf(buf, size, "%02" PRId64 "-", days);
	snprintf(buf + used, size - (size_t)used, "%02d:%02d:%02d", (int)(s / 3600 % 24),
		 (int)(s / 60 % 60), (int)(s % 60));
	return buf;
}
