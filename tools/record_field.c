/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_field.h"

/*
 * Limits keep sums inside 64 bits: 1e17 uJ is 10 kW for 115 days; nine
 * nodes of that on one row of a report are seen as an overflow, not hidden.
 */
#define ID_MAX UINT32_MAX
#define UJ_MAX INT64_C(100000000000000000)
#define NS_MAX INT64_C(7000000000000000000) /* the year 2191 */
#define COUNT_MAX INT64_C(1000000000000000)

#define INT_ROW(m, need, min, max, key) \
	{ #m, ERGON_FIELD_INTEGER, ERGON_FIELD_##need, offsetof(struct ergon_record, m), 0, \
	  min, max, key }
#define TEXT_ROW(m, need, key) \
	{ #m, ERGON_FIELD_TEXT, ERGON_FIELD_##need, offsetof(struct ergon_record, m), \
	  sizeof(((struct ergon_record *)0)->m), 0, 0, key }
#define OTHER(name, kind, need, m) \
	{ name, ERGON_FIELD_##kind, ERGON_FIELD_##need, offsetof(struct ergon_record, m), \
	  0, 0, 0, false }
#define INT(m, need, min, max) INT_ROW(m, need, min, max, false)
#define KEY_INT(m, need, min, max) INT_ROW(m, need, min, max, true)
#define TEXT(m, need) TEXT_ROW(m, need, false)
#define KEY_TEXT(m, need) TEXT_ROW(m, need, true)

const struct ergon_record_field ergon_record_fields[] = {
	KEY_TEXT(cluster, MAY_NULL),
	KEY_INT(job, MUST, 1, ID_MAX),
	KEY_INT(restart, MAY_NULL, 0, ID_MAX),
	KEY_INT(step, MUST, ERGON_STEP_INTERACTIVE, ID_MAX),
	KEY_INT(het, MAY_NULL, 0, ID_MAX),
	KEY_TEXT(node, MUST),
	INT(uid, MAY_NULL, 0, ID_MAX),
	TEXT(user, MAY_MISS),
	TEXT(account, MAY_MISS),
	TEXT(partition, MAY_MISS),
	TEXT(qos, MAY_MISS),
	TEXT(job_name, MAY_MISS),
	INT(array_job, MAY_MISS, 1, ID_MAX),
	INT(array_task, MAY_MISS, 0, ID_MAX),
	INT(nnodes, MAY_MISS, 0, ID_MAX),
	INT(ntasks, MAY_MISS, 0, ID_MAX),
	INT(node_tasks, MAY_MISS, 0, ID_MAX),
	INT(cpus, MAY_MISS, 0, ID_MAX),
	INT(node_cpus, MAY_MISS, 0, ID_MAX),
	KEY_INT(start_ns, MUST, 1, NS_MAX),
	INT(end_ns, MAY_NULL, 1, NS_MAX),
	INT(suspended_ns, MAY_MISS, 0, NS_MAX),
	OTHER("state", STATE, MUST, state),
	INT(exit_code, MAY_MISS, 0, ID_MAX),
	TEXT(mechanism, MAY_MISS),
	TEXT(scope, MAY_MISS),
	TEXT(reason, MAY_MISS),
	INT(model, MAY_MISS, 0, 1),
	OTHER("freq_hz", RATE, MAY_MISS, freq_hz),
	INT(samples, MAY_MISS, 0, COUNT_MAX),
	INT(missed, MAY_MISS, 0, COUNT_MAX),
	OTHER("domains", DOMAINS, MAY_MISS, domain_uj),
	INT(node_uj, MAY_NULL, 0, UJ_MAX),
	INT(job_uj, MAY_NULL, 0, UJ_MAX),
	INT(other_uj, MAY_MISS, 0, UJ_MAX),
	INT(unallocated_uj, MAY_MISS, 0, UJ_MAX),
	INT(cpu_ns, MAY_MISS, 0, NS_MAX),
	OTHER("max_w", WATTS, MAY_MISS, max_w_mw),
	OTHER("curve", CURVE, MAY_MISS, curve),
	INT(freq_mhz, MAY_MISS, 0, COUNT_MAX),
	INT(temp_c, MAY_MISS, -300, COUNT_MAX),
	OTHER("flags", FLAGS, MAY_MISS, flags),
};

const size_t ergon_record_field_count =
	sizeof(ergon_record_fields) / sizeof(ergon_record_fields[0]);
