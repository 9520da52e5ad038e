/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points, and nothing else: which context we are in decides who
 * does the work. Every callback returns 0: accounting must never cost a
 * job. A plugin listed twice in plugstack.conf shares these statics and gets
 * every call twice; only the first counts, which each callee sees to.
 */
#include <string.h>

#include <slurm/spank.h>

#include "local.h"
#include "options.h"
#include "remote.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT extern const char plugin_name[];
EXPORT extern const char plugin_type[];
EXPORT extern const unsigned int plugin_version;
EXPORT extern const unsigned int spank_plugin_version;

SPANK_PLUGIN(spank_ergon, 1)

EXPORT spank_f slurm_spank_init;
EXPORT spank_f slurm_spank_init_post_opt;
EXPORT spank_f slurm_spank_user_init;
EXPORT spank_f slurm_spank_task_exit;
EXPORT spank_f slurm_spank_exit;

static int on_energy(int val, const char *optarg, int remote)
{
	(void)val;
	if (!remote)
		return ergon_local_option(optarg);
	ergon_remote_option(optarg);
	return 0;
}

/* conf=FILE of the plugstack line, NULL when there is none. */
static const char *conf_file(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "conf=", 5) == 0)
			return argv[i] + 5;
	return NULL;
}

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	static char usage[512];
	static struct spank_option energy = {
		.name = "energy",
		.arginfo = "MECH[,KEY[=VALUE]]...",
		.usage = usage,
		.has_arg = 2,
		.cb = on_energy,
	};
	spank_context_t context = spank_context();

	(void)argc;
	(void)argv;
	if (*usage || (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR &&
		       context != S_CTX_REMOTE))
		return 0;
	ergon_spec_usage(usage, sizeof(usage));
	spank_option_register(sp, &energy);
	return 0;
}

int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	if (spank_context() == S_CTX_REMOTE)
		ergon_remote_start(sp, conf_file(argc, argv));
	return 0;
}

int slurm_spank_user_init(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (spank_context() == S_CTX_REMOTE)
		ergon_remote_user_init(sp);
	return 0;
}

int slurm_spank_task_exit(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (spank_context() == S_CTX_REMOTE)
		ergon_remote_task_exit(sp);
	return 0;
}

int slurm_spank_exit(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (spank_context() == S_CTX_REMOTE)
		ergon_remote_finish(sp);
	return 0;
}
