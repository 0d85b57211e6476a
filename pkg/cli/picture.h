/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLI_PICTURE_H
#define GPUQOS_CLI_PICTURE_H

#include "base/buf.h"
#include "sim/sim.h"

/*
 * How the nodes of a run fill: a row for some nodes with one product of cards, those that filled
 * first on top; from left to right the demand that has arrived. Same run, same bytes.
 */
#define PICTURE_ROWS     200 /* most */
#define PICTURE_COLUMNS  SIM_POINTS
#define PICTURE_TERMINAL 30 /* rows that fit a terminal */
#define PICTURE_SVG      120

struct picture_row {
	const char *product; /* borrowed from the input; "" where it is not known */
	uint32_t nodes, cards;
	bool first;                    /* of its product */
	int8_t cells[PICTURE_COLUMNS]; /* percent allocated, mean over the nodes; -1: not there */
};

struct picture {
	struct picture_row rows[PICTURE_ROWS];
	size_t n_rows;
	const char *policy; /* static */
	int64_t seed;
};

/*
 * Of a run with history over @input. Each product has a row at least, and rows by its number of
 * nodes, about @rows in all; of more products than PICTURE_ROWS the smallest are left out.
 */
void picture_make(struct picture *picture, const struct sim *sim, const struct sim_input *input,
		  size_t rows);

/* For a terminal, 100 columns; @ascii: without UTF-8. Names reach it as printable ASCII alone. */
void picture_text(const struct picture *picture, bool ascii, struct buf *out);

/* An SVG document that needs nothing from elsewhere. */
void picture_svg(const struct picture *picture, struct buf *out);

#endif
