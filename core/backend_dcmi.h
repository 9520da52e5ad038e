/* SPDX-License-Identifier: BSD-3-Clause */
/* The DCMI backend over another transport than the device: for tests. */
#ifndef ERGON_BACKEND_DCMI_H
#define ERGON_BACKEND_DCMI_H

#include "backend.h"
#include "ipmi.h"

/* How it asks. */
struct ergon_dcmi_pace {
	uint64_t period_ns;       /* between two readings */
	uint64_t hold_ns;         /* power is held no longer */
	unsigned timeout_ms;      /* of one request */
};

/* An instance of ergon_backend_dcmi; as its open. */
void *ergon_dcmi_open(const struct ergon_machine *m, const struct ergon_ipmi_transport *transport,
		      const struct ergon_dcmi_pace *pace, struct ergon_error *err);

#endif
