/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCMI's Get Power Reading: what to send a BMC and what its answer says.
 * Pure. Layout: DCMI specification 1.5, section 6.6.1; numbers are little
 * endian. Of the answer the power of the moment is used; the mean, extremes
 * and the BMC's clock (often never set) are not.
 */
#ifndef ERGON_DCMI_H
#define ERGON_DCMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipmi.h"

/* Size of a whole answer, the completion code included. */
#define ERGON_DCMI_POWER_SIZE 19

/* Ask for the node's power. */
extern const struct ergon_ipmi_request ergon_dcmi_get_power;

struct ergon_dcmi_power {
	unsigned watts;           /* of the moment; never 0 */
	bool active;              /* the BMC says that it is measuring */
};

enum ergon_dcmi_verdict {
	ERGON_DCMI_GOOD,
	ERGON_DCMI_BUSY,          /* ask again: completion code 0xC0 or 0xC3 */
	ERGON_DCMI_REFUSED,       /* another completion code, answer[0] */
	ERGON_DCMI_MALFORMED,     /* too short, or not an answer of DCMI's */
	ERGON_DCMI_NO_READING     /* 0 W or all ones: no node draws that */
};

/*
 * *out is set only when the verdict is good. BMCs that say they are not
 * measuring may tell true watts all the same (OpenBMC): good, and
 * out->active is false. Bytes after a whole answer are ignored.
 */
enum ergon_dcmi_verdict ergon_dcmi_decode_power(const uint8_t *answer, size_t size,
						struct ergon_dcmi_power *out);

#endif
