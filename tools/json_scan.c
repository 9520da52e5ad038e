/* SPDX-License-Identifier: BSD-3-Clause */
/* RFC 8259 without extensions. Nothing is looked at twice. */
#include "json_scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32

static int fail(struct ergon_json *j, const char *why)
{
	j->why = why;
	return -1;
}

void ergon_json_start(struct ergon_json *j, const char *text, size_t len)
{
	j->at = text;
	j->end = text + len;
	j->why = NULL;
}

int ergon_json_finish(struct ergon_json *j)
{
	ergon_json_peek(j);
	return j->at == j->end ? 0 : fail(j, "text after the end of the object");
}

int ergon_json_expect(struct ergon_json *j, char c)
{
	if (ergon_json_peek(j) != c || j->at == j->end)
		return fail(j, c == '{' ? "not an object" : c == '[' ? "not an array" :
			    c == '"' ? "not a string" : "not valid JSON");
	j->at++;
	return 0;
}

static bool take_word(struct ergon_json *j, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(j->end - j->at) < len || memcmp(j->at, word, len) != 0)
		return false;
	j->at += len;
	return true;
}

bool ergon_json_take_null(struct ergon_json *j)
{
	return ergon_json_peek(j) == 'n' && take_word(j, "null");
}

/* Length of the valid UTF-8 sequence at p (RFC 3629), 0 when there is none. */
static int utf8_length(const unsigned char *p, const unsigned char *end)
{
	int len = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	if (len == 0 || end - p < len)
		return 0;
	for (int i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

static int hex4(struct ergon_json *j, unsigned *code)
{
	*code = 0;
	if (j->end - j->at < 4)
		return fail(j, "incomplete \\u escape");
	for (int i = 0; i < 4; i++) {
		char c = *j->at++;
		int digit = c >= '0' && c <= '9' ? c - '0' :
			    c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return fail(j, "incomplete \\u escape");
		*code = *code << 4 | (unsigned)digit;
	}
	return 0;
}

static int utf8_write(unsigned code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* After "\u": up to two escapes make one character. */
static int unicode_escape(struct ergon_json *j, char out[4])
{
	unsigned code, low;

	if (hex4(j, &code) < 0)
		return -1;
	if (code == 0)
		return fail(j, "contains a NUL");
	if (code >= 0xdc00 && code < 0xe000)
		return fail(j, "lone surrogate");
	if (code >= 0xd800 && code < 0xdc00) {
		if (!take_word(j, "\\u") || hex4(j, &low) < 0 || low < 0xdc00 || low > 0xdfff)
			return fail(j, "lone surrogate");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	return utf8_write(code, out);
}

/* After a backslash. */
static int escape(struct ergon_json *j, char out[4])
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (j->at == j->end)
		return fail(j, "string without end");
	if (*j->at == 'u') {
		j->at++;
		return unicode_escape(j, out);
	}
	found = *j->at ? strchr(from, *j->at) : NULL;
	if (!found)
		return fail(j, "unknown escape");
	j->at++;
	out[0] = to[found - from];
	return 1;
}

/* Bytes that stand for themselves, one after the other: most strings are one such run. */
static size_t plain_run(const struct ergon_json *j)
{
	const char *p = j->at;

	while (p < j->end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 &&
	       *p != '"' && *p != '\\')
		p++;
	return (size_t)(p - j->at);
}

/* One escape or multi-byte character into out; its length. */
static int special(struct ergon_json *j, char out[4])
{
	unsigned char c = (unsigned char)*j->at;
	int len;

	if (c < 0x20)
		return fail(j, c ? "contains a control character" : "contains a NUL");
	if (c == '\\') {
		j->at++;
		return escape(j, out);
	}
	len = utf8_length((const unsigned char *)j->at, (const unsigned char *)j->end);
	if (len == 0)
		return fail(j, "invalid UTF-8");
	memcpy(out, j->at, (size_t)len);
	j->at += len;
	return len;
}

int ergon_json_string(struct ergon_json *j, char *buf, size_t size)
{
	size_t used = 0;

	if (ergon_json_expect(j, '"') < 0)
		return -1;
	for (;;) {
		size_t run = plain_run(j);
		char out[4];
		int len;

		if (used + run >= size)
			return fail(j, "too long");
		memcpy(buf + used, j->at, run);
		used += run;
		j->at += run;
		if (j->at == j->end)
			return fail(j, "string without end");
		if (*j->at == '"')
			break;
		len = special(j, out);
		if (len < 0)
			return -1;
		if (used + (size_t)len >= size)
			return fail(j, "too long");
		memcpy(buf + used, out, (size_t)len);
		used += (size_t)len;
	}
	j->at++;
	buf[used] = '\0';
	return (int)used;
}

static bool digit_next(const struct ergon_json *j)
{
	return j->at < j->end && *j->at >= '0' && *j->at <= '9';
}

int ergon_json_integer(struct ergon_json *j, int64_t *value)
{
	bool negative = ergon_json_peek(j) == '-';
	const char *first;
	int64_t sum = 0;

	j->at += negative;
	first = j->at;
	if (!digit_next(j))
		return fail(j, "not an integer");
	/* Summed downwards: INT64_MIN has no positive twin. */
	while (digit_next(j))
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_sub_overflow(sum, *j->at++ - '0', &sum))
			return fail(j, "out of range");
	if ((*first == '0' && j->at - first > 1) ||
	    (j->at < j->end && (*j->at == '.' || *j->at == 'e' || *j->at == 'E')))
		return fail(j, "not an integer");
	if (!negative && sum == INT64_MIN)
		return fail(j, "out of range");
	*value = negative ? sum : -sum;
	return 0;
}

static int skip_digits(struct ergon_json *j)
{
	if (!digit_next(j))
		return fail(j, "not a number");
	while (digit_next(j))
		j->at++;
	return 0;
}

static int skip_number(struct ergon_json *j)
{
	const char *first;

	if (j->at < j->end && *j->at == '-')
		j->at++;
	first = j->at;
	if (skip_digits(j) < 0)
		return -1;
	if (*first == '0' && j->at - first > 1)
		return fail(j, "not a number");
	if (j->at < j->end && *j->at == '.') {
		j->at++;
		if (skip_digits(j) < 0)
			return -1;
	}
	if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
		j->at++;
		if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
			j->at++;
		if (skip_digits(j) < 0)
			return -1;
	}
	return 0;
}

int ergon_json_real(struct ergon_json *j, double *value)
{
	const char *first;
	char copy[64];
	double parsed;
	size_t len;

	ergon_json_peek(j);
	first = j->at;
	if (skip_number(j) < 0)
		return -1;
	len = (size_t)(j->at - first);
	if (len >= sizeof(copy))
		return fail(j, "too long");
	memcpy(copy, first, len);
	copy[len] = '\0';
	parsed = strtod(copy, NULL);
	if (!isfinite(parsed))
		return fail(j, "out of range");
	*value = parsed;
	return 0;
}

static int skip_string(struct ergon_json *j)
{
	char none[65536];         /* no line of a journal is longer */

	return ergon_json_string(j, none, sizeof(none));
}

static int skip_value(struct ergon_json *j, int depth)
{
	char open = ergon_json_peek(j);
	bool first = true;
	int more;

	switch (open) {
	case '"':
		return skip_string(j) < 0 ? -1 : 0;
	case 'n':
	case 't':
	case 'f':
		if (take_word(j, "null") || take_word(j, "true") || take_word(j, "false"))
			return 0;
		return fail(j, "not valid JSON");
	case '{':
	case '[':
		break;
	default:
		return skip_number(j) < 0 ? fail(j, "not valid JSON") : 0;
	}
	if (depth == DEPTH_MAX)
		return fail(j, "nested too deep");
	j->at++;
	while ((more = ergon_json_next(j, open == '{' ? '}' : ']', &first)) > 0) {
		if (open == '{' && (skip_string(j) < 0 || ergon_json_expect(j, ':') < 0))
			return -1;
		if (skip_value(j, depth + 1) < 0)
			return -1;
	}
	return more;
}

int ergon_json_skip(struct ergon_json *j)
{
	return skip_value(j, 0);
}

int ergon_json_next(struct ergon_json *j, char close, bool *first)
{
	if (ergon_json_peek(j) == close && j->at < j->end) {
		j->at++;
		return 0;
	}
	if (!*first && ergon_json_expect(j, ',') < 0)
		return -1;
	/* A comma must be followed by an element. */
	if (!*first && ergon_json_peek(j) == close)
		return fail(j, "not valid JSON");
	*first = false;
	return 1;
}

bool ergon_json_take_member(struct ergon_json *j, const char *name)
{
	const char *at;

	if (ergon_json_peek(j) != '"')
		return false;
	for (at = j->at + 1; *name && at < j->end && *at == *name; at++)
		name++;
	if (*name || j->end - at < 2 || at[0] != '"' || at[1] != ':')
		return false;
	j->at = at + 2;
	return true;
}

int ergon_json_member(struct ergon_json *j, char *buf, size_t size)
{
	int len = ergon_json_string(j, buf, size);

	if (len < 0 || ergon_json_expect(j, ':') < 0)
		return -1;
	return len;
}
