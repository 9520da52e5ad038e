/* SPDX-License-Identifier: BSD-3-Clause */
/* One table of keys; each value kind has one parser. Files are read by inih. */
#include "conf.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "log.h"

enum kind { TEXT, ABS_PATH, YESNO, NUMBER, INTEGER, WATTS, RATE };

struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	size_t size;              /* of a text member */
	double min, max;          /* of a number */
	const char *preset;
	const char *help;
};

#define MEMBER(m) offsetof(struct ergon_conf, m), sizeof(((struct ergon_conf *)0)->m)

static const struct key keys[] = {
	{ "Default", TEXT, MEMBER(default_energy), 0, 0, "off",
	  "energy accounting of steps that do not say --energy: auto or off" },
	{ "AllowOff", YESNO, MEMBER(allow_off), 0, 0, "yes",
	  "whether --energy=off switches a Default=auto off" },
	{ "AllowModel", YESNO, MEMBER(allow_model), 0, 0, "no",
	  "whether auto may fall back to the model; its figures are marked estimated" },
	{ "Mechanism", TEXT, MEMBER(mechanism), 0, 0, "auto",
	  "what auto stands for: a comma list in order of preference" },
	{ "Freq", RATE, MEMBER(freq), 0, 0, "1",
	  "sampling rate in Hz, or auto, of steps that do not say freq= (steps with mpi: 100)" },
	{ "SensorFreq", NUMBER, MEMBER(sensor_hz), 0, 10, "1",
	  "readings per second of the CPUs' clock rate and temperature; 0: none" },
	{ "CurvePoints", INTEGER, MEMBER(curve_points), 2, 120, "120",
	  "points of the power curve in a record" },
	{ "UserRate", NUMBER, MEMBER(user_rate_hz), 0.1, 1000, "100",
	  "highest rate in Hz at which a job may see the energy of a node it owns" },
	{ "UserRateShared", NUMBER, MEMBER(user_rate_shared_hz), 0.1, 1000, "1",
	  "the same for a step that does not own the whole node" },
	{ "Checkpoint", INTEGER, MEMBER(checkpoint_s), 1, 86400, "30",
	  "seconds between checkpoints of a running step" },
	{ "SysRoot", ABS_PATH, MEMBER(sysroot), 0, 0, "/",
	  "directory that stands for / when counters are read (tests)" },
	{ "RunDir", ABS_PATH, MEMBER(run_dir), 0, 0, "/run/ergon",
	  "state of running steps" },
	{ "SpoolDir", ABS_PATH, MEMBER(spool_dir), 0, 0, "/var/spool/ergon",
	  "journals and checkpoints" },
	{ "Store", TEXT, MEMBER(store), 0, 0, "sqlite:/var/lib/ergon/ergon.db",
	  "database that ergon ingest fills: sqlite:FILE" },
	{ "MpiLibrary", ABS_PATH, MEMBER(mpi_library), 0, 0, ERGON_PKGLIBDIR "/libergon-mpi.so",
	  "library that --energy=...,mpi preloads into ranks" },
	{ "IdleWatts", TEXT, MEMBER(idle_watts), 0, 0, "",
	  "idle power of a node, for shared nodes: a number, or n[1-9]:95,n10:80" },
	{ "ModelIdleWatts", NUMBER, MEMBER(model_idle_watts), 0, 1e6, "0",
	  "idle power of the model; 0: its default" },
	{ "ModelMaxWatts", NUMBER, MEMBER(model_max_watts), 0, 1e6, "0",
	  "full-load power of the model; 0: its default" },
	{ "MaxWatts", WATTS, MEMBER(max_watts), 0, 0, "",
	  "most a domain can draw, for the plausibility guard: package:800,dram:200" },
};

#define NKEYS (sizeof(keys) / sizeof(keys[0]))

static int parse_number(const char *text, double min, double max, double *out)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(value) || value < min || value > max)
		return -1;
	*out = value;
	return 0;
}

static int parse_yesno(const char *text, bool *out)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };

	for (size_t i = 0; i < 4; i++) {
		if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
			*out = strcasecmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return -1;
}

