/* SPDX-License-Identifier: BSD-3-Clause */
/* `ergon help TOPIC`: prints the tables the code itself uses. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "conf.h"
#include "environ.h"
#include "flags.h"

static void flags_help(FILE *out)
{
	for (unsigned bit = 0; ergon_flag_word(bit); bit++)
		fprintf(out, "%-10s %s\n", ergon_flag_word(bit), ergon_flag_meaning(bit));
}

static const struct {
	const char *name;
	void (*print)(FILE *out);
} topics[] = {
	{ "config", ergon_conf_help },
	{ "environment", ergon_env_help },
	{ "flags", flags_help },
};

int ergon_cmd_help(int argc, char **argv)
{
	static const char usage[] = "usage: ergon help config|environment|flags|COMMAND\n";

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return ERGON_EXIT_OK;
	}
	for (size_t i = 0; argc == 2 && i < sizeof(topics) / sizeof(topics[0]); i++) {
		if (strcmp(argv[1], topics[i].name) == 0) {
			topics[i].print(stdout);
			return ERGON_EXIT_OK;
		}
	}
	fputs(usage, stderr);
	return ERGON_EXIT_USAGE;
}
