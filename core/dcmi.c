/* SPDX-License-Identifier: BSD-3-Clause */
#include "dcmi.h"

#define NETFN_GROUP 0x2c
#define GROUP_DCMI 0xdc
#define CMD_GET_POWER 0x02
#define MODE_SYSTEM_POWER 0x01
#define STATE_ACTIVE 0x40

#define CODE_OK 0x00
#define CODE_NODE_BUSY 0xc0
#define CODE_TIMEOUT 0xc3

static const uint8_t get_power[] = { GROUP_DCMI, MODE_SYSTEM_POWER, 0, 0 };

const struct ergon_ipmi_request ergon_dcmi_get_power = {
	.netfn = NETFN_GROUP,
	.cmd = CMD_GET_POWER,
	.data = get_power,
	.size = sizeof(get_power),
};

static unsigned u16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

enum ergon_dcmi_verdict ergon_dcmi_decode_power(const uint8_t *answer, size_t size,
						struct ergon_dcmi_power *out)
{
	unsigned watts;

	if (size < 1)
		return ERGON_DCMI_MALFORMED;
	if (answer[0] == CODE_NODE_BUSY || answer[0] == CODE_TIMEOUT)
		return ERGON_DCMI_BUSY;
	if (answer[0] != CODE_OK)
		return ERGON_DCMI_REFUSED;
	if (size < ERGON_DCMI_POWER_SIZE || answer[1] != GROUP_DCMI)
		return ERGON_DCMI_MALFORMED;
	watts = u16(answer + 2);
	if (watts == 0 || watts == UINT16_MAX)
		return ERGON_DCMI_NO_READING;
	*out = (struct ergon_dcmi_power){ watts, answer[18] & STATE_ACTIVE };
	return ERGON_DCMI_GOOD;
}
