/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of backends, and what they share. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

const struct ergon_backend *const ergon_backends[] = {
	&ergon_backend_perf,
	&ergon_backend_powercap,
	&ergon_backend_msr,
	&ergon_backend_ebpf,
	&ergon_backend_hwmon,
	&ergon_backend_cray,
	&ergon_backend_dcmi,
	&ergon_backend_nvml,
	&ergon_backend_rocm,
	&ergon_backend_model,
	NULL
};

static const char *const probe_words[ERGON_PROBE_COUNT] = {
#define X(c, w) w,
	ERGON_PROBE_TABLE(X)
#undef X
};

/* More than any machine draws today: the guard is for garbage, not for doubt. */
static const double generous_watts[ERGON_DOMAIN_COUNT] = {
	[ERGON_DOMAIN_PACKAGE] = 2000,
	[ERGON_DOMAIN_CORE] = 2000,
	[ERGON_DOMAIN_UNCORE] = 1000,
	[ERGON_DOMAIN_DRAM] = 1000,
	[ERGON_DOMAIN_PLATFORM] = 100000,
	[ERGON_DOMAIN_GPU] = 5000,
	[ERGON_DOMAIN_NODE] = 100000,
	[ERGON_DOMAIN_CPU] = 4000,
	[ERGON_DOMAIN_IO] = 5000,
	[ERGON_DOMAIN_SOC] = 5000,
	[ERGON_DOMAIN_MODULE] = 10000,
};

const struct ergon_backend *ergon_backend_by_name(const char *name)
{
	for (size_t i = 0; ergon_backends[i]; i++)
		if (strcmp(ergon_backends[i]->name, name) == 0)
			return ergon_backends[i];
	return NULL;
}

bool ergon_mechanisms_unknown(const char *list, char *word, size_t size)
{
	snprintf(word, size, "%s", list);
	if (!*list)
		return true;
	for (const char *p = list; *p; p += strspn(p, ",+")) {
		size_t len = strcspn(p, ",+");

		snprintf(word, size, "%.*s", (int)len, p);
		if (strcmp(word, "auto") != 0 && !ergon_backend_by_name(word))
			return true;
		p += len;
	}
	return false;
}

const char *ergon_probe_word(enum ergon_probe_state state)
{
	return (unsigned)state < ERGON_PROBE_COUNT ? probe_words[state] : "unknown";
}

double ergon_machine_max_watts(const struct ergon_machine *m, enum ergon_domain domain)
{
	return m->max_watts[domain] > 0 ? m->max_watts[domain] : generous_watts[domain];
}

void ergon_make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

void ergon_probe_set(struct ergon_probe *probe, enum ergon_probe_state state, const char *remedy,
		     const char *reason_fmt, ...)
{
	va_list ap;

	probe->state = state;
	snprintf(probe->remedy, sizeof(probe->remedy), "%s", remedy);
	va_start(ap, reason_fmt);
	vsnprintf(probe->reason, sizeof(probe->reason), reason_fmt, ap);
	va_end(ap);
	ergon_make_printable(probe->reason);
}

void ergon_probe_error(const char *name, const struct ergon_probe *probe, struct ergon_error *err)
{
	ergon_error_set(err, "%s: %s%s%s", name, probe->reason, *probe->remedy ? "; " : "",
			probe->remedy);
}

void ergon_drop(struct ergon_drops *drops, const char *what, const char *why_fmt, ...)
{
	struct ergon_dropped *grown;
	int saved = errno;
	va_list ap;

	if (!drops)
		return;
	grown = realloc(drops->items, (drops->n + 1) * sizeof(*grown));
	if (grown) {
		drops->items = grown;
		grown += drops->n++;
		snprintf(grown->what, sizeof(grown->what), "%s", what);
		va_start(ap, why_fmt);
		vsnprintf(grown->why, sizeof(grown->why), why_fmt, ap);
		va_end(ap);
		ergon_make_printable(grown->what);
		ergon_make_printable(grown->why);
	}
	errno = saved;
}

void ergon_drops_free(struct ergon_drops *drops)
{
	free(drops->items);
	*drops = (struct ergon_drops){ NULL, 0 };
}

void ergon_channel_set_name(struct ergon_channel *ch)
{
	const char *domain = ergon_domain_name(ch->domain);

	if (ch->package < 0)
		snprintf(ch->name, sizeof(ch->name), "%s", domain);
	else if (ch->die < 0)
		snprintf(ch->name, sizeof(ch->name), "%s%d", domain, ch->package);
	else
		snprintf(ch->name, sizeof(ch->name), "%s%d-die%d", domain, ch->package, ch->die);
}
