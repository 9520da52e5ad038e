/* SPDX-License-Identifier: BSD-3-Clause */
/* The log sink is one of the few globals: the host installs it once. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned bit;
} categories[] = {
	{ "general", ERGON_LOG_GENERAL },
	{ "topo", ERGON_LOG_TOPO },
	{ "backend", ERGON_LOG_BACKEND },
	{ "sampler", ERGON_LOG_SAMPLER },
	{ "board", ERGON_LOG_BOARD },
	{ "ledger", ERGON_LOG_LEDGER },
	{ "csv", ERGON_LOG_CSV },
	{ "store", ERGON_LOG_STORE },
	{ "spank", ERGON_LOG_SPANK },
	{ "all", ~0u },
};

static ergon_log_sink_f *log_sink;
static unsigned log_mask;

void ergon_log_set_sink(ergon_log_sink_f *sink)
{
	log_sink = sink;
}

void ergon_log_to_stderr(enum ergon_log_level level, const char *line)
{
	(void)level;
	fprintf(stderr, "ergon: %s\n", line);
}

unsigned ergon_log_enable(const char *list)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");

		for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
			if (strlen(categories[i].name) == len &&
			    strncmp(categories[i].name, list, len) == 0)
				log_mask |= categories[i].bit;
		list += len + (list[len] == ',');
	}
	return log_mask;
}

void ergon_log(enum ergon_log_level level, unsigned category,
	       const char *fmt, ...)
{
	char line[1024];
	int saved = errno;
	va_list ap;

	if (!log_sink || (level == ERGON_LOG_DEBUG && !(log_mask & category)))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_sink(level, line);
	errno = saved;
}
