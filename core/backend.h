/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract of a backend: one way of reading energy counters. Each
 * backend is one file ending in one const struct ergon_backend; backends.c
 * lists them in order of preference. State hangs off the instance.
 */
#ifndef ERGON_BACKEND_H
#define ERGON_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "error.h"
#include "sysroot.h"
#include "topo.h"

/* Permission, absence and zero are three different answers. */
#define ERGON_PROBE_TABLE(X) \
	X(OK,          "ok") \
	X(PERMISSION,  "permission") \
	X(ABSENT,      "absent") \
	X(ZERO,        "zero") \
	X(UNSUPPORTED, "unsupported")

enum ergon_probe_state {
#define X(c, w) ERGON_PROBE_##c,
	ERGON_PROBE_TABLE(X)
#undef X
	ERGON_PROBE_COUNT
};

struct ergon_probe {
	enum ergon_probe_state state;
	char reason[256];         /* one line; "" when ok */
	char remedy[256];         /* what to do about it; "" when nothing */
};

/* A source that exists but is left out of the channels. */
struct ergon_dropped {
	char what[96];
	char why[160];
};

/* Everything a backend may depend on; outlives the instance. */
struct ergon_machine {
	const struct ergon_sysroot *sysroot;
	const struct ergon_topo *topo;
	double model_idle_watts;  /* for backend_model; 0: its default */
	double model_max_watts;
	double hz;                /* how often it will be read, where that is known; 0: not */
	double max_watts[ERGON_DOMAIN_COUNT]; /* plausibility guard per domain; 0: default */
};

struct ergon_backend {
	const char *name;         /* "perf" */
	const char *help;         /* one line */
	bool estimated;           /* every value carries ERGON_FLAG_ESTIMATED */
	bool automatic;           /* "auto" may choose it without being told more */
	/* Of the backends of one group ("rapl": the same counters) "auto" takes the
	 * first that opens; NULL: taken beside the others. */
	const char *group;

	/* Cheap and silent: can it work here? Fills *out completely. May be slow (ms), never blocks. */
	void (*probe)(const struct ergon_machine *m, struct ergon_probe *out);

	/* Open all counters. NULL + err. Every fd is opened here: read() may
	 * later run with the effective uid of an ordinary user. */
	void *(*open)(const struct ergon_machine *m, struct ergon_error *err);

	/* Constant arrays owned by the instance. in_total is not the backend's
	 * to say: see scope.h. dropped may be NULL in the ops. */
	size_t (*channels)(const void *inst, const struct ergon_channel **out);
	size_t (*dropped)(const void *inst, const struct ergon_dropped **out);

	/*
	 * Read all counters: raw[i] for channel i; ok[i] false when this
	 * channel's reading failed (raw[i] untouched). One thread at a time.
	 * Allocates nothing, logs nothing. Returns the number of good values.
	 */
	size_t (*read)(void *inst, uint64_t *raw, bool *ok);

	/*
	 * Flags that the last read() earns beside those of its differences
	 * (delta.h). As cheap as read. May be NULL.
	 */
	unsigned (*flags)(const void *inst);

	/*
	 * Some channel has not been readable for a while, or has not moved where
	 * it must (a file vanished, a package went offline, an index changed): find the sources again by
	 * name and topology, open those that are back, under the same channel
	 * numbers. May take milliseconds; between two calls of read(), at most
	 * once a second, maybe without the rights open() had: then it changes
	 * nothing. Only for channels that fail: what works keeps its fd. May
	 * be NULL.
	 */
	void (*rescan)(void *inst);

	/*
	 * One channel of an instance as an instance of its own, read without the
	 * others: what reading all at once is compared with. NULL + errno. May
	 * be NULL where one channel is read as all are.
	 */
	void *(*open_single)(const void *inst, size_t channel);

	/* NULL allowed; keeps errno. */
	void (*close)(void *inst);
};

/* All compiled-in backends in order of preference, NULL-terminated. */
extern const struct ergon_backend *const ergon_backends[];

/* Each ends its own file. */
extern const struct ergon_backend ergon_backend_perf;
extern const struct ergon_backend ergon_backend_powercap;
extern const struct ergon_backend ergon_backend_msr;
extern const struct ergon_backend ergon_backend_ebpf;
extern const struct ergon_backend ergon_backend_hwmon;
extern const struct ergon_backend ergon_backend_cray;
extern const struct ergon_backend ergon_backend_dcmi;
extern const struct ergon_backend ergon_backend_nvml;
extern const struct ergon_backend ergon_backend_rocm;
extern const struct ergon_backend ergon_backend_model;

const struct ergon_backend *ergon_backend_by_name(const char *name);

/*
 * The first word of a list of mechanisms ("perf+nvml,powercap") that is
 * neither a backend nor "auto", into word (cut to size). False: all are known.
 */
bool ergon_mechanisms_unknown(const char *list, char *word, size_t size);

const char *ergon_probe_word(enum ergon_probe_state state);

/* --- for backends --- */

/* Fill a probe; a backend that is ok gives neither reason nor remedy. */
void ergon_probe_set(struct ergon_probe *probe, enum ergon_probe_state state, const char *remedy,
		     const char *reason_fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * Texts of firmware, drivers and libraries go onto terminals and into JSON,
 * which both take printable ASCII only: every other byte becomes '?'.
 */
void ergon_make_printable(char *text);

/* "NAME: REASON; REMEDY" into err. */
void ergon_probe_error(const char *name, const struct ergon_probe *probe, struct ergon_error *err);

/* A growing list of dropped sources, made printable. Adding to NULL or without memory does nothing. */
struct ergon_drops {
	struct ergon_dropped *items;
	size_t n;
};

void ergon_drop(struct ergon_drops *drops, const char *what, const char *why_fmt, ...)
	__attribute__((format(printf, 3, 4)));
void ergon_drops_free(struct ergon_drops *drops);

/* Name a channel by domain, package and die: "package0", "package1-die3", "platform". */
void ergon_channel_set_name(struct ergon_channel *ch);

/* Plausibility guard of a domain: the machine's own, else a generous default (W). */
double ergon_machine_max_watts(const struct ergon_machine *m, enum ergon_domain domain);

#endif
