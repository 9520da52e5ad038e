/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat in a square plate: explicit 5-point scheme on an N x N grid, split into
 * blocks over a 2-D process grid. What an energy report should find in it:
 *
 *   MPI_Isend/Irecv/Waitall   halos, every step
 *   MPI_Allreduce             residual, every RESIDUAL_EVERY steps
 *   imbalance                 --imbalance F: rank 0 does (1 + F) times the work of a step, the
 *                             others wait for it
 *
 * The left edge is held at 1, the others at 0. The result does not depend on
 * the number of ranks or on the imbalance: every cell is computed by the same
 * expression from the same values, and the checksum adds 64-bit patterns.
 *
 *   mpicc -O2 -o heat2d heat2d.c -lm
 *   mpirun -n 4 ./heat2d --size 1024 --seconds 10 --imbalance 0.5
 */
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESIDUAL_EVERY 10

enum side { LEFT, RIGHT, UP, DOWN, NSIDES };

struct options {
	int size;
	long steps;
	double seconds;           /* 0: run `steps` */
	double imbalance;
};

struct block {
	MPI_Comm comm;
	int rank;
	int neighbour[NSIDES];
	int rows, cols;           /* cells of this rank, without the halo */
	double *cell, *next;      /* (rows + 2) x (cols + 2) */
	double *halo_out[2], *halo_in[2]; /* columns are copied: LEFT, RIGHT */
};

static void usage(FILE *out)
{
	fprintf(out,
		"usage: heat2d [--size N] [--steps N | --seconds S] [--imbalance F]\n"
		"  --size N       cells per edge of the plate (512)\n"
		"  --steps N      time steps (1000)\n"
		"  --seconds S    as many steps as fit into S seconds\n"
		"  --imbalance F  rank 0 does (1 + F) times the work of a step (0)\n");
}

static int number(const char *option, const char *text, double min, double max, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (end != text && !*end && *value >= min && *value <= max)
		return 0;
	fprintf(stderr, "heat2d: --%s '%s': expected a number from %g to %g\n",
		option, text, min, max);
	return -1;
}

/* 0; -1 after a message; 1: --help. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{ "size", required_argument, NULL, 'n' },
		{ "steps", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ "imbalance", required_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	double value;
	int c;

	*o = (struct options){ .size = 512, .steps = 1000 };
	while ((c = getopt_long(argc, argv, "n:s:t:i:h", table, NULL)) != -1) {
		switch (c) {
		case 'n':
			if (number("size", optarg, 8, 32768, &value) < 0)
				return -1;
			o->size = (int)value;
			break;
		case 's':
			if (number("steps", optarg, 1, 1e9, &value) < 0)
				return -1;
			o->steps = (long)value;
			break;
		case 't':
			if (number("seconds", optarg, 0.1, 1e6, &o->seconds) < 0)
				return -1;
			break;
		case 'i':
			if (number("imbalance", optarg, 0, 100, &o->imbalance) < 0)
				return -1;
			break;
		case 'h':
			return 1;
		default:
			return -1;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "heat2d: '%s': no such argument\n", argv[optind]);
	return -1;
}

/* Cells of part `index` of `parts`, the first ones one larger. */
static int share(int size, int parts, int index)
{
	return size / parts + (index < size % parts);
}

