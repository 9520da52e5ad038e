/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal: SpoolDir/<node>.journal, root only. One write(2) per line
 * with O_APPEND; line = JSON, tab, CRC-32C of the JSON as 8 lower-case hex
 * digits, LF. A torn line cannot swallow the next: the writer starts with
 * an LF when the file does not end in one.
 *
 * A checkpoint holds the account of one running step as it would be
 * journalled if nobody came back (state "partial"), so that a killed
 * slurmstepd or a crashed node loses at most one checkpoint interval:
 * SpoolDir/<host>.<job>.<step>.<nodeid>.ckpt, two slots written in turn,
 * each "SEQUENCE JSON\tCRC\n"; the newer valid one counts. host is the
 * machine's own name: the node's may not be known yet, and stands in the
 * JSON. The living slurmstepd holds a flock on the file.
 */
#ifndef ERGON_JOURNAL_H
#define ERGON_JOURNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

#define ERGON_JOURNAL_LINE_MAX 65536    /* bytes with tab, CRC and LF */

/* CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected, RFC 3720 B.4). */
uint32_t ergon_crc32c(const void *data, size_t len);

struct ergon_journal;

/*
 * Open for appending: creates SPOOLDIR/<node>.journal with mode 0600. Refuses a
 * file that is not regular, not the caller's, or has more than one link.
 * node must be a plain name (no '/', not starting with '.').
 */
struct ergon_journal *ergon_journal_open(const char *spool_dir, const char *node,
					 struct ergon_error *err);
void ergon_journal_close(struct ergon_journal *j);

/* Append one record (JSON without newline) and fdatasync. */
int ergon_journal_append(struct ergon_journal *j, const char *json, size_t len,
			 struct ergon_error *err);

/*
 * Check a line of len bytes without its LF: the length of its JSON part,
 * or -1 with *why set to a constant text.
 */
ssize_t ergon_journal_check(const char *line, size_t len, const char **why);

struct ergon_checkpoint;

/*
 * Create (or take over) the checkpoint file of a step and lock it; the fd
 * stays open. name: a plain file name. EBUSY when somebody holds the lock.
 */
struct ergon_checkpoint *ergon_checkpoint_open(const char *spool_dir, const char *name,
					       struct ergon_error *err);

/* Write the next slot and fdatasync. Usable while the effective uid is another user's.
 * No allocation. */
int ergon_checkpoint_write(struct ergon_checkpoint *c, const char *json, size_t len);

/* Close; with remove also unlink (through the directory fd opened at the start).
 * NULL allowed. */
void ergon_checkpoint_close(struct ergon_checkpoint *c, int remove);

/*
 * Read the newer valid slot of a checkpoint file into a malloc'ed string
 * (without CRC). NULL + err when there is none.
 */
char *ergon_checkpoint_read(int dirfd, const char *name, struct ergon_error *err);

/*
 * Finish what dead slurmstepds left: every checkpoint of host (NULL: of any)
 * whose lock nobody holds is appended to the journal of the node it names
 * and removed. A checkpoint without a valid slot (its step died before the
 * first was complete) is removed too. Returns how many records were
 * appended, or -1 + err when spool_dir cannot be read or a record could not
 * be appended; that checkpoint stays for the next time.
 */
int ergon_checkpoint_sweep(const char *spool_dir, const char *host, struct ergon_error *err);

#endif
