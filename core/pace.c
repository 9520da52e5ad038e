/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace.h"

bool ergon_pace_check(struct ergon_pace *pace, uint64_t t_ns, double busy_cpus)
{
	if (busy_cpus < 0 || busy_cpus >= ERGON_PACE_LOAD) {
		pace->idle = false;
		pace->quiet = false;
	} else if (busy_cpus > ERGON_PACE_QUIET) {
		pace->quiet = false;
	} else if (!pace->idle) {
		if (!pace->quiet)
			pace->quiet_ns = t_ns;
		pace->quiet = true;
		pace->idle = t_ns - pace->quiet_ns >= ERGON_PACE_QUIET_NS;
	}
	return pace->idle;
}
