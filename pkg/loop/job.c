/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job thread. Two lists under one mutex: what waits and what is finished; an eventfd tells the
 * loop of the latter. The thread is started by the first job and blocks all signals, so that the
 * loop's thread gets them.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/mem.h"
#include "loop/internal.h"

struct job {
	struct list link;
	const char *name;
	loop_work_fn work;
	loop_done_fn done;
	void *data;
};

struct jobs {
	struct loop *loop;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct list waiting, finished; /* under the mutex, as is: */
	bool stop;
	int fd;
	struct event *event;
};

static struct job *pop(struct list *from)
{
	struct list *first = list_pop(from);

	return first ? container_of(first, struct job, link) : NULL;
}

/* The next job, or NULL when the thread is to end. */
static struct job *wait_for_work(struct jobs *jobs)
{
	struct job *job;

	pthread_mutex_lock(&jobs->mutex);
	while (!jobs->stop && list_empty(&jobs->waiting))
		pthread_cond_wait(&jobs->wake, &jobs->mutex);
	job = jobs->stop ? NULL : pop(&jobs->waiting);
	pthread_mutex_unlock(&jobs->mutex);
	return job;
}

static void hand_back(struct jobs *jobs, struct job *job)
{
	const uint64_t one = 1;
	ssize_t n;

	pthread_mutex_lock(&jobs->mutex);
	list_append(&jobs->finished, &job->link);
	pthread_mutex_unlock(&jobs->mutex);
	n = write(jobs->fd, &one, sizeof(one));
	(void)n; /* fails only when 2^64 wait to be read */
}

static void *job_thread(void *context)
{
	struct jobs *jobs = context;
	struct job *job;

	while ((job = wait_for_work(jobs))) {
		job->work(job->data);
		hand_back(jobs, job);
	}
	return NULL;
}

static struct job *pop_finished(struct jobs *jobs)
{
	struct job *job;

	pthread_mutex_lock(&jobs->mutex);
	job = pop(&jobs->finished);
	pthread_mutex_unlock(&jobs->mutex);
	return job;
}

static void job_end(struct loop *loop, struct job *job, bool cancelled)
{
	loop_turn_begin(loop);
	job->done(job->data, cancelled);
	loop_turn_end(loop, job->name);
	mem_free(job);
}

static void jobs_finished(evutil_socket_t fd, short what UNUSED, void *context)
{
	struct jobs *jobs = context;
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));
	struct job *job;

	(void)n;
	while ((job = pop_finished(jobs)))
		job_end(jobs->loop, job, false);
}

static void start_thread(struct jobs *jobs)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&jobs->thread, NULL, job_thread, jobs) != 0)
		loop_die("no job thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static struct jobs *jobs_new(struct loop *loop)
{
	struct jobs *jobs = mem_alloc(sizeof(*jobs));

	jobs->loop = loop;
	list_init(&jobs->waiting);
	list_init(&jobs->finished);
	jobs->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (jobs->fd < 0 || pthread_mutex_init(&jobs->mutex, NULL) != 0 ||
	    pthread_cond_init(&jobs->wake, NULL) != 0)
		loop_die("no eventfd or mutex");
	jobs->event = loop_event_new(loop, jobs->fd, EV_READ | EV_PERSIST, jobs_finished, jobs);
	start_thread(jobs);
	return jobs;
}

void loop_job(struct loop *loop, const char *name, loop_work_fn work, loop_done_fn done, void *data)
{
	struct job *job = mem_alloc(sizeof(*job));
	struct jobs *jobs;

	if (!loop->jobs)
		loop->jobs = jobs_new(loop);
	jobs = loop->jobs;
	*job = (struct job){.name = name, .work = work, .done = done, .data = data};
	pthread_mutex_lock(&jobs->mutex);
	list_append(&jobs->waiting, &job->link);
	pthread_cond_signal(&jobs->wake);
	pthread_mutex_unlock(&jobs->mutex);
}

void jobs_free(struct jobs *jobs)
{
	struct job *job;

	if (!jobs)
		return;
	pthread_mutex_lock(&jobs->mutex);
	jobs->stop = true;
	pthread_cond_signal(&jobs->wake);
	pthread_mutex_unlock(&jobs->mutex);
	pthread_join(jobs->thread, NULL);
	while ((job = pop_finished(jobs)))
		job_end(jobs->loop, job, false);
	while ((job = pop(&jobs->waiting)))
		job_end(jobs->loop, job, true);
	event_free(jobs->event);
	close(jobs->fd);
	pthread_cond_destroy(&jobs->wake);
	pthread_mutex_destroy(&jobs->mutex);
	mem_free(jobs);
}
