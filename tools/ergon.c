/* SPDX-License-Identifier: BSD-3-Clause */
/* The `ergon` program: finds the subcommand, nothing else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "config.h"
#include "environ.h"
#include "log.h"

static const struct command {
	const char *name;
	ergon_command_f *run;
	const char *help;
} commands[] = {
#if HAVE_SQLITE
	{ "acct", ergon_cmd_acct, "energy of jobs and steps, in sacct's manner" },
#endif
	{ "bench", ergon_cmd_bench, "what reading counters costs here, and what rate can be sampled" },
	{ "gather", ergon_cmd_gather, "copy what Ergon reads of this machine, for a bug report" },
	{ "help", ergon_cmd_help, "explain configuration keys, environment variables, flags" },
#if HAVE_SQLITE
	{ "ingest", ergon_cmd_ingest, "take the records of journals over into the store" },
#endif
	{ "list", ergon_cmd_list, "show what can be measured here, or why not" },
	{ "merge", ergon_cmd_merge, "one table from the files of all ranks of an MPI step" },
	{ "stat", ergon_cmd_stat, "run a command and tell the energy it took" },
};

static void usage(FILE *out)
{
	fprintf(out, "usage: ergon COMMAND [ARGUMENT...]\n\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\n`ergon COMMAND --help` explains a command.\n");
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

/* getopt's messages begin with argv[0]: let them tell `ergon stat` from stat. */
static int run(const struct command *command, int argc, char **argv)
{
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "ergon %s", command->name);
	argv[0] = name;
	rc = command->run(argc, argv);
	/* Half a table must not pass for a whole one. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && rc == ERGON_EXIT_OK) {
		fprintf(stderr, "%s: cannot write the output: %s\n", name, strerror(errno));
		return ERGON_EXIT_FAILURE;
	}
	return rc;
}

int main(int argc, char **argv)
{
	static char help_option[] = "--help";
	const struct command *command;

	ergon_log_set_sink(ergon_log_to_stderr);
	ergon_log_enable(ergon_env_get(ERGON_ENV_DEBUG));
	if (argc < 2) {
		usage(stderr);
		return ERGON_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(stdout);
		return ERGON_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("ergon %s\n", PACKAGE_VERSION);
		return ERGON_EXIT_OK;
	}
	command = find(argv[1]);
	/* `ergon help stat` is `ergon stat --help`. */
	if (command && argc == 3 && command->run == ergon_cmd_help && find(argv[2])) {
		command = find(argv[2]);
		argv[2] = help_option;
	}
	if (command)
		return run(command, argc - 1, argv + 1);
	fprintf(stderr, "ergon: no command '%s'; `ergon --help` lists them\n", argv[1]);
	return ERGON_EXIT_USAGE;
}
