/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * States: IDLE until MPI is initialised, STARTING while it is, ON while
 * time is kept, DONE afterwards. There is no constructor: a process that
 * never initialises MPI runs none of this. Forked children are DONE.
 */
#include "enter.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attrib.h"
#include "environ.h"
#include "log.h"
#include "say.h"
#include "tally.h"

/* A follower waits for the leader, which opens the counters meanwhile. */
#define ADMISSION_NS 200000000u
/* A keeper's patience with ranks that have not left when it wants to. */
#define PATIENCE_NS 500000000u

enum state { IDLE, STARTING, ON, DONE };

static struct {
	_Atomic int state;
	pid_t pid;
	unsigned sessions;        /* open ones */
	bool world;               /* between MPI_Init and MPI_Finalize */
	bool sessions_ended;      /* a program with sessions only has closed them all */
	char output_dir[512];     /* absolute: the program may change its directory */
	struct ergon_identity id;
	struct ergon_live *live;
	struct ergon_tally tally;
} our;

/* tally: set in the thread that keeps time. */
static __thread struct {
	unsigned depth;
	bool starting;
	struct ergon_tally *tally;
} self __attribute__((tls_model("initial-exec")));

static void in_child(void)
{
	if (our.state == ON || our.state == STARTING) {
		atomic_store(&our.state, DONE);
		self.tally = NULL;
		ergon_live_abandon(our.live);
		our.live = NULL;
		ergon_ledger_drop(&our.tally.ledger);
	}
}

/* One rank per node speaks for all when it is about the node. */
static void complain(const char *text)
{
	if (our.id.local_rank <= 0)
		ergon_say("%s", text);
}

static void set_output_dir(void)
{
	const char *given = ergon_env_get(ERGON_ENV_OUTPUT_DIR);
	char *path = realpath(given, NULL);

	/* One that does not exist is complained about when it is used. */
	snprintf(our.output_dir, sizeof(our.output_dir), "%s", path ? path : given);
	free(path);
}

static void begin(void)
{
	const char *debug = ergon_env_get(ERGON_ENV_DEBUG);

	our.pid = getpid();
	if (*debug) {
		ergon_log_set_sink(ergon_log_to_stderr);
		ergon_log_enable(debug);
	}
	ergon_tally_start(&our.tally);
	ergon_identity_environment(&our.id);
	set_output_dir();
	ergon_step_number(our.output_dir, &our.id);
	/* Samples are being taken already: MPI_Init is measured too. */
	if (*ergon_env_get(ERGON_ENV_BOARD))
		our.live = ergon_live_join(&our.id, our.output_dir, our.tally.start_ns, NULL);
}

/* Out again, before anything was measured. */
static void unjoin(void)
{
	if (!our.live)
		return;
	ergon_live_leave(our.live);
	ergon_live_close(our.live, 0);
	ergon_live_free(our.live);
	our.live = NULL;
}

static void join_late(struct ergon_error *err)
{
	our.live = ergon_live_join(&our.id, our.output_dir, ergon_clock_ns(), err);
}

static void arm(unsigned call)
{
	static bool registered;
	struct ergon_error err = { "" };
	struct ergon_ledger ledger;
	const char *share = ergon_env_get(ERGON_ENV_SHARE);
	uint64_t begin_ns = ergon_clock_ns();

	ergon_identity_mpi(&our.id, our.world);
	if (ergon_ledger_create(&ledger, our.output_dir, &our.id, &err) < 0) {
		complain(err.text);
		unjoin();
		atomic_store(&our.state, DONE);
		return;
	}
	snprintf(ledger.head->share, sizeof(ledger.head->share), "%s",
		 ergon_share_parse(share) < 0 ? ergon_share_word(ERGON_SHARE_CORES) : share);
	if (ergon_share_parse(share) < 0)
		complain("ERGON_SHARE: expected cores or equal; taking cores");
	if (!our.live)
		join_late(&err);
	if (our.live) {
		ergon_live_set_rank(our.live, our.id.rank);
		ergon_live_wait(our.live, ADMISSION_NS);
	} else {
		snprintf(ledger.head->reason, sizeof(ledger.head->reason), "%.255s", err.text);
	}
	if (!registered)
		registered = pthread_atfork(NULL, NULL, in_child) == 0;
	ergon_tally_open(&our.tally, &ledger, our.live, call);
	our.tally.slow_ns += ergon_clock_ns() - begin_ns;
	self.tally = &our.tally;
	atomic_store_explicit(&our.state, ON, memory_order_release);
}

