/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

static int set_freq(struct ergon_spec *spec, const char *value, struct ergon_error *err)
{
	if (ergon_rate_parse(value, &spec->freq) < 0)
		return ergon_error_set(err, "--energy: freq=%.40s: expected " ERGON_RATE_EXPECTS, value);
	return 0;
}

static int set_mpi(struct ergon_spec *spec, const char *value, struct ergon_error *err)
{
	if (value)
		return ergon_error_set(err, "--energy: mpi takes no value");
	spec->mpi = true;
	return 0;
}

static int set_share(struct ergon_spec *spec, const char *value, struct ergon_error *err)
{
	if (strcmp(value, "cores") != 0 && strcmp(value, "equal") != 0)
		return ergon_error_set(err, "--energy: share=%.40s: expected cores or equal", value);
	strcpy(spec->share, value);
	return 0;
}

static int set_out(struct ergon_spec *spec, const char *value, struct ergon_error *err)
{
	if (!*value || strlen(value) >= sizeof(spec->out))
		return ergon_error_set(err, "--energy: out= needs the name of a directory");
	strcpy(spec->out, value);
	return 0;
}

static const struct {
	const char *name;
	const char *form;         /* as the user writes it */
	bool has_value;
	int (*set)(struct ergon_spec *spec, const char *value, struct ergon_error *err);
} keys[] = {
	{ "freq", "freq=HZ|auto", true, set_freq },
	{ "mpi", "mpi", false, set_mpi },
	{ "share", "share=cores|equal", true, set_share },
	{ "out", "out=DIR", true, set_out },
};

#define NKEYS (sizeof(keys) / sizeof(keys[0]))

static int set_key(struct ergon_spec *spec, char *item, struct ergon_error *err)
{
	char forms[128] = "", *value = strchr(item, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < NKEYS; i++) {
		if (strcmp(item, keys[i].name) != 0)
			continue;
		if (keys[i].has_value && !value)
			return ergon_error_set(err, "--energy: %s needs a value: %s",
					       item, keys[i].form);
		return keys[i].set(spec, value, err);
	}
	for (size_t i = 0; i < NKEYS; i++)
		snprintf(forms + strlen(forms), sizeof(forms) - strlen(forms), "%s%s",
			 i ? ", " : "", keys[i].form);
	return ergon_error_set(err, "--energy: unknown key '%.40s': use %s", item, forms);
}

/* "auto, off, perf, ..." */
static const char *mechanisms(char *buf, size_t size)
{
	snprintf(buf, size, "auto, off");
	for (size_t i = 0; ergon_backends[i]; i++)
		snprintf(buf + strlen(buf), size - strlen(buf), ", %s", ergon_backends[i]->name);
	return buf;
}

static int set_mech(struct ergon_spec *spec, const char *name, struct ergon_error *err)
{
	char list[256], word[48];

	if (strcmp(name, "off") != 0 && ergon_mechanisms_unknown(name, word, sizeof(word)))
		return ergon_error_set(err, "--energy: unknown mechanism '%.40s': use one of %s",
				       word, mechanisms(list, sizeof(list)));
	if (strlen(name) >= sizeof(spec->mech))
		return ergon_error_set(err, "--energy: '%.40s' names too many mechanisms", name);
	snprintf(spec->mech, sizeof(spec->mech), "%s", name);
	return 0;
}

int ergon_spec_parse(const char *text, struct ergon_spec *spec, struct ergon_error *err)
{
	struct ergon_spec result = { .mech = "auto" };
	char copy[ERGON_SPEC_MAX], *rest = copy, *item;

	if (!text || !*text || strcmp(text, "(null)") == 0) {
		*spec = result;
		return 0;
	}
	if (strlen(text) >= sizeof(copy))
		return ergon_error_set(err, "--energy: longer than %zu characters", sizeof(copy) - 1);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return ergon_error_set(err, "--energy: control character in the value");
	strcpy(copy, text);
	item = strsep(&rest, ",");
	if (set_mech(&result, item, err) < 0)
		return -1;
	while ((item = strsep(&rest, ",")))
		if (set_key(&result, item, err) < 0)
			return -1;
	*spec = result;
	return 0;
}

const char *ergon_spec_usage(char *buf, size_t size)
{
	char list[256];

	snprintf(buf, size, "account for the energy of the job; MECH is one of %s; keys are",
		 mechanisms(list, sizeof(list)));
	for (size_t i = 0; i < NKEYS; i++)
		snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", i ? ", " : " ", keys[i].form);
	return buf;
}
