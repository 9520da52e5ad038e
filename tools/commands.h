/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of `ergon`: one function each, called with their own argv. */
#ifndef ERGON_COMMANDS_H
#define ERGON_COMMANDS_H

/* Exit codes every subcommand shares. */
#define ERGON_EXIT_OK 0
#define ERGON_EXIT_FAILURE 1
#define ERGON_EXIT_USAGE 2

typedef int ergon_command_f(int argc, char **argv);

ergon_command_f ergon_cmd_acct;
ergon_command_f ergon_cmd_bench;
ergon_command_f ergon_cmd_gather;
ergon_command_f ergon_cmd_help;
ergon_command_f ergon_cmd_ingest;
ergon_command_f ergon_cmd_list;
ergon_command_f ergon_cmd_merge;
ergon_command_f ergon_cmd_stat;

#endif
