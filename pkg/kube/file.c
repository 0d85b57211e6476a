/* SPDX-License-Identifier: Apache-2.0 */
/* Reading small files whole. Regular files only: reading a FIFO would stop the event loop. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "kube/config.h"

struct reader {
	const char *path;
	int fd;
	char *text;
	size_t len, room; /* room: one more byte than the file may have */
};

/* Room for what the file says it has, and some more where it is just being written. */
static int make_room(struct reader *reader, size_t max, struct error *err)
{
	struct stat info;

	if (fstat(reader->fd, &info) < 0)
		return error_set_errno(err, errno, "%s", reader->path);
	if (!S_ISREG(info.st_mode))
		return error_set(err, ERROR_INVALID, "%s: not a regular file", reader->path);
	reader->room = MIN(max, (size_t)info.st_size + 4096) + 1;
	reader->text = mem_alloc(reader->room);
	return 0;
}

static int read_all(struct reader *reader, struct error *err)
{
	ssize_t n;

	while (reader->len < reader->room) {
		n = read(reader->fd, reader->text + reader->len, reader->room - reader->len);
		if (n > 0)
			reader->len += (size_t)n;
		else if (n == 0)
			break;
		else if (errno != EINTR)
			return error_set_errno(err, errno, "%s", reader->path);
	}
	if (reader->len == reader->room)
		return error_set(err, ERROR_LIMIT, "%s: more than %zu bytes", reader->path,
				 reader->room - 1);
	reader->text[reader->len] = '\0';
	return 0;
}

int kube_read_file(const char *path, size_t max, char **ret_text, size_t *ret_len,
		   struct error *err)
{
	struct reader reader = {.path = path};
	int r;

	reader.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (reader.fd < 0)
		return error_set_errno(err, errno, "%s", path);
	r = make_room(&reader, max, err);
	if (r == 0)
		r = read_all(&reader, err);
	close(reader.fd);
	if (r == 0) {
		*ret_text = reader.text;
		*ret_len = reader.len;
		return 0;
	}
	if (reader.text)
		mem_wipe(reader.text, reader.room);
	mem_free(reader.text);
	return -1;
}
