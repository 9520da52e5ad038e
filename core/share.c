/* SPDX-License-Identifier: BSD-3-Clause */
#include "share.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* uj * part / whole, part clamped to [0, whole]; 0 when whole is not positive. */
static uint64_t portion(uint64_t uj, int64_t part, int64_t whole)
{
	if (whole <= 0 || part <= 0)
		return 0;
	if (part >= whole)
		return uj;
	return (uint64_t)((unsigned __int128)uj * (uint64_t)part / (uint64_t)whole);
}

bool ergon_share_is_whole(const struct ergon_usage *u)
{
	return u->cpus_node > 0 && u->cpus_job >= u->cpus_node;
}

void ergon_share_split(const struct ergon_usage *u, struct ergon_split *out)
{
	uint64_t idle = 0, dynamic, idle_job, dynamic_job;
	double idle_uj;

	if (ergon_share_is_whole(u)) {
		*out = (struct ergon_split){ u->node_uj, 0, 0 };
		return;
	}
	idle_uj = u->idle_w * (double)u->dt_ns * 1e-3; /* W * ns = nJ */
	if (idle_uj >= (double)u->node_uj)
		idle = u->node_uj;
	else if (idle_uj > 0)
		idle = (uint64_t)idle_uj;
	dynamic = u->node_uj - idle;

	idle_job = portion(idle, u->cpus_job, u->cpus_node);
	if (u->cpu_job_ns < 0 || u->cpu_busy_ns < 0)
		dynamic_job = portion(dynamic, u->cpus_job, u->cpus_node);
	else
		dynamic_job = portion(dynamic, u->cpu_job_ns, u->cpu_busy_ns);
	out->job_uj = idle_job + dynamic_job;
	out->other_uj = dynamic - dynamic_job;
	out->unallocated_uj = idle - idle_job;
}

/* Digits in one range "LOW[-HIGH]" of a bracket; len: its length. */
static bool in_range(const char *range, size_t len, const char *digits, size_t ndigits)
{
	char *end;
	unsigned long low = strtoul(range, &end, 10), high = low, value;
	size_t width = (size_t)(end - range);

	if (end < range + len && *end == '-')
		high = strtoul(end + 1, &end, 10);
	if (end != range + len || width == 0)
		return false;
	value = strtoul(digits, NULL, 10);
	/* "01" means two digits; a plain number has none to spare. */
	if (range[0] == '0' && width > 1 ? ndigits != width : ndigits > 1 && digits[0] == '0')
		return false;
	return value >= low && value <= high;
}

static bool in_bracket(const char *ranges, const char *close, const char *digits, size_t ndigits)
{
	while (ndigits > 0 && ranges < close) {
		size_t len = strcspn(ranges, ",]");

		if (in_range(ranges, len, digits, ndigits))
			return true;
		ranges += len + 1;
	}
	return false;
}

/* Does the pattern of len characters ("n[1-9]-ib") name the node? */
static bool names_node(const char *pattern, size_t len, const char *node)
{
	const char *end = pattern + len;

	while (pattern < end) {
		const char *close = memchr(pattern, ']', (size_t)(end - pattern));
		size_t digits = 0;

		if (*pattern != '[' || !close) {
			if (*pattern++ != *node++)
				return false;
			continue;
		}
		while (isdigit((unsigned char)node[digits]))
			digits++;
		if (!in_bracket(pattern + 1, close, node, digits))
			return false;
		node += digits;
		pattern = close + 1;
	}
	return *node == '\0';
}

double ergon_idle_watts(const char *list, const char *node)
{
	while (*list) {
		bool bracket = false;
		size_t len = 0, name_len;
		const char *colon;

		for (; list[len] && (bracket || list[len] != ','); len++)
			bracket = list[len] == '[' || (bracket && list[len] != ']');
		colon = memchr(list, ':', len);
		name_len = colon ? (size_t)(colon - list) : 0;
		if (len > 0 && (!colon || names_node(list, name_len, node))) {
			double watts = strtod(colon ? colon + 1 : list, NULL);

			return watts > 0 ? watts : 0;
		}
		list += len + (list[len] == ',');
	}
	return 0;
}
