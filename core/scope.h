/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one policy of totals: which channels contain which others, which are
 * the same thing read twice, and what a node's total is made of. Energy
 * that one channel holds inside another is never added to it.
 *
 * Sources: the domains' definitions in Intel's SDM (core and uncore inside
 * package, dram beside it), Linux' documentation of pm_counters-like node
 * meters, NVIDIA's description of the Grace power sensors (module = Grace +
 * GPU; Grace = CPU + SysIO + memory).
 */
#ifndef ERGON_SCOPE_H
#define ERGON_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "channel.h"

/* True when the energy of part is also in whole, on the same node or package. */
bool ergon_domain_contains(enum ergon_domain whole, enum ergon_domain part);

/*
 * Sets in_total of every channel. In order of preference: a node meter that
 * counts energy, else modules, else SoCs, else packages or CPUs with dram
 * and io; GPUs unless what was chosen holds them. psys, and node meters
 * that only tell power, make a total where none of these is measured. Of
 * two sources of a domain that divide the machine otherwise (by package and
 * as a whole, by PCI address and not) only the first counts.
 */
void ergon_scope_choose(struct ergon_channel *channels, size_t n);

/*
 * True when b measures the same thing as a, by another way or again: the
 * same domain, and the same identity or, where neither has one, the same
 * package and die.
 */
bool ergon_scope_same(const struct ergon_channel *a, const struct ergon_channel *b);

/*
 * Why channels[i] is not in the total: "inside package", "tells only power;
 * cpu+dram is counted"; "" when it is. A constant or buf, cut to size.
 */
const char *ergon_scope_reason(const struct ergon_channel *channels, size_t n, size_t i,
			       char *buf, size_t size);

/*
 * The words for a total of the selected channels that are in it (selected
 * NULL: of all): "cpu+dram", "node", ...; "" when there are none. Returns
 * buf, cut to size.
 */
char *ergon_scope_words(const struct ergon_channel *channels, size_t n, const bool *selected,
			char *buf, size_t size);

#endif