/* Write everything; ours is the only thread that gets here. */
static void end(const char *state, uint64_t patience_ns)
{
	int expected = ON;
	int saved = errno;
	bool mine = self.tally != NULL;
	struct ergon_rank_head *head = our.tally.head;

	if (!atomic_compare_exchange_strong(&our.state, &expected, DONE))
		return;
	self.tally = NULL;
	ergon_tally_end(&our.tally);
	atomic_store(&head->state, strcmp(state, "aborted") == 0 ? ERGON_LEDGER_ABORTED :
				   ERGON_LEDGER_ENDED);
	if (!head->measured && !head->reason[0])
		strcpy(head->reason, "no sample was taken while the rank ran");
	else if (!head->measured && head->rank <= 0 && strcmp(state, "aborted") != 0)
		ergon_say("no energy measured: %s; times are in %s", head->reason,
			  our.tally.ledger.dir);
	if (ergon_ledger_finish(&our.tally.ledger, state) < 0)
		ergon_say("cannot write %s/%s.csv: %s", our.tally.ledger.dir,
			  our.tally.ledger.stem, strerror(errno));
	if (our.live)
		ergon_live_close(our.live, patience_ns);
	/* Else the thread that keeps time may be on its way through a hook. */
	if (mine) {
		ergon_ledger_drop(&our.tally.ledger);
		ergon_live_free(our.live);
		our.live = NULL;
	}
	errno = saved;
}

void ergon_plain_enter(unsigned call)
{
	struct ergon_tally *t = self.tally;

	if (self.depth++ != 0 || !t)
		return;
	ergon_tally_pass(t, ERGON_ROW_APP, ergon_stamp(&t->stamp));
	ergon_tally_current(t, ergon_tally_row(t, call));
	t->dense = false;
	t->cpu_tie_ns = 0;
}

static void other_thread(unsigned call)
{
	if (atomic_load_explicit(&our.state, memory_order_acquire) == ON)
		ergon_tally_other(&our.tally, call);
}

void ergon_plain_leave(unsigned call, int rc)
{
	struct ergon_tally *t = self.tally;
	uint32_t row;

	(void)rc;
	if (--self.depth != 0)
		return;
	if (__builtin_expect(!t, 0)) {
		other_thread(call);
		return;
	}
	row = ergon_tally_row(t, call);
	ergon_tally_pass(t, row, ergon_stamp(&t->stamp));
	t->rows[row].calls++;
	ergon_tally_current(t, ERGON_ROW_APP);
}

void ergon_poll_enter(unsigned call)
{
	struct ergon_tally *t = self.tally;

	(void)call;
	if (self.depth++ == 0 && t && !t->dense)
		ergon_tally_pass(t, ERGON_ROW_APP, ergon_stamp(&t->stamp));
}

