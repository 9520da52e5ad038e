/* SPDX-License-Identifier: BSD-3-Clause */
#include "script.h"

static size_t script_channels(const void *inst, const struct ergon_channel **out)
{
	const struct script *script = inst;

	*out = script->channels;
	return script->nchannels;
}

static size_t script_read(void *inst, uint64_t *raw, bool *ok)
{
	struct script *script = inst;
	size_t row = script->next < script->nrows ? script->next : script->nrows - 1;
	size_t good = 0;

	for (size_t i = 0; i < script->nchannels; i++) {
		uint64_t value = script->rows[row * script->nchannels + i];

		ok[i] = value != SCRIPT_FAIL;
		if (ok[i])
			raw[i] = value;
		good += ok[i];
	}
	script->next++;
	return good;
}

static void script_close(void *inst)
{
	((struct script *)inst)->closed++;
}

const struct ergon_backend script_backend = {
	.name = "script",
	.help = "readings from a test",
	.channels = script_channels,
	.read = script_read,
	.close = script_close,
};
