/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to the node's own BMC through the kernel's device; the only
 * includer of linux/ipmi.h. A BMC takes tens of milliseconds to seconds to
 * answer, or never does: call transact only from a slow thread.
 */
#ifndef ERGON_IPMI_H
#define ERGON_IPMI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sysroot.h"

struct ergon_ipmi_request {
	uint8_t netfn, cmd;
	const uint8_t *data;
	size_t size;
};

/* How requests get to a BMC; tests have their own. */
struct ergon_ipmi_transport {
	/* Sends nothing yet. NULL + errno; ENOENT: there is no such device. */
	void *(*open)(const struct ergon_sysroot *sysroot);
	/*
	 * Send, and wait for the answer to it, timeout_ms at most. Its size,
	 * the completion code being the first byte. -1 + errno: ETIMEDOUT;
	 * EMSGSIZE when it is longer than size; else what the device says.
	 */
	ssize_t (*transact)(void *bmc, const struct ergon_ipmi_request *request,
			    uint8_t *answer, size_t size, unsigned timeout_ms);
	/* NULL allowed; keeps errno. */
	void (*close)(void *bmc);
};

/* /dev/ipmi0, /dev/ipmi/0 or /dev/ipmidev/0. */
extern const struct ergon_ipmi_transport ergon_ipmi_device;

#endif