static double *cells(size_t n)
{
	double *p = calloc(n, sizeof(*p));

	if (!p) {
		fprintf(stderr, "heat2d: out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return p;
}

static void block_create(struct block *b, const struct options *o)
{
	int ranks, dims[2] = { 0, 0 }, periods[2] = { 0, 0 }, at[2];

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Dims_create(ranks, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &b->comm);
	MPI_Comm_rank(b->comm, &b->rank);
	MPI_Cart_coords(b->comm, b->rank, 2, at);
	MPI_Cart_shift(b->comm, 0, 1, &b->neighbour[UP], &b->neighbour[DOWN]);
	MPI_Cart_shift(b->comm, 1, 1, &b->neighbour[LEFT], &b->neighbour[RIGHT]);
	b->rows = share(o->size, dims[0], at[0]);
	b->cols = share(o->size, dims[1], at[1]);
	b->cell = cells((size_t)(b->rows + 2) * (size_t)(b->cols + 2));
	b->next = cells((size_t)(b->rows + 2) * (size_t)(b->cols + 2));
	for (int i = 0; i < 2; i++) {
		b->halo_out[i] = cells((size_t)b->rows);
		b->halo_in[i] = cells((size_t)b->rows);
	}
	if (b->neighbour[LEFT] == MPI_PROC_NULL)
		for (int r = 0; r < b->rows + 2; r++)
			b->cell[r * (b->cols + 2)] = b->next[r * (b->cols + 2)] = 1.0;
}

static void block_destroy(struct block *b)
{
	for (int i = 0; i < 2; i++) {
		free(b->halo_out[i]);
		free(b->halo_in[i]);
	}
	free(b->cell);
	free(b->next);
	MPI_Comm_free(&b->comm);
}

/* Column of the cells next to LEFT or RIGHT, or of the halo there. */
static int edge_column(const struct block *b, int side, int halo)
{
	return side == LEFT ? !halo : b->cols + halo;
}

static void exchange(struct block *b)
{
	const int w = b->cols + 2;
	double *row_out[] = { [UP] = b->cell + w + 1, [DOWN] = b->cell + b->rows * w + 1 };
	double *row_in[] = { [UP] = b->cell + 1, [DOWN] = b->cell + (b->rows + 1) * w + 1 };
	MPI_Request requests[2 * NSIDES];
	MPI_Status statuses[2 * NSIDES];

	for (int side = LEFT; side <= RIGHT; side++)
		for (int r = 0; r < b->rows; r++)
			b->halo_out[side][r] = b->cell[(r + 1) * w + edge_column(b, side, 0)];
	for (int side = 0; side < NSIDES; side++) {
		int column = side <= RIGHT, n = column ? b->rows : b->cols;

		/* side ^ 1 is the opposite side: what arrives from it was sent to it. */
		MPI_Irecv(column ? b->halo_in[side] : row_in[side], n, MPI_DOUBLE,
			  b->neighbour[side], side ^ 1, b->comm, &requests[side]);
		MPI_Isend(column ? b->halo_out[side] : row_out[side], n, MPI_DOUBLE,
			  b->neighbour[side], side, b->comm, &requests[NSIDES + side]);
	}
	MPI_Waitall(2 * NSIDES, requests, statuses);
	for (int side = LEFT; side <= RIGHT; side++)
		if (b->neighbour[side] != MPI_PROC_NULL)
			for (int r = 0; r < b->rows; r++)
				b->cell[(r + 1) * w + edge_column(b, side, 1)] = b->halo_in[side][r];
}

/* One step into `next`, of the first `rows` rows; returns the largest change. */
static double relax(struct block *b, int rows)
{
	const int w = b->cols + 2;
	double largest = 0;

	for (int r = 1; r <= rows; r++) {
		for (int c = 1; c <= b->cols; c++) {
			const double *p = b->cell + r * w + c;
			double next = 0.25 * ((p[-1] + p[1]) + (p[-w] + p[w]));
			double change = fabs(next - *p);

			b->next[r * w + c] = next;
			if (change > largest)
				largest = change;
		}
	}
	return largest;
}

/* The extra work of an overloaded rank: the same rows again, same result. */
static double step(struct block *b, double imbalance)
{
	double extra = b->rank == 0 ? imbalance : 0, change, *swap;

	exchange(b);
	change = relax(b, b->rows);
	for (; extra >= 1; extra--)
		relax(b, b->rows);
	relax(b, (int)(extra * b->rows));
	swap = b->cell;
	b->cell = b->next;
	b->next = swap;
	return change;
}

/* Adds the bits of the cells: order and number of ranks do not matter. */
static uint64_t checksum(const struct block *b)
{
	const int w = b->cols + 2;
	uint64_t sum = 0, total = 0, bits;

	for (int r = 1; r <= b->rows; r++) {
		for (int c = 1; c <= b->cols; c++) {
			memcpy(&bits, &b->cell[r * w + c], sizeof(bits));
			sum += bits;
		}
	}
	MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, b->comm);
	return total;
}

static void run(struct block *b, const struct options *o)
{
	double start = MPI_Wtime(), change, residual = 0, both[2], sum[2];
	uint64_t bits;
	long n = 0;

	for (;;) {
		change = step(b, o->imbalance);
		n++;
		if (n % RESIDUAL_EVERY && n != o->steps)
			continue;
		both[0] = change;
		both[1] = MPI_Wtime() - start; /* all must stop at the same step */
		MPI_Allreduce(both, sum, 2, MPI_DOUBLE, MPI_MAX, b->comm);
		residual = sum[0];
		if (o->seconds > 0 ? sum[1] >= o->seconds : n >= o->steps)
			break;
	}
	bits = checksum(b);
	if (b->rank == 0)
		printf("heat2d: %d x %d cells, %ld steps, residual %.6e, checksum %016llx\n",
		       o->size, o->size, n, residual, (unsigned long long)bits);
}

int main(int argc, char **argv)
{
	struct options o;
	struct block b;
	int rank, rc = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		rc = parse(argc, argv, &o);
	MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Bcast(&o, sizeof(o), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (rc == 0) {
		block_create(&b, &o);
		run(&b, &o);
		block_destroy(&b);
	} else if (rank == 0) {
		usage(rc > 0 ? stdout : stderr);
	}
	MPI_Finalize();
	return rc < 0 ? 2 : 0;
}
