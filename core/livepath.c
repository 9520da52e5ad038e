/* SPDX-License-Identifier: BSD-3-Clause */
#include "livepath.h"

#include <stdio.h>
#include <string.h>

#define KEY_MAX 160

void ergon_live_name(char name[ERGON_LIVE_NAME_MAX], uid_t uid, const char *board_dir)
{
	const char *key = board_dir + (*board_dir == '/');
	size_t len = strlen(key);
	int prefix;

	if (len > KEY_MAX)
		key += len - KEY_MAX;
	prefix = snprintf(name, ERGON_LIVE_NAME_MAX, "ergon.%u.", uid);
	snprintf(name + prefix, ERGON_LIVE_NAME_MAX - (size_t)prefix, "%s", key);
	for (char *c = name + prefix; *c; c++)
		if (*c == '/')
			*c = '_';
}
