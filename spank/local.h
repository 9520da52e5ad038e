/* SPDX-License-Identifier: BSD-3-Clause */
/* srun, sbatch, salloc: the option is checked where the user can correct it. */
#ifndef ERGON_LOCAL_H
#define ERGON_LOCAL_H

/* The option's callback: 0, or -1 after one line to the user. */
int ergon_local_option(const char *text);

#endif
