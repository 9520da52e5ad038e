/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <string.h>

#include "environ.h"

int machine_open(struct machine *machine, const char *config, struct ergon_error *err)
{
	const char *from_env = ergon_env_get(ERGON_ENV_CONF);

	memset(machine, 0, sizeof(*machine));
	if (!config && *from_env)
		config = from_env;
	if (ergon_conf_load(&machine->conf, config, err) < 0)
		return -1;
	machine->sysroot = ergon_sysroot_open(ergon_env_get(ERGON_ENV_SYSROOT), err);
	if (!machine->sysroot)
		return -1;
	machine->topo = ergon_topo_load(machine->sysroot, err);
	if (!machine->topo)
		return -1;
	machine->view = (struct ergon_machine){
		.sysroot = machine->sysroot,
		.topo = machine->topo,
		.model_idle_watts = machine->conf.model_idle_watts,
		.model_max_watts = machine->conf.model_max_watts,
	};
	memcpy(machine->view.max_watts, machine->conf.max_watts, sizeof(machine->view.max_watts));
	return 0;
}

void machine_close(struct machine *machine)
{
	ergon_topo_free(machine->topo);
	ergon_sysroot_close(machine->sysroot);
	machine->topo = NULL;
	machine->sysroot = NULL;
}

void machine_print_mechanisms(FILE *out)
{
	for (size_t i = 0; ergon_backends[i]; i++)
		fprintf(out, "%s, ", ergon_backends[i]->name);
	fputs("auto", out);
}

bool machine_knows_mechanisms(const char *command, const char *list)
{
	char word[32];

	if (!ergon_mechanisms_unknown(list, word, sizeof(word)))
		return true;
	fprintf(stderr, "ergon %s: no mechanism '%s'; `ergon %s --help` names them\n", command, word,
		command);
	return false;
}
