/* SPDX-License-Identifier: BSD-3-Clause */
#include "standin.h"

#include <limits.h>
#include <stdio.h>

#include "sysroot.h"

void standin_event(const struct tree *tree, const char *name, const char *code, const char *scale)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), STANDIN_PMU "/events/%s", name);
	tree_write(tree, path, code);
	snprintf(path, sizeof(path), STANDIN_PMU "/events/%s.scale", name);
	tree_write(tree, path, scale);
	snprintf(path, sizeof(path), STANDIN_PMU "/events/%s.unit", name);
	tree_write(tree, path, "Joules\n");
}

bool standin_write(const struct tree *tree, const char *cpumask)
{
	struct ergon_sysroot *real = ergon_sysroot_open("/", NULL);
	char type[32];
	ssize_t len = ergon_sysroot_read_text(real, "/sys/bus/event_source/devices/msr/type",
					      type, sizeof(type));

	ergon_sysroot_close(real);
	if (len < 0)
		return false;
	tree_write(tree, STANDIN_PMU "/type", type);
	if (cpumask)
		tree_write(tree, STANDIN_PMU "/cpumask", cpumask);
	standin_event(tree, "energy-pkg", STANDIN_TSC, STANDIN_EXACT);
	return true;
}
