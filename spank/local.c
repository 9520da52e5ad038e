/* SPDX-License-Identifier: BSD-3-Clause */
#include "local.h"

#include <slurm/spank.h>

#include "options.h"

int ergon_local_option(const char *text)
{
	struct ergon_spec spec;
	struct ergon_error err;

	if (ergon_spec_parse(text, &spec, &err) == 0)
		return 0;
	slurm_spank_log("%s", err.text);
	return -1;
}
