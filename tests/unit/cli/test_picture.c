/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a run small enough to draw by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/mem.h"
#include "cli/picture.h"

static void add_node(struct sim_input *input, const char *product, uint32_t cards)
{
	struct frag_node gpu = {.cpu_milli = 100000, .cards = cards};

	for (uint32_t i = 0; i < cards; i++)
		gpu.left[i] = FRAG_WHOLE;
	assert_int_equal(sim_input_product(input, str_from(product), &gpu.product, NULL), 0);
	assert_int_equal(sim_input_add_node(input, STR("n"), &gpu, 100, NULL), 0);
}

/* Two nodes of 2 cards fill one after the other, then one of 1; a fourth has none. */
static void make(struct picture *picture, size_t rows)
{
	struct gorand_table *table CLEANUP(mem_free) = mem_alloc(sizeof(*table));
	const struct frag_ask ask = {.cpu_milli = 1, .gpu_milli = 100, .gpus = 1};
	const struct frag_ask a10 = {.cpu_milli = 1, .gpu_milli = 100, .gpus = 1, .products = 1};
	CLEANUP(sim_input_clear) struct sim_input input = {0};
	struct sim *sim CLEANUP(sim_free) = NULL;

	gorand_table_init(table);
	add_node(&input, "A10<\"\x1b", 2);
	add_node(&input, "A10<\"\x1b", 2);
	add_node(&input, "", 1);
	add_node(&input, "T4", 0);
	assert_int_equal(sim_input_add_pod(&input, &a10, 1, NULL), 0);
	assert_int_equal(sim_input_add_pod(&input, &ask, 1, NULL), 0);
	sim = sim_new(&input, table, SIM_FGD, 3, true);
	while (sim_step(sim, 100))
		;
	picture_make(picture, sim, &input, rows);
	/* Names are the input's, which ends here. */
	for (size_t i = 0; i < picture->n_rows; i++)
		picture->rows[i].product = picture->rows[i].product[0] ? "A10<\"\x1b" : "";
}

static void each_product_has_rows_by_its_nodes(void **state)
{
	struct picture picture;

	(void)state;
	make(&picture, 3);
	assert_int_equal(picture.n_rows, 3);
	assert_int_equal(picture.rows[0].nodes, 1);
	assert_int_equal(picture.rows[0].cards, 2);
	assert_true(picture.rows[0].first);
	assert_false(picture.rows[1].first);
	assert_true(picture.rows[2].first);
	assert_true(picture.rows[0].cells[50] >= picture.rows[1].cells[50]);
	make(&picture, 1);
	assert_int_equal(picture.n_rows, 2);
	assert_int_equal(picture.rows[0].nodes, 2);
	assert_int_equal(picture.rows[0].cards, 4);
	assert_int_equal(picture.rows[0].cells[SIM_POINTS - 1], 100);
}

static void a_terminal_gets_printable_text_of_100_columns(void **state)
{
	CLEANUP(buf_clear) struct buf out;
	struct picture picture;
	struct str line, rest;

	(void)state;
	make(&picture, 3);
	buf_init(&out, 100000);
	picture_text(&picture, true, &out);
	for (size_t i = 0; i < out.len; i++)
		assert_true(out.data[i] == '\n' || (out.data[i] >= ' ' && out.data[i] <= '~'));
	for (rest = buf_str(&out); str_split(rest, '\n', &line, &rest);)
		assert_true(line.len <= 100);
	assert_non_null(strstr(out.data, "\nA10<\"?           1     2 "));
}

static void an_svg_has_no_markup_of_others(void **state)
{
	CLEANUP(buf_clear) struct buf out;
	struct picture picture;

	(void)state;
	make(&picture, 3);
	buf_init(&out, 1000000);
	picture_svg(&picture, &out);
	assert_non_null(strstr(out.data, "<title>2 nodes</title>A10???"));
	assert_non_null(strstr(out.data, ">unknown <"));
	assert_true(str_ends_with(buf_str(&out), STR("</svg>\n")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_product_has_rows_by_its_nodes),
		cmocka_unit_test(a_terminal_gets_printable_text_of_100_columns),
		cmocka_unit_test(an_svg_has_no_markup_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
