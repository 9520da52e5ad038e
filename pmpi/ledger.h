/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ledger: a rank's table (phase, activity, function) -> calls, time,
 * energy, in a memory-mapped file so that it survives SIGKILL, and the
 * node's account beside it. A clean end turns rank.*.ledger into
 * rank.*.csv and node.*.ledger into node.*.csv; merge reads left-over
 * ledgers. One definition for the writer (interposer) and the reader
 * (merge): this header. Native byte order: read on the same kind of
 * machine; the magic tells.
 *
 * A left-over rank ledger is finished by its reader: the interval time in
 * rows[].open_ns and the time since last_ns belong to the current row;
 * its energy is weight * (S - last_s) with S from the slot's closing entry
 * in the node ledger.
 */
#ifndef ERGON_LEDGER_H
#define ERGON_LEDGER_H

#include <stdatomic.h>
#include <stdint.h>

#include "board.h"

#define ERGON_LEDGER_MAGIC "ERGLDG3\n"
#define ERGON_NODE_MAGIC   "ERGNOD3\n"
#define ERGON_LEDGER_ROWS 1024          /* the last one is "other" when names overflow */
#define ERGON_NAME_MAX 64

/* X(constant, word): what MPI says a rank was doing. */
#define ERGON_ACTIVITY_TABLE(X) \
	X(APP,        "app") \
	X(P2P,        "p2p") \
	X(WAIT,       "wait") \
	X(POLL,       "poll") \
	X(COLLECTIVE, "collective") \
	X(RMA,        "rma") \
	X(IO,         "io") \
	X(COMM,       "comm") \
	X(STARTUP,    "startup")

enum ergon_activity {
#define X(c, w) ERGON_ACTIVITY_##c,
	ERGON_ACTIVITY_TABLE(X)
#undef X
	ERGON_ACTIVITY_COUNT
};

/* Energy columns of a rank file, in this order. X(constant, domain constant, column) */
#define ERGON_COLUMN_TABLE(X) \
	X(PACKAGE,  PACKAGE,  "package_j") \
	X(DRAM,     DRAM,     "dram_j") \
	X(GPU,      GPU,      "gpu_j") \
	X(PLATFORM, PLATFORM, "platform_j") \
	X(NODE,     NODE,     "node_j") \
	X(CPU,      CPU,      "cpu_j") \
	X(IO,       IO,       "io_j") \
	X(SOC,      SOC,      "soc_j") \
	X(MODULE,   MODULE,   "module_j")

/* Columns up to here are in every file; those after it only where the node has such a channel. */
#define ERGON_COLUMN_LAST_FIXED ERGON_COLUMN_NODE

enum ergon_column {
#define X(c, d, w) ERGON_COLUMN_##c,
	ERGON_COLUMN_TABLE(X)
#undef X
	ERGON_COLUMN_COUNT
};

struct ergon_row {
	char phase[ERGON_NAME_MAX];
	char function[ERGON_NAME_MAX]; /* "" for app */
	uint32_t activity;
	uint32_t flags;
	uint64_t calls;
	uint64_t time_ns;
	uint64_t open_ns;         /* time in the interval that is not yet shared out, part of time_ns */
	uint64_t intervals;       /* sample intervals in which the row had time */
	double cpu_s;
	double joules[ERGON_COLUMN_COUNT];
};

/* State of a ledger. Past RUNNING: killed while the CSV was being written. */
enum {
	ERGON_LEDGER_RUNNING,
	ERGON_LEDGER_ENDED,
	ERGON_LEDGER_ABORTED
};

struct ergon_rank_head {
	char magic[8];
	uint32_t head_size;       /* sizeof(struct ergon_rank_head) of the writer */
	uint32_t row_size;
	_Atomic uint32_t state;   /* ERGON_LEDGER_... */
	_Atomic uint32_t nrows;
	_Atomic uint32_t current; /* row the rank is in */
	int32_t rank, size, local_rank;
	int32_t pid;
	int32_t slot;             /* in the roster and the node ledger, -1: no energy */
	char job[64], step[32], ns[64], host[64], boot_id[40], mpi[64];
	char mechanism[32], scope[32], share[16], reason[256];
	double hz;
	uint64_t start_real_ns, start_ns; /* of the rank's measurement */
	_Atomic uint64_t last_ns; /* up to here time has been booked */
	uint64_t end_ns;          /* 0 while running */
	uint64_t samples;         /* share entries used */
	uint64_t missed;
	double overhead_s;
	uint32_t flags;
	uint32_t nchannels;
	uint32_t measured;        /* bit per enum ergon_column: the node has such a channel */
	_Atomic uint64_t last_entry; /* share entry up to which energy has been booked */
	double last_s[ERGON_BOARD_MAX_CHANNELS];
	int32_t column[ERGON_BOARD_MAX_CHANNELS]; /* enum ergon_column of a channel, -1: not reported */
	double weight[ERGON_BOARD_MAX_CHANNELS];  /* the rank's weight for the channel */
	/* rows follow at head_size */
};

/* Closing entry of a rank, written by the keeper. */
struct ergon_node_slot {
	int32_t rank, pid;
	_Atomic uint32_t state;   /* enum ergon_slot_state */
	uint32_t reserved;
	uint64_t upto;            /* share entry at which it ended */
	uint64_t upto_ns;         /* its time */
	double s[ERGON_BOARD_MAX_CHANNELS]; /* S there */
};

/* The node's account: E and U (see live.h) up to the newest entry. */
struct ergon_node_total {
	uint64_t entry, t_ns;
	uint64_t samples, missed;
	uint32_t flags;
	uint32_t reserved;
	double s[ERGON_BOARD_MAX_CHANNELS];
	double e[ERGON_BOARD_MAX_CHANNELS];
	double u[ERGON_BOARD_MAX_CHANNELS];
};

struct ergon_node_head {
	char magic[8];
	uint32_t head_size, slot_size;
	uint32_t nslots;
	uint32_t nchannels;
	_Atomic uint32_t state;   /* 0 running, 1 complete */
	int32_t keeper_pid;
	char job[64], step[32], host[64], boot_id[40], mechanism[32], scope[32];
	double hz;
	uint64_t start_real_ns, start_ns;
	struct ergon_board_channel channels[ERGON_BOARD_MAX_CHANNELS];
	_Atomic uint64_t turn;    /* totals[turn & 1] is the valid one */
	struct ergon_node_total totals[2];
	/* struct ergon_node_slot[nslots] follow at head_size */
};

const char *ergon_activity_word(enum ergon_activity activity);
const char *ergon_column_word(enum ergon_column column);

/* The column a channel is reported in, -1: none (core, uncore, ...: inside another). */
int ergon_column_of(const struct ergon_board_channel *channel);

#endif
