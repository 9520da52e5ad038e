/* SPDX-License-Identifier: BSD-3-Clause */
#include "rate.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Rates are kept to a millionth of a hertz. */
#define DECIMALS 6
#define MICRO 1000000u

/* The number in millionths; 0 when it is none, or beyond anything that is a rate. */
static uint64_t parse_micro(const char *text)
{
	uint64_t value = 0;
	int decimals = -1;
	bool digits = false;

	for (; *text; text++) {
		if (*text == '.' && decimals < 0) {
			decimals = 0;
		} else if (*text >= '0' && *text <= '9') {
			digits = true;
			if (decimals == DECIMALS)
				continue;
			if (value > UINT32_MAX)
				return 0;
			value = value * 10 + (unsigned)(*text - '0');
			decimals += decimals >= 0;
		} else {
			return 0;
		}
	}
	for (int i = decimals < 0 ? 0 : decimals; i < DECIMALS; i++)
		value *= 10;
	return digits ? value : 0;
}

int ergon_rate_parse(const char *text, struct ergon_rate *rate)
{
	struct ergon_rate result = { ERGON_HZ_AUTO, true };

	if (strcmp(text, "auto") != 0) {
		result.adapt = strncmp(text, "auto:", 5) == 0;
		result.hz = (double)parse_micro(text + (result.adapt ? 5 : 0)) / MICRO;
	}
	if (result.hz < ERGON_HZ_MIN || result.hz > ERGON_HZ_MAX)
		return -1;
	*rate = result;
	return 0;
}

char *ergon_rate_format(const struct ergon_rate *rate, char *buf, size_t size)
{
	uint64_t micro = (uint64_t)(rate->hz * MICRO + 0.5);
	char fraction[DECIMALS + 2];
	size_t len;

	snprintf(fraction, sizeof(fraction), ".%06u", (unsigned)(micro % MICRO));
	len = sizeof(fraction) - 1;
	while (len > 0 && (fraction[len - 1] == '0' || fraction[len - 1] == '.'))
		fraction[--len] = '\0';
	snprintf(buf, size, "%s%u%s", rate->adapt ? "auto:" : "", (unsigned)(micro / MICRO), fraction);
	return buf;
}