void ergon_poll_leave(unsigned call, int rc, bool hit)
{
	struct ergon_tally *t = self.tally;
	uint64_t now_ns;
	uint32_t polls = 1;
	uint32_t row;

	(void)rc;
	if (--self.depth != 0)
		return;
	if (__builtin_expect(!t, 0)) {
		other_thread(call);
		return;
	}
	row = ergon_tally_row(t, call);
	t->rows[row].calls++;
	if (t->dense) {
		polls = ++t->polls;
		if (!hit && polls < ERGON_POLLS_PER_STAMP)
			return;
	}
	now_ns = ergon_stamp(&t->stamp);
	if (t->dense && now_ns - t->last_ns >= polls * ERGON_POLL_GAP_NS &&
	    !ergon_tally_was_off_cpu(t, now_ns)) {
		ergon_tally_pass(t, ERGON_ROW_APP, now_ns);
		t->dense = false;
	} else {
		ergon_tally_pass(t, row, now_ns);
		ergon_tally_stretch(t, !hit && (t->dense || now_ns - t->poll_ns < ERGON_POLL_GAP_NS),
				    now_ns);
	}
	t->polls = 0;
	t->poll_ns = now_ns;
}

/* The first initialisation, outermost, in a process that was not told to be silent. */
static void start_enter(unsigned call)
{
	int saved = errno;
	int expected = IDLE;

	if (self.depth == 0 && atomic_load_explicit(&our.state, memory_order_relaxed) == IDLE &&
	    strcmp(ergon_env_get(ERGON_ENV_DISABLE), "1") != 0 &&
	    atomic_compare_exchange_strong(&our.state, &expected, STARTING)) {
		self.starting = true;
		begin();
	}
	ergon_plain_enter(call);
	errno = saved;
}

static void start_leave(unsigned call, int rc)
{
	int saved = errno;

	if (self.depth != 1 || !self.starting) {
		ergon_plain_leave(call, rc);
		return;
	}
	self.starting = false;
	self.depth--;
	if (rc == 0) {
		arm(call);
	} else {
		unjoin();
		atomic_store(&our.state, IDLE);
	}
	errno = saved;
}

void ergon_init_enter(unsigned call)
{
	start_enter(call);
}

void ergon_init_leave(unsigned call, int rc)
{
	if (self.depth == 1 && rc == 0)
		our.world = true;
	start_leave(call, rc);
}

void ergon_session_init_enter(unsigned call)
{
	start_enter(call);
}

void ergon_session_init_leave(unsigned call, int rc)
{
	if (self.depth == 1 && rc == 0) {
		our.sessions++;
		our.sessions_ended = false;
	}
	start_leave(call, rc);
}

void ergon_finalize_enter(unsigned call)
{
	ergon_plain_enter(call);
}

void ergon_finalize_leave(unsigned call, int rc)
{
	ergon_plain_leave(call, rc);
	if (self.depth != 0 || rc != 0 || !our.world)
		return;
	our.world = false;
	if (our.sessions == 0)
		end("complete", PATIENCE_NS);
	else
		our.sessions_ended = true;
}

void ergon_session_finalize_enter(unsigned call)
{
	ergon_plain_enter(call);
}

void ergon_session_finalize_leave(unsigned call, int rc)
{
	ergon_plain_leave(call, rc);
	if (self.depth != 0 || rc != 0 || our.sessions == 0 || --our.sessions > 0 || our.world)
		return;
	/* After MPI_Finalize nothing can follow; else another session may. */
	if (our.sessions_ended)
		end("complete", PATIENCE_NS);
	our.sessions_ended = true;
}

void ergon_abort_enter(unsigned call)
{
	struct ergon_tally *t = self.tally;

	ergon_plain_enter(call);
	if (self.depth == 1 && t)
		t->rows[ergon_tally_row(t, call)].calls++;
	end("aborted", 0);
}

void ergon_abort_leave(unsigned call, int rc)
{
	ergon_plain_leave(call, rc);
}

/* exit() or return without MPI_Finalize, or the end of a program with sessions only. */
__attribute__((destructor)) static void at_exit(void)
{
	if (atomic_load(&our.state) != ON || our.pid != getpid())
		return;
	if (our.sessions_ended && !our.world)
		end("complete", PATIENCE_NS);
	else
		end("noFinalize", 0);
}
