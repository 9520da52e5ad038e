/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Diagnostics for people who asked for them. Silent by default: the host
 * chooses a sink (stderr in our tools, slurm_* in the plugin), ERGON_DEBUG
 * chooses the categories. Never call these in a counter's read path.
 */
#ifndef ERGON_LOG_H
#define ERGON_LOG_H

enum ergon_log_level {
	ERGON_LOG_ERROR,
	ERGON_LOG_WARNING,
	ERGON_LOG_DEBUG
};

/* Categories of ERGON_LOG_DEBUG messages; errors and warnings always pass. */
enum ergon_log_category {
	ERGON_LOG_GENERAL = 1u << 0,
	ERGON_LOG_TOPO    = 1u << 1,
	ERGON_LOG_BACKEND = 1u << 2,
	ERGON_LOG_SAMPLER = 1u << 3,
	ERGON_LOG_BOARD   = 1u << 4,
	ERGON_LOG_LEDGER  = 1u << 5,
	ERGON_LOG_CSV     = 1u << 6,
	ERGON_LOG_STORE   = 1u << 7,
	ERGON_LOG_SPANK   = 1u << 8
};

/* Receives one line without a newline. Must be callable from any thread. */
typedef void ergon_log_sink_f(enum ergon_log_level level, const char *line);

/* Set the sink (NULL: silent). Call before threads start. */
void ergon_log_set_sink(ergon_log_sink_f *sink);

/* A ready sink: "ergon: LINE" on stderr. */
void ergon_log_to_stderr(enum ergon_log_level level, const char *line);

/*
 * Enable debug categories from a list such as "sampler,csv" or "all".
 * Unknown words are skipped. list may be NULL. Returns the resulting mask.
 */
unsigned ergon_log_enable(const char *list);

void ergon_log(enum ergon_log_level level, unsigned category,
	       const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
