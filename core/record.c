/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a record by hand: no library, no allocation, no locale. Members
 * of one kind are rows of a table, so that a field is one line here.
 */
#include "record.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "flags.h"

struct out {
	char *buf;
	size_t size;
	size_t len;
	bool overflow;
};

static const char *const state_words[] = {
	[ERGON_STATE_RUNNING] = "running",
	[ERGON_STATE_COMPLETE] = "complete",
	[ERGON_STATE_PARTIAL] = "partial",
};

enum kind { TEXT, INTEGER, STATE, RATE, WATTS, DOMAINS, CURVE, FLAGS };

static const struct member {
	const char *name;
	enum kind kind;
	size_t offset;
} members[] = {
#define TEXT_MEMBER(m) { #m, TEXT, offsetof(struct ergon_record, m) }
#define INT_MEMBER(m) { #m, INTEGER, offsetof(struct ergon_record, m) }
	TEXT_MEMBER(cluster),
	INT_MEMBER(job),
	INT_MEMBER(restart),
	INT_MEMBER(step),
	INT_MEMBER(het),
	TEXT_MEMBER(node),
	INT_MEMBER(uid),
	TEXT_MEMBER(user),
	TEXT_MEMBER(account),
	TEXT_MEMBER(partition),
	TEXT_MEMBER(qos),
	TEXT_MEMBER(job_name),
	INT_MEMBER(array_job),
	INT_MEMBER(array_task),
	INT_MEMBER(nnodes),
	INT_MEMBER(ntasks),
	INT_MEMBER(node_tasks),
	INT_MEMBER(cpus),
	INT_MEMBER(node_cpus),
	INT_MEMBER(start_ns),
	INT_MEMBER(end_ns),
	INT_MEMBER(suspended_ns),
	{ "state", STATE, 0 },
	INT_MEMBER(exit_code),
	TEXT_MEMBER(mechanism),
	TEXT_MEMBER(scope),
	TEXT_MEMBER(reason),
	INT_MEMBER(model),
	{ "freq_hz", RATE, offsetof(struct ergon_record, freq_hz) },
	INT_MEMBER(samples),
	INT_MEMBER(missed),
	{ "domains", DOMAINS, 0 },
	INT_MEMBER(node_uj),
	INT_MEMBER(job_uj),
	INT_MEMBER(other_uj),
	INT_MEMBER(unallocated_uj),
	INT_MEMBER(cpu_ns),
	{ "max_w", WATTS, offsetof(struct ergon_record, max_w_mw) },
	{ "curve", CURVE, 0 },
	INT_MEMBER(freq_mhz),
	INT_MEMBER(temp_c),
	{ "flags", FLAGS, 0 },
#undef TEXT_MEMBER
#undef INT_MEMBER
};

void ergon_record_init(struct ergon_record *r)
{
	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].kind == INTEGER || members[i].kind == WATTS)
			*(int64_t *)((char *)r + members[i].offset) = ERGON_NONE;
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		r->domain_uj[d] = ERGON_NONE;
	r->freq_hz = -1;
	r->state = ERGON_STATE_RUNNING;
	ergon_curve_init(&r->curve, ERGON_CURVE_MAX);
}

const char *ergon_state_word(enum ergon_state state)
{
	return (unsigned)state <= ERGON_STATE_PARTIAL ? state_words[state] : "unknown";
}

static void put_bytes(struct out *o, const char *bytes, size_t len)
{
	if (o->overflow || len >= o->size - o->len) {
		o->overflow = true;
		return;
	}
	memcpy(o->buf + o->len, bytes, len);
	o->len += len;
}

static void put(struct out *o, const char *text)
{
	put_bytes(o, text, strlen(text));
}

