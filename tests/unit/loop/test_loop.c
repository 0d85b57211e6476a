/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors, signals and jobs. Waits end with the condition; the time given is only for a
 * failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "loop/loop.h"

#define PATIENCE_US (20 * USEC_PER_SEC)

struct world {
	struct loop *loop;
	int pipe[2];
	struct loop_fd *reader, *writer;
	int reads, writes, signals;
	int done, cancelled;
	char order[16];
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));

	w->loop = loop_new(clock_system());
	assert_int_equal(pipe(w->pipe), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	loop_fd_free(w->reader);
	loop_fd_free(w->writer);
	loop_free(w->loop);
	close(w->pipe[0]);
	close(w->pipe[1]);
	mem_free(w);
	return 0;
}

static void wait_until(struct world *w, const int *what, int at_least)
{
	int64_t end = loop_now(w->loop) + PATIENCE_US;

	while (*what < at_least && loop_now(w->loop) < end)
		loop_run_once(w->loop, PATIENCE_US);
	assert_true(*what >= at_least);
}

static void on_read(void *context, int fd, unsigned int events)
{
	struct world *w = context;
	char byte;

	assert_int_equal(events, LOOP_READ);
	assert_int_equal(read(fd, &byte, 1), 1);
	w->reads++;
}

static void on_write(void *context, int fd UNUSED, unsigned int events)
{
	struct world *w = context;

	assert_int_equal(events, LOOP_WRITE);
	w->writes++;
}

static void a_descriptor_is_watched_as_long_as_there_is_interest(void **state)
{
	struct world *w = *state;

	w->reader = loop_fd_new(w->loop, "read", w->pipe[0], on_read, w);
	w->writer = loop_fd_new(w->loop, "write", w->pipe[1], on_write, w);
	loop_run_once(w->loop, 0);
	assert_int_equal(w->writes, 0);
	loop_fd_update(w->reader, LOOP_READ);
	loop_fd_update(w->writer, LOOP_WRITE);
	wait_until(w, &w->writes, 2);
	assert_int_equal(w->reads, 0);
	loop_fd_update(w->writer, 0);
	assert_int_equal(write(w->pipe[1], "ab", 2), 2);
	wait_until(w, &w->reads, 2);
	loop_fd_update(w->reader, 0);
	assert_int_equal(write(w->pipe[1], "c", 1), 1);
	w->writes = 0;
	loop_run_once(w->loop, 0);
	loop_run_once(w->loop, 0);
	assert_int_equal(w->reads, 2);
	assert_int_equal(w->writes, 0);
}

static void on_ready_free_both(void *context, int fd UNUSED, unsigned int events UNUSED)
{
	struct world *w = context;

	w->reads++;
	loop_fd_free(TAKE(w->reader));
	loop_fd_free(TAKE(w->writer));
}

static void a_watch_is_freed_in_its_own_callback_and_the_other_is_not_called(void **state)
{
	struct world *w = *state;

	w->reader = loop_fd_new(w->loop, "read", w->pipe[0], on_ready_free_both, w);
	w->writer = loop_fd_new(w->loop, "write", w->pipe[1], on_ready_free_both, w);
	loop_fd_update(w->reader, LOOP_READ);
	loop_fd_update(w->writer, LOOP_WRITE);
	assert_int_equal(write(w->pipe[1], "a", 1), 1);
	wait_until(w, &w->reads, 1);
	loop_run_once(w->loop, 0);
	assert_int_equal(w->reads, 1);
}

static void on_signal(void *context)
{
	struct world *w = context;

	w->signals++;
}

static void signals_arrive_as_turns(void **state)
{
	struct world *w = *state;

	loop_on_signal(w->loop, SIGUSR1, on_signal, w);
	raise(SIGUSR1);
	assert_int_equal(w->signals, 0);
	wait_until(w, &w->signals, 1);
	raise(SIGUSR1);
	wait_until(w, &w->signals, 2);
}

static void a_closed_pipe_does_not_end_the_program(void **state)
{
	struct world *w = *state;
	int fds[2];

	(void)w;
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(write(fds[1], "x", 1), -1);
	close(fds[1]);
}

struct task {
	struct world *world;
	char letter;
	int worked;
	pid_t loop_thread;
	sem_t begun;
};

static void work(void *data)
{
	struct task *task = data;

	task->worked++;
}

static void done(void *data, bool cancelled)
{
	struct task *task = data;

	assert_int_equal(task->worked, cancelled ? 0 : 1);
	task->world->order[task->world->done++] = task->letter;
	task->world->cancelled += cancelled;
}

static void jobs_run_in_order_and_answer_in_the_loop(void **state)
{
	struct world *w = *state;
	struct task tasks[3] = {{.world = w, .letter = 'a'},
				{.world = w, .letter = 'b'},
				{.world = w, .letter = 'c'}};

	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
		loop_job(w->loop, "job", work, done, &tasks[i]);
	assert_int_equal(w->done, 0);
	wait_until(w, &w->done, 3);
	assert_string_equal(w->order, "abc");
	assert_int_equal(w->cancelled, 0);
}

static bool sleeps(pid_t thread)
{
	char path[64], text[256] = "";
	const char *end;
	FILE *file;

	assert_true(snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread) > 0);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'S';
}

/* Ends only when the loop's thread sleeps, that is, waits for this job in loop_free(). */
static void work_until_waited_for(void *data)
{
	struct task *task = data;

	sem_post(&task->begun);
	while (!sleeps(task->loop_thread))
		sched_yield();
	task->worked++;
}

static void freeing_the_loop_waits_for_the_running_job_and_cancels_the_others(void **state)
{
	struct world *w = *state;
	struct task first = {.world = w, .letter = 'a', .loop_thread = getpid()};
	struct task second = {.world = w, .letter = 'b'};

	assert_int_equal(sem_init(&first.begun, 0, 0), 0);
	loop_job(w->loop, "job", work_until_waited_for, done, &first);
	while (sem_trywait(&first.begun) != 0)
		sched_yield();
	loop_job(w->loop, "job", work, done, &second);
	loop_free(TAKE(w->loop));
	assert_string_equal(w->order, "ab");
	assert_int_equal(w->cancelled, 1);
	assert_int_equal(second.worked, 0);
	sem_destroy(&first.begun);
}

static void done_then_again(void *data, bool cancelled)
{
	struct task *task = data;

	done(data, cancelled);
	task->worked = 0;
	if (task->world->done < 3)
		loop_job(task->world->loop, "again", work, done_then_again, task);
}

static void a_finished_job_begins_the_next(void **state)
{
	struct world *w = *state;
	struct task task = {.world = w, .letter = 'x'};

	loop_job(w->loop, "again", work, done_then_again, &task);
	wait_until(w, &w->done, 3);
	assert_string_equal(w->order, "xxx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_descriptor_is_watched_as_long_as_there_is_interest, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_watch_is_freed_in_its_own_callback_and_the_other_is_not_called, setup,
			teardown),
		cmocka_unit_test_setup_teardown(signals_arrive_as_turns, setup, teardown),
		cmocka_unit_test_setup_teardown(a_closed_pipe_does_not_end_the_program, setup,
						teardown),
		cmocka_unit_test_setup_teardown(jobs_run_in_order_and_answer_in_the_loop, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			freeing_the_loop_waits_for_the_running_job_and_cancels_the_others, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_finished_job_begins_the_next, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
