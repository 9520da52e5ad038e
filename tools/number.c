/* SPDX-License-Identifier: BSD-3-Clause */
#include "number.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

const struct number_fault number_negative = { PROBLEM_VALUE, "is negative" };

static const struct number_fault
	not_given = { PROBLEM_NUMBER, "is empty" },
	not_number = { PROBLEM_NUMBER, "is not a number" },
	not_integer = { PROBLEM_NUMBER, "is not an integer" },
	decimal_comma = { PROBLEM_NUMBER, "has a decimal comma: it was written or edited in another locale" },
	too_large = { PROBLEM_NUMBER, "is too large" },
	not_finite = { PROBLEM_VALUE, "is not finite" };

static const struct number_fault *refuse_word(const char *text)
{
	if (*text == '\0')
		return &not_given;
	text += *text == '-' || *text == '+';
	if (strncasecmp(text, "nan", 3) == 0 || strncasecmp(text, "inf", 3) == 0)
		return &not_finite;
	return &not_number;
}

/* 10^n for n >= 0; exact up to 10^27, where a 64-bit significand ends. */
static long double power_of_ten(int n)
{
	static const long double exact[] = {
		1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L,
		1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
		1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
	};

	return n < (int)(sizeof(exact) / sizeof(exact[0])) ? exact[n] : powl(10, n);
}

const struct number_fault *number_amount(const char *text, double *out)
{
	const char *s = text + (*text == '-');
	uint64_t digits = 0;
	int scale = 0, exponent = 0, seen = 0;
	bool point = false;
	long double value;

	for (;; s++) {
		if (*s == '.' && !point) {
			point = true;
		} else if (*s >= '0' && *s <= '9') {
			seen++;
			if (digits < UINT64_MAX / 10 - 1) {
				digits = 10 * digits + (unsigned)(*s - '0');
				scale -= point;
			} else if (!point && ++scale > 400) {
				return &too_large;
			}
		} else {
			break;
		}
	}
	if (seen == 0)
		return refuse_word(text);
	if (*s == ',')
		return &decimal_comma;
	if (*s == 'e' || *s == 'E') {
		int sign = s[1] == '-' ? -1 : 1;

		s += 1 + (s[1] == '-' || s[1] == '+');
		if (*s < '0' || *s > '9')
			return &not_number;
		for (; *s >= '0' && *s <= '9'; s++)
			exponent = exponent < 10000 ? 10 * exponent + (*s - '0') : exponent;
		scale += sign * exponent;
	}
	if (*s)
		return &not_number;
	value = digits;
	if (scale < 0)
		value /= power_of_ten(-scale);
	else if (scale > 0)
		value *= power_of_ten(scale);
	if (*text == '-' && digits > 0)
		return &number_negative;
	if (!(value <= (long double)NUMBER_MAX_AMOUNT))
		return &too_large;
	*out = (double)value;
	return NULL;
}

const struct number_fault *number_count(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;
	const char *s = text;

	for (; *s >= '0' && *s <= '9'; s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (value > (max - digit) / 10)
			return &too_large;
		value = 10 * value + digit;
	}
	if (*s == '-' && s == text && s[1] >= '0' && s[1] <= '9')
		return &number_negative;
	if (s == text)
		return refuse_word(text);
	if (*s)
		return &not_integer;
	*out = value;
	return NULL;
}