__attribute__((format(printf, 2, 3)))
static void putf(struct out *o, const char *fmt, ...)
{
	char buf[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	put(o, buf);
}

/*
 * Length of the well-formed UTF-8 sequence at s (RFC 3629: no overlong
 * forms, no surrogates, at most U+10FFFF); 0 when it is not one.
 */
static size_t utf8_length(const unsigned char *s)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 :
		     s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static void put_string(struct out *o, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	put(o, "\"");
	while (*s) {
		size_t len = utf8_length(s);

		if (len == 0)
			put(o, "\xef\xbf\xbd"); /* U+FFFD for each bad byte */
		else if (*s == '"' || *s == '\\')
			putf(o, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			putf(o, "\\u%04x", *s);
		else
			put_bytes(o, (const char *)s, len);
		s += len ? len : 1;
	}
	put(o, "\"");
}

static void put_integer(struct out *o, int64_t value)
{
	if (value == ERGON_NONE)
		put(o, "null");
	else
		putf(o, "%" PRId64, value);
}

/* value / 1000 with up to three decimals; printf's %g would follow the locale. */
static void put_milli(struct out *o, int64_t value)
{
	int digits = 3;
	int64_t part = value % 1000;

	if (value == ERGON_NONE || value < 0) {
		put(o, "null");
		return;
	}
	while (digits > 0 && part % 10 == 0) {
		part /= 10;
		digits--;
	}
	putf(o, "%" PRId64, value / 1000);
	if (digits > 0)
		putf(o, ".%0*" PRId64, digits, part);
}

static void put_domains(struct out *o, const struct ergon_record *r)
{
	bool first = true;

	put(o, "{");
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++) {
		if (r->domain_uj[d] == ERGON_NONE)
			continue;
		putf(o, "%s\"%s\":%" PRId64, first ? "" : ",",
		     ergon_domain_name((enum ergon_domain)d), r->domain_uj[d]);
		first = false;
	}
	put(o, "}");
}

/*
 * The points, scaled by num/den, in mJ. Rounding is of the running sum, so
 * the points add up to the rounded total.
 */
static void put_points(struct out *o, const struct ergon_curve *c, uint64_t num, uint64_t den)
{
	uint64_t sum = 0, written = 0;

	put(o, "[");
	for (int i = 0; i < c->used; i++) {
		uint64_t mj;

		sum += c->uj[i];
		mj = (uint64_t)((unsigned __int128)sum * num / den / 1000);
		putf(o, "%s%" PRIu64, i ? "," : "", mj - written);
		written = mj;
	}
	put(o, "]");
}

static void put_curve(struct out *o, const struct ergon_record *r)
{
	bool scaled = r->job_uj >= 0 && r->node_uj > 0;

	if (r->curve.used == 0) {
		put(o, "null");
		return;
	}
	putf(o, "{\"dt_ns\":%" PRIu64 ",\"job_mj\":", r->curve.dt_ns);
	if (r->job_uj == ERGON_NONE)
		put(o, "null");
	else
		put_points(o, &r->curve, scaled ? (uint64_t)r->job_uj : 1,
			   scaled ? (uint64_t)r->node_uj : 1);
	put(o, ",\"node_mj\":");
	put_points(o, &r->curve, 1, 1);
	put(o, "}");
}

static void put_flags(struct out *o, unsigned flags)
{
	bool first = true;

	put(o, "[");
	for (unsigned bit = 0; bit < ERGON_FLAG_COUNT; bit++) {
		if (!(flags & (1u << bit)))
			continue;
		putf(o, "%s\"%s\"", first ? "" : ",", ergon_flag_word(bit));
		first = false;
	}
	put(o, "]");
}

static void put_member(struct out *o, const struct ergon_record *r, const struct member *m)
{
	const char *p = (const char *)r + m->offset;

	switch (m->kind) {
	case TEXT:
		if (*p)
			put_string(o, p);
		else
			put(o, "null");
		break;
	case INTEGER:
		put_integer(o, *(const int64_t *)p);
		break;
	case STATE:
		putf(o, "\"%s\"", ergon_state_word(r->state));
		break;
	case RATE:
		put_milli(o, r->freq_hz >= 0 && r->freq_hz < 1e12 ?
			  llround(r->freq_hz * 1000) : ERGON_NONE);
		break;
	case WATTS:
		put_milli(o, *(const int64_t *)p);
		break;
	case DOMAINS:
		put_domains(o, r);
		break;
	case CURVE:
		put_curve(o, r);
		break;
	case FLAGS:
		put_flags(o, r->flags);
		break;
	}
}

int ergon_record_format(const struct ergon_record *r, char *buf, size_t size)
{
	struct out o = { buf, size, 0, size == 0 };

	putf(&o, "{\"v\":%d", ERGON_RECORD_VERSION);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		putf(&o, ",\"%s\":", members[i].name);
		put_member(&o, r, &members[i]);
	}
	put(&o, "}");
	if (o.overflow)
		return -1;
	buf[o.len] = '\0';
	return (int)o.len;
}
