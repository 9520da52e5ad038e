/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol is in live.h. State that the next keeper needs is in the
 * roster; what is here dies with us.
 */
#include "keeper.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attrib.h"
#include "clock.h"
#include "environ.h"
#include "flags.h"
#include "ledgerfile.h"
#include "locks.h"
#include "log.h"
#include "sampling.h"
#include "thread.h"

#define NS 1000000000u
/* After the time a sample is due: reading and publishing it takes a while. */
#define LAG_NS 200000u
#define RETRY_NS 1000000u
#define IDLE_NS 100000000u
/* Slots whose lock is looked at per round: a system call each. */
#define SCAN 16

struct ergon_keeper {
	struct ergon_keeper_config config;
	struct ergon_board *board;
	struct ergon_node_ledger node;
	struct ergon_board_sample last; /* the newest one that was used */
	unsigned scan;            /* slot to look at next */
	void *sampling;           /* the sampler, when it is ours */
	ergon_sampling_stop_f *stop_sampling;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping;
};

/* --- the ring --- */

int ergon_share_read(const struct ergon_roster *roster, uint64_t entry, struct ergon_share *out)
{
	if (entry >= atomic_load_explicit(&roster->head, memory_order_acquire))
		return -1;
	*out = roster->ring[entry % ERGON_LIVE_RING];
	/* The keeper may have been writing the entry that takes its place. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&roster->head, memory_order_relaxed) <
	       entry + ERGON_LIVE_RING ? 0 : -1;
}

uint32_t ergon_share_flags(const struct ergon_roster *roster, uint64_t entry)
{
	if (atomic_load_explicit(&roster->head, memory_order_acquire) >= entry + ERGON_LIVE_RING)
		return 0;
	return roster->ring[entry % ERGON_LIVE_RING].flags;
}

/* --- slots --- */

static bool is_active(uint32_t state)
{
	return state == ERGON_SLOT_JOINING || state == ERGON_SLOT_PRESENT ||
	       state == ERGON_SLOT_COUNTED;
}

static unsigned used_slots(const struct ergon_roster *roster)
{
	unsigned n = 0;

	/* Slots are claimed in order and never freed. */
	while (n < ERGON_LIVE_SLOTS && atomic_load(&roster->slots[n].state) != ERGON_SLOT_FREE)
		n++;
	return n;
}

/* The rank counted, but its ledger cannot say how much: nobody holds that. */
static void orphan(struct ergon_roster *roster, const struct ergon_slot *slot)
{
	struct ergon_share share;

	if (slot->from_ns == 0 || atomic_load(&slot->confirmed) ||
	    ergon_share_read(roster, slot->upto, &share) < 0)
		return;
	for (uint32_t c = 0; c < roster->info.nchannels; c++)
		roster->orphaned[c] += ergon_attrib_weight(&slot->weights, &roster->info.channels[c]) *
				       (share.s[c] - slot->from_s[c]);
}

/* True when the slot's process is gone; closes it. */
static bool bury(const struct ergon_keeper_config *config, unsigned i)
{
	struct ergon_slot *slot = &config->roster->slots[i];
	uint32_t state = atomic_load(&slot->state);

	if (i == config->own_slot || !is_active(state) || ergon_lock_is_held(config->lock_fd, 1 + i))
		return false;
	if (!atomic_compare_exchange_strong(&slot->state, &state, ERGON_SLOT_DEAD))
		return false;
	orphan(config->roster, slot);
	ergon_log(ERGON_LOG_DEBUG, ERGON_LOG_LEDGER, "rank %d (pid %d) is gone", slot->rank, slot->pid);
	return true;
}

unsigned ergon_keeper_others(const struct ergon_keeper_config *config)
{
	unsigned used = used_slots(config->roster);
	unsigned others = 0;

	for (unsigned i = 0; i < used; i++) {
		if (i == config->own_slot || !is_active(atomic_load(&config->roster->slots[i].state)))
			continue;
		if (!bury(config, i))
			others++;
	}
	return others;
}

/* --- the node ledger --- */

static void update_total(struct ergon_node_ledger *node, const struct ergon_roster *roster,
			 const struct ergon_share *share, uint64_t entry)
{
	struct ergon_node_total total = {
		.entry = entry, .t_ns = share->t_ns,
		.samples = share->samples, .missed = share->missed,
		.flags = node->head->totals[node->head->turn & 1].flags | share->flags,
	};

	memcpy(total.s, share->s, sizeof(total.s));
	memcpy(total.e, share->e, sizeof(total.e));
	for (uint32_t c = 0; c < roster->info.nchannels; c++)
		total.u[c] = share->u[c] + roster->orphaned[c];
	ergon_node_ledger_update(node, &total);
}

/* Copy what became of the slots; true when one died. */
static bool update_slots(struct ergon_node_ledger *node, const struct ergon_roster *roster)
{
	unsigned used = used_slots(roster);
	bool died = false;

	for (unsigned i = 0; i < used; i++) {
		const struct ergon_slot *slot = &roster->slots[i];
		struct ergon_node_slot *out = &node->slots[i];
		uint32_t state = atomic_load(&slot->state);
		struct ergon_share share;

		died |= state == ERGON_SLOT_DEAD;
		if (out->state == state || (state != ERGON_SLOT_LEFT && state != ERGON_SLOT_DEAD))
			continue;
		out->rank = slot->rank;
		out->pid = slot->pid;
		out->upto = slot->upto;
		if (ergon_share_read(roster, slot->upto, &share) == 0) {
			out->upto_ns = share.t_ns;
			memcpy(out->s, share.s, sizeof(out->s));
		}
		atomic_store_explicit(&out->state, state, memory_order_release);
	}
	return died;
}

/* --- an interval --- */

static void admit(struct ergon_keeper *k, struct ergon_slot *slot, const struct ergon_share *share,
		  uint64_t entry)
{
	uint32_t joining = ERGON_SLOT_JOINING;

	ergon_attrib_weigh(ergon_board_cpus(k->board), ergon_board_info(k->board)->ncpus,
			   slot->cpus, slot->share, &slot->weights);
	memcpy(slot->from_s, share->s, sizeof(slot->from_s));
	slot->from = entry;
	atomic_store(&slot->upto, entry);
	slot->from_ns = share->t_ns;
	/* It may have left meanwhile: then it counted for nothing. */
	atomic_compare_exchange_strong(&slot->state, &joining, ERGON_SLOT_PRESENT);
}

/* Hold the present ranks for an interval; returns their number. */
static uint32_t hold_present(struct ergon_roster *roster, unsigned used, struct ergon_weights *sum)
{
	uint32_t present = 0;

	memset(sum, 0, sizeof(*sum));
	for (unsigned i = 0; i < used; i++) {
		uint32_t state = ERGON_SLOT_PRESENT;

		if (!atomic_compare_exchange_strong(&roster->slots[i].state, &state,
						    ERGON_SLOT_COUNTED))
			continue;
		ergon_attrib_add(sum, &roster->slots[i].weights);
		present++;
	}
	return present;
}

/*
 * Planned samples between two of the board. Under freq=auto the plan is not
 * known here, only that it was kept or not, and that nothing is planned
 * less often than once a second.
 */
static uint64_t missed_samples(const struct ergon_board_info *info, uint64_t dt_ns, uint32_t flags)
{
	double hz = info->adapts && dt_ns > NS + NS / 2 ? 1 : info->hz;
	double periods = (double)dt_ns * hz / NS;

	if (periods <= 1.5 || (info->adapts && !(flags & ERGON_FLAG_MISSED)))
		return 0;
	return (uint64_t)(periods + 0.5) - 1;
}

/* `last` to `cur` becomes the next share entry; the first entry has no interval. */
static void commit(struct ergon_keeper *k, const struct ergon_board_sample *cur, uint32_t flags)
{
	struct ergon_roster *roster = k->config.roster;
	const struct ergon_board_info *info = ergon_board_info(k->board);
	uint64_t entry = atomic_load_explicit(&roster->head, memory_order_relaxed);
	struct ergon_share *share = &roster->ring[entry % ERGON_LIVE_RING];
	unsigned used = used_slots(roster);
	struct ergon_weights sum;
	double joules[ERGON_BOARD_MAX_CHANNELS];

	if (entry == 0)
		memset(share, 0, sizeof(*share));
	else
		*share = roster->ring[(entry - 1) % ERGON_LIVE_RING];
	share->present = hold_present(roster, used, &sum);
	share->t_ns = cur->t_ns;
	share->sample = cur->index;
	share->flags = cur->flags | flags;
	if (share->present) {
		for (uint32_t c = 0; c < info->nchannels; c++)
			joules[c] = (double)(cur->counts[c] - k->last.counts[c]) *
				    info->channels[c].unit_j;
		ergon_attrib_interval(info->channels, info->nchannels, info->node_share, joules,
				      &sum, share);
		share->samples++;
		share->missed += missed_samples(info, cur->t_ns - k->last.t_ns, cur->flags);
	}
	for (unsigned i = 0; i < used; i++)
		if (roster->slots[i].state == ERGON_SLOT_COUNTED)
			atomic_store_explicit(&roster->slots[i].upto, entry, memory_order_relaxed);
	atomic_store_explicit(&roster->head, entry + 1, memory_order_release);
	for (unsigned i = 0; i < used; i++) {
		struct ergon_slot *slot = &roster->slots[i];
		uint32_t state = ERGON_SLOT_COUNTED;

		if (!atomic_compare_exchange_strong(&slot->state, &state, ERGON_SLOT_PRESENT) &&
		    state == ERGON_SLOT_JOINING && slot->join_ns <= cur->t_ns)
			admit(k, slot, share, entry);
	}
	k->last = *cur;
	if (k->node.head)
		update_total(&k->node, roster, share, entry);
}

/* All samples that are there and were not used. */
static void follow_board(struct ergon_keeper *k)
{
	uint64_t head = ergon_board_head(k->board);
	uint64_t next = k->last.index + 1;
	struct ergon_board_sample sample;

	if (next < ergon_board_tail(k->board))
		next = ergon_board_tail(k->board);
	for (; next < head; next++)
		if (ergon_board_read(k->board, next, &sample) == 0)
			commit(k, &sample, 0);
}

static void round_once(struct ergon_keeper *k)
{
	unsigned used = used_slots(k->config.roster);
	bool buried = false;

	for (unsigned n = 0; n < SCAN && n < used; n++) {
		k->scan = k->scan + 1 < used ? k->scan + 1 : 0;
		buried |= bury(&k->config, k->scan);
	}
	if (buried && k->node.head)
		update_slots(&k->node, k->config.roster);
	follow_board(k);
	atomic_store_explicit(&k->config.roster->heartbeat_ns, ergon_clock_ns(),
			      memory_order_relaxed);
}

static uint64_t next_round_ns(const struct ergon_keeper *k)
{
	double hz = ergon_board_info(k->board)->hz;
	uint64_t now_ns = ergon_clock_ns();
	uint64_t due_ns = k->last.t_ns + LAG_NS + (hz > 0 ? (uint64_t)(NS / hz) : NS);

	/* Overdue: ever more patience. An idle node's board may stand still for a second. */
	if (due_ns < now_ns)
		due_ns = now_ns + (now_ns - due_ns);
	if (due_ns < now_ns + RETRY_NS)
		due_ns = now_ns + RETRY_NS;
	return due_ns < now_ns + IDLE_NS ? due_ns : now_ns + IDLE_NS;
}

static void *keeper_main(void *arg)
{
	struct ergon_keeper *k = arg;

	pthread_mutex_lock(&k->lock);
	while (!k->stopping) {
		uint64_t due_ns = next_round_ns(k);
		struct timespec due = { (time_t)(due_ns / NS), (long)(due_ns % NS) };

		pthread_cond_timedwait(&k->wake, &k->lock, &due);
		if (!k->stopping)
			round_once(k);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static int start_thread(struct ergon_keeper *k)
{
	pthread_condattr_t condattr;
	int rc;

	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&condattr);
	pthread_condattr_setclock(&condattr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->wake, &condattr);
	pthread_condattr_destroy(&condattr);
	rc = ergon_thread_create(&k->thread, keeper_main, k);
	if (rc == 0)
		pthread_setname_np(k->thread, "ergon-keeper");
	return rc;
}

/* --- the board --- */

static void *open_module(struct ergon_error *err)
{
	char path[512];
	const char *slash;
	Dl_info info;
	void *module;

	if (!dladdr((void *)(uintptr_t)open_module, &info) || !info.dli_fname ||
	    !(slash = strrchr(info.dli_fname, '/'))) {
		ergon_error_set(err, "cannot tell where libergon-mpi.so is: preload it by its full path");
		return NULL;
	}
	snprintf(path, sizeof(path), "%.*s/" ERGON_SAMPLING_MODULE,
		 (int)(slash - info.dli_fname), info.dli_fname);
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!module)
		ergon_error_set(err, "cannot load the sampler: %s", dlerror());
	return module;
}

/* Our own sampler, into the live directory. */
static int start_sampling(struct ergon_keeper *k, struct ergon_error *err)
{
	struct ergon_sampling_config config = {
		.mechanism = ergon_env_get(ERGON_ENV_MECHANISM),
		.sysroot = ergon_env_get(ERGON_ENV_SYSROOT),
		.host = k->config.id->host,
	};
	void *module, *start_symbol, *stop_symbol;
	ergon_sampling_start_f *start;

	if (ergon_rate_parse(ergon_env_get(ERGON_ENV_FREQ), &config.rate) < 0)
		return ergon_error_set(err, "ERGON_FREQ=%s: expected " ERGON_RATE_EXPECTS,
				       ergon_env_get(ERGON_ENV_FREQ));
	module = open_module(err);
	if (!module)
		return -1;
	start_symbol = dlsym(module, "ergon_sampling_start");
	stop_symbol = dlsym(module, "ergon_sampling_stop");
	if (!start_symbol || !stop_symbol)
		return ergon_error_set(err, ERGON_SAMPLING_MODULE " is not of this version");
	memcpy(&start, &start_symbol, sizeof(start));
	memcpy(&k->stop_sampling, &stop_symbol, sizeof(k->stop_sampling));
	config.dirfd = open(k->config.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (config.dirfd < 0)
		return ergon_error_set(err, "%s: %s", k->config.dir, strerror(errno));
	/* A dead leader's board. */
	unlinkat(config.dirfd, ERGON_SAMPLING_BOARD, 0);
	k->sampling = start(&config, err);
	close(config.dirfd);
	return k->sampling ? 0 : -1;
}

static int open_board(struct ergon_keeper *k, struct ergon_error *err)
{
	const char *given = ergon_env_get(ERGON_ENV_BOARD);
	char path[512];

	if (*given) {
		k->board = ergon_board_map(given, err);
	} else {
		if (start_sampling(k, err) < 0)
			return -1;
		snprintf(path, sizeof(path), "%s/" ERGON_SAMPLING_BOARD, k->config.dir);
		k->board = ergon_board_map(path, err);
	}
	if (!k->board)
		return -1;
	if (ergon_board_info(k->board)->nchannels == 0)
		return ergon_error_set(err, "%s", ergon_board_info(k->board)->reason);
	return 0;
}

static void close_board(struct ergon_keeper *k)
{
	if (k->sampling)
		k->stop_sampling(k->sampling);
	k->sampling = NULL;
	ergon_board_close(k->board);
	k->board = NULL;
}

/* --- beginning and end --- */

/* The first entry, or the interval that a dead keeper did not finish. */
static int take_up(struct ergon_keeper *k, struct ergon_error *err)
{
	struct ergon_roster *roster = k->config.roster;
	uint64_t head = atomic_load(&roster->head);
	uint64_t newest = ergon_board_head(k->board);
	const struct ergon_share *share = &roster->ring[(head - 1) % ERGON_LIVE_RING];

	if (newest == 0 || ergon_board_read(k->board, newest - 1, &k->last) < 0)
		return ergon_error_set(err, "the board has no sample");
	if (head == 0) {
		roster->info = *ergon_board_info(k->board);
		atomic_store_explicit(&roster->ready, 1, memory_order_release);
		commit(k, &k->last, 0);
		return 0;
	}
	if (memcmp(roster->info.channels, ergon_board_info(k->board)->channels,
		   sizeof(roster->info.channels)) != 0)
		return ergon_error_set(err, "the new keeper has other channels than the one that went");
	for (unsigned i = 0; i < ERGON_LIVE_SLOTS; i++) {
		uint32_t state = ERGON_SLOT_COUNTED;

		if (atomic_load(&roster->slots[i].state) == ERGON_SLOT_COUNTED)
			atomic_store(&roster->slots[i].upto, head - 1);
		atomic_compare_exchange_strong(&roster->slots[i].state, &state, ERGON_SLOT_PRESENT);
	}
	/* The same board: go on where it stopped. Another one: the time between is lost. */
	if (k->sampling || ergon_board_read(k->board, share->sample, &k->last) < 0)
		commit(k, &k->last, ERGON_FLAG_GAP);
	return 0;
}

/* Say why there is none; only before anything was measured, later it just ends. */
static void no_energy(struct ergon_roster *roster, const struct ergon_error *err)
{
	if (atomic_load(&roster->head) > 0)
		return;
	snprintf(roster->info.reason, sizeof(roster->info.reason), "%.255s", err->text);
	roster->info.nchannels = 0;
	atomic_store_explicit(&roster->ready, 1, memory_order_release);
}

struct ergon_keeper *ergon_keeper_start(const struct ergon_keeper_config *config)
{
	struct ergon_keeper *k = calloc(1, sizeof(*k));
	struct ergon_error err = { "out of memory" };

	if (!k)
		goto fail;
	k->config = *config;
	if (open_board(k, &err) < 0)
		goto close;
	if (ergon_node_ledger_open(&k->node, config->output_dir, config->id,
				   ergon_board_info(k->board), config->roster->node_stem, &err) < 0)
		goto close;
	if (take_up(k, &err) < 0)
		goto drop;
	if (start_thread(k) != 0) {
		ergon_error_set(&err, "cannot start a thread");
		goto drop;
	}
	return k;
drop:
	ergon_node_ledger_drop(&k->node);
close:
	close_board(k);
	free(k);
fail:
	no_energy(config->roster, &err);
	return NULL;
}

/* The node's account as the roster has it; the file of an earlier keeper. */
static void finish_node(struct ergon_node_ledger *node, struct ergon_roster *roster, bool last)
{
	bool died = update_slots(node, roster);
	uint64_t head = atomic_load(&roster->head);
	struct ergon_share share;

	if (head > 0 && ergon_share_read(roster, head - 1, &share) == 0)
		update_total(node, roster, &share, head - 1);
	if (!last) {
		ergon_node_ledger_drop(node);
		return;
	}
	*roster->node_stem = '\0';
	atomic_store(&node->head->state, 1);
	if (ergon_node_ledger_finish(node, "complete", died) < 0)
		ergon_log(ERGON_LOG_WARNING, ERGON_LOG_LEDGER, "cannot write %s.csv: %s",
			  node->stem, strerror(errno));
	ergon_node_ledger_drop(node);
}

unsigned ergon_keeper_stop(struct ergon_keeper *k, const struct ergon_keeper_config *config)
{
	struct ergon_roster *roster = config->roster;
	struct ergon_node_ledger node = { .head = NULL };
	unsigned others;

	if (k) {
		pthread_mutex_lock(&k->lock);
		k->stopping = true;
		pthread_cond_signal(&k->wake);
		pthread_mutex_unlock(&k->lock);
		pthread_join(k->thread, NULL);
		close_board(k);
		node = k->node;
		pthread_cond_destroy(&k->wake);
		pthread_mutex_destroy(&k->lock);
		free(k);
	} else if (*roster->node_stem) {
		ergon_node_ledger_open(&node, config->output_dir, config->id, &roster->info,
				       roster->node_stem, NULL);
	}
	others = ergon_keeper_others(config);
	if (node.head)
		finish_node(&node, roster, others == 0);
	return others;
}
