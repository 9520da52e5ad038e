/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank's membership in the live directory (live.h): its slot, its locks,
 * and the keeper when that is this process.
 */
#ifndef ERGON_LIVEDIR_H
#define ERGON_LIVEDIR_H

#include <stdint.h>

#include "error.h"
#include "identity.h"
#include "live.h"

struct ergon_live;

/*
 * Join: make or open the directory, claim a slot, become the keeper when
 * there is none. Counts from join_ns on. output_dir: where a keeper puts
 * the node ledger. NULL + err.
 */
struct ergon_live *ergon_live_join(const struct ergon_identity *id, const char *output_dir,
				   uint64_t join_ns, struct ergon_error *err);

const struct ergon_roster *ergon_live_roster(const struct ergon_live *live);
const struct ergon_slot *ergon_live_slot(const struct ergon_live *live);
unsigned ergon_live_slot_index(const struct ergon_live *live);

/* The rank may be known only after the slot was claimed. */
void ergon_live_set_rank(struct ergon_live *live, int32_t rank);

/* Our ledger now tells how to finish it; before, energy we hold is nobody's when we die. */
void ergon_live_confirm(struct ergon_live *live);

/*
 * Wait until the keeper counts us or has said that there is no energy; at
 * most max_ns, and not at all when samples are too far apart for that.
 */
void ergon_live_wait(struct ergon_live *live, uint64_t max_ns);

/* Take over when the keeper is gone. A few loads when it is not. */
void ergon_live_tend(struct ergon_live *live, uint64_t now_ns);

/* Stop counting; returns the entry up to which we counted. */
uint64_t ergon_live_leave(struct ergon_live *live);

/*
 * After ergon_live_leave. A keeper goes on for the others for at most
 * patience_ns; the last to leave writes the node file and removes the
 * directory.
 */
void ergon_live_close(struct ergon_live *live, uint64_t patience_ns);

/* Unmap and free; nobody may look at the roster any more. NULL allowed. */
void ergon_live_free(struct ergon_live *live);

/* In a forked child: close the files, change nothing. NULL allowed. */
void ergon_live_abandon(struct ergon_live *live);

#endif
