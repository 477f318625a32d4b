/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/template.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/process/packet.h"

/* What a packet has: the decoder's end of a socket, and where its end is reported. */
enum { FD_DECODER, FD_STATUS, FD_COUNT };

#define STATUS_PATIENCE_MS 5000

struct decoder {
	pid_t pid;
	int status_fd;
};

struct template
{
	const struct template_start *start;
	int signal_fd;
	bool is_told;
	unsigned count;
	struct decoder *decoders; /* room for start->decoders_max */
};

/* ---- those that ask ---- */

int template_pair(int ret_ends[TEMPLATE_ENDS])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_ends) != 0)
		return -errno;
	return 0;
}

static void close_pair(int ends[2])
{
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static int make_ends(int stream[2], int status[2])
{
	/* The decoder's end is one that waits. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, stream) != 0)
		return -errno;
	if (fcntl(stream[0], F_SETFL, O_NONBLOCK) == 0 && pipe2(status, O_CLOEXEC) == 0)
		return 0;
	const int error = errno;
	close_pair(stream);
	return -error;
}

int template_ask(int ask_fd, struct template_link *ret_link)
{
	int stream[2];
	int status[2];
	char byte = 0;
	const struct iovec part = { &byte, sizeof(byte) };
	const int ret = make_ends(stream, status);
	if (ret < 0)
		return ret;
	const int fds[FD_COUNT] = { [FD_DECODER] = stream[1], [FD_STATUS] = status[1] };
	const ssize_t sent = packet_send(ask_fd, &part, 1, fds, FD_COUNT);
	(void)close(stream[1]);
	(void)close(status[1]);
	if (sent < 0) {
		(void)close(stream[0]);
		(void)close(status[0]);
		return sent == -ECONNRESET || sent == -ENOTCONN ? -EPIPE : (int)sent;
	}
	*ret_link = (struct template_link){ .fd = stream[0], .status_fd = status[0] };
	return 0;
}

int template_status(const struct template_link *link)
{
	struct pollfd poller = { .fd = link->status_fd, .events = POLLIN };
	int status = -1;
	if (poll(&poller, 1, STATUS_PATIENCE_MS) != 1)
		return -1;
	if (read(link->status_fd, &status, sizeof(status)) != (ssize_t)sizeof(status))
		return -1;
	return status;
}

void template_link_close(struct template_link *link)
{
	if (link->fd >= 0)
		(void)close(link->fd);
	if (link->status_fd >= 0)
		(void)close(link->status_fd);
	link->fd = link->status_fd = -1;
}

/* ---- a decoder ---- */

/* All that is the template's and not its own. */
static void become_decoder(struct template *template, const struct packet *packet)
{
	const struct template_start *start = template->start;
	sigset_t none;

	(void)close(start->ask_fd);
	(void)close(template->signal_fd);
	(void)close(packet->fds[FD_STATUS]);
	for (unsigned i = 0; i < template->count; i++)
		(void)close(template->decoders[i].status_fd);
	if (!start->is_lasting)
		(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "decoder");
	start->decode(start->decode_context, packet->fds[FD_DECODER]);
	_exit(EX_OK);
}

static void begin_decoder(struct template *template, struct packet *packet)
{
	const struct template_start *start = template->start;
	const pid_t template_pid = getpid();

	if (start->prepare != NULL)
		start->prepare(start->decode_context);
	const pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The template may have ended before that took effect. */
		if (getppid() != template_pid)
			_exit(EX_OK);
		become_decoder(template, packet);
	}
	(void)close(packet->fds[FD_DECODER]);
	if (pid < 0) {
		log_error(template->start->context, "decoder not started (%s)", strerror(errno));
		(void)close(packet->fds[FD_STATUS]);
		return;
	}
	template->decoders[template->count++] = (struct decoder){ pid, packet->fds[FD_STATUS] };
}

/* The scanner may have gone: then there is nothing to be told. */
static void report(const struct decoder *decoder, int status)
{
	(void)!write(decoder->status_fd, &status, sizeof(status));
	(void)close(decoder->status_fd);
}

static void reap(struct template *template)
{
	int status = 0;
	pid_t pid = 0;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (unsigned i = 0; i < template->count; i++) {
			if (template->decoders[i].pid != pid)
				continue;
			report(&template->decoders[i], status);
			template->decoders[i] = template->decoders[--template->count];
			break;
		}
	}
}

/* ---- the template ---- */

/* A signal is a child that has ended, or the word to end. */
static void take_signals(struct template *template)
{
	struct signalfd_siginfo info;

	while (read(template->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGTERM)
			template->is_told = true;
	}
	reap(template);
}

/* A packet that asks for a decoder. false: there is nothing left that could send one. */
static bool take_packet(struct template *template)
{
	char byte = 0;
	struct packet packet;
	const int ret = packet_receive(template->start->ask_fd, &byte, sizeof(byte), &packet);

	if (ret == 0)
		return false;
	if (ret < 0) {
		if (ret != -EAGAIN && ret != -EINTR)
			log_warning(template->start->context, "request for a decoder lost (%s)",
				    strerror(-ret));
		return true;
	}
	if (packet.fd_count == FD_COUNT)
		begin_decoder(template, &packet);
	else
		packet_close(&packet);
	return true;
}

static int serve(struct template *template)
{
	bool is_asked = true;

	/* Behind the last that could ask, decoders are left to finish. */
	while (!template->is_told && (is_asked || template->count > 0)) {
		const bool has_room = is_asked && template->count < template->start->decoders_max;
		struct pollfd pollers[] = {
			{ .fd = template->signal_fd, .events = POLLIN },
			{ .fd = has_room ? template->start->ask_fd : -1, .events = POLLIN },
		};
		if (poll(pollers, 2, -1) < 0 && errno != EINTR)
			return EX_OSERR;
		if (pollers[0].revents != 0)
			take_signals(template);
		if (pollers[1].revents != 0)
			is_asked = take_packet(template);
	}
	return EX_OK;
}

int template_run(const struct template_start *start)
{
	struct template template = { .start = start };
	sigset_t waited;

	(void)prctl(PR_SET_NAME, "decoders");
	(void)sigemptyset(&waited);
	(void)sigaddset(&waited, SIGCHLD);
	if (start->is_lasting)
		(void)signal(SIGTERM, SIG_IGN);
	else
		(void)sigaddset(&waited, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &waited, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	template.signal_fd = signalfd(-1, &waited, SFD_CLOEXEC | SFD_NONBLOCK);
	template.decoders = calloc(start->decoders_max, sizeof(*template.decoders));
	if (template.signal_fd < 0 || template.decoders == NULL) {
		log_error(start->context, "template of decoders not started (%s)", strerror(errno));
		free(template.decoders);
		return EX_OSERR;
	}
	const int status = serve(&template);
	(void)close(template.signal_fd);
	free(template.decoders);
	return status;
}
