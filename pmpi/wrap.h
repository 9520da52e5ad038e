/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the generated wrappers are made of. MPI's ints, pointers, sizes and
 * handles all travel in one register or one stack slot of 8 bytes on the
 * platforms we support (LP64 with such a calling convention: x86-64 and
 * AArch64 Linux), so a wrapper needs to know only how many there are. That
 * is what makes one binary fit every MPI; strictly speaking it is not C.
 */
#ifndef ERGON_WRAP_H
#define ERGON_WRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "enter.h"
#include "next.h"

#define EXPORT __attribute__((visibility("default")))

typedef unsigned long word;

_Static_assert(sizeof(word) == 8 && sizeof(void *) == 8,
	       "the wrappers pass 8-byte words: this platform is not supported");

/* A poll's answer: the int that an argument points to; an error is no miss. */
static inline bool hit(word rc, word flag)
{
	return (int)rc != 0 || !flag || *(const int *)(uintptr_t)flag != 0;
}

#endif