static int parse_watts(const char *text, double watts[ERGON_DOMAIN_COUNT])
{
	double result[ERGON_DOMAIN_COUNT] = { 0 };
	char copy[256];
	char *save = NULL;

	if (strlen(text) >= sizeof(copy))
		return -1;
	strcpy(copy, text);
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char *colon = strchr(item, ':');
		int domain;

		if (!colon)
			return -1;
		*colon = '\0';
		domain = ergon_domain_parse(item);
		if (domain < 0 || parse_number(colon + 1, 0, 1e6, &result[domain]) < 0)
			return -1;
	}
	memcpy(watts, result, sizeof(result));
	return 0;
}

static int set_value(struct ergon_conf *conf, const struct key *key, const char *text)
{
	char *member = (char *)conf + key->offset;
	double number;

	switch (key->kind) {
	case ABS_PATH:
		if (text[0] != '/')
			return -1;
		/* fall through */
	case TEXT:
		if (strlen(text) >= key->size)
			return -1;
		strcpy(member, text);
		return 0;
	case YESNO:
		return parse_yesno(text, (bool *)member);
	case NUMBER:
		return parse_number(text, key->min, key->max, (double *)member);
	case INTEGER:
		if (parse_number(text, key->min, key->max, &number) < 0 || number != floor(number))
			return -1;
		*(int *)member = (int)number;
		return 0;
	case WATTS:
		return parse_watts(text, (double *)member);
	case RATE:
		return ergon_rate_parse(text, (struct ergon_rate *)member);
	}
	return -1;
}

static const char *expects(const struct key *key, char *buf, size_t size)
{
	switch (key->kind) {
	case ABS_PATH:
		return "an absolute path";
	case YESNO:
		return "yes or no";
	case WATTS:
		return "DOMAIN:WATTS,...";
	case RATE:
		return ERGON_RATE_EXPECTS;
	case NUMBER:
	case INTEGER:
		snprintf(buf, size, "%s from %g to %g",
			 key->kind == INTEGER ? "an integer" : "a number", key->min, key->max);
		return buf;
	case TEXT:
		break;
	}
	return "a shorter text";
}

struct load {
	struct ergon_conf *conf;
	const char *path;
	struct ergon_error *err;
	bool failed;
};

static int on_value(void *arg, const char *section, const char *name, const char *value)
{
	struct load *load = arg;
	char buf[64];

	(void)section;
	for (size_t i = 0; i < NKEYS; i++) {
		if (strcasecmp(name, keys[i].name) != 0)
			continue;
		if (set_value(load->conf, &keys[i], value) == 0)
			return 1;
		/* ini_parse goes on, and returns the line of the first mistake. */
		if (load->failed)
			return 0;
		ergon_error_set(load->err, "%s: %s = '%s': expected %s", load->path,
				keys[i].name, value, expects(&keys[i], buf, sizeof(buf)));
		load->failed = true;
		return 0;
	}
	ergon_log(ERGON_LOG_WARNING, ERGON_LOG_GENERAL,
		  "%s: unknown key '%s' ignored; `ergon help config` lists the keys",
		  load->path, name);
	return 1;
}

void ergon_conf_defaults(struct ergon_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	for (size_t i = 0; i < NKEYS; i++)
		set_value(conf, &keys[i], keys[i].preset);
}

const char *ergon_conf_default_path(void)
{
	return ERGON_SYSCONFDIR "/ergon/ergon.conf";
}

int ergon_conf_load(struct ergon_conf *conf, const char *path, struct ergon_error *err)
{
	struct load load = { conf, path ? path : ergon_conf_default_path(), err, false };
	int line;

	ergon_conf_defaults(conf);
	line = ini_parse(load.path, on_value, &load);
	if (load.failed) {
		char text[sizeof(err->text)];

		/* The file comes first in the text; put the line after it. */
		if (err) {
			memcpy(text, err->text, sizeof(text));
			ergon_error_set(err, "%s:%d%s", load.path, line,
					text + strlen(load.path));
		}
		return -1;
	}
	if (line > 0)
		return ergon_error_set(err, "%s:%d: not a `Key = value` line", load.path, line);
	if (line < 0 && (path || errno != ENOENT))
		return ergon_error_set(err, "%s: %s", load.path, strerror(errno));
	return 0;
}

void ergon_conf_help(FILE *out)
{
	for (size_t i = 0; i < NKEYS; i++)
		fprintf(out, "%-15s %s%s%s%s\n", keys[i].name, keys[i].help,
			*keys[i].preset ? " [" : "", keys[i].preset,
			*keys[i].preset ? "]" : "");
}
