/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks that move when the test says so, in programs linked with
 * handclock_link: clock_gettime is replaced. Reading one takes 50 ns.
 */
#ifndef ERGON_TEST_HANDCLOCK_H
#define ERGON_TEST_HANDCLOCK_H

#include <stdint.h>

/* All clocks but CLOCK_BOOTTIME; and that one. */
extern int64_t handclock_ns, handclock_boot_ns;

/* Time passes, no suspend in it. */
void handclock_pass(int64_t ns);

#endif
