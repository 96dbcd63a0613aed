// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads BPF programs, which the kernel's JIT puts into areas that it makes
 * read-only and executable, with their aliases in the linear map; runs each, looks
 * at what it returned, and closes it again. First as many as fill several of
 * these areas (packs of 2 MiB), all held at once; then from two threads, with
 * programs of different sizes.
 *
 * A program is a socket filter on a pair of datagram sockets: what it returns is
 * how many bytes of a packet are left.
 *
 * Usage: bpf_loop LOOPS [COMMAND]
 *
 * LOOPS is for each thread. COMMAND is run while the packs are full. Prints lines
 * "key<TAB>value":
 *	programs	how many were loaded
 *	jited		bytes of their machine code that were held at once at most
 *	wrong		programs that returned something else
 *	errors		calls that failed, each said on stderr
 * Exit: 0 all well, 1 not, 4 the kernel has no bpf(2).
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

#define MOST_INSNS	4000
#define MOST_HELD	512
#define ENOUGH		(5UL << 20)	/* more than two packs hold */
#define PACKET		100

#ifndef SO_ATTACH_BPF
#define SO_ATTACH_BPF	50
#endif

static unsigned long programs, jited, wrong, errors;
static unsigned long loops;
static const unsigned int sizes[] = { 2, 100, MOST_INSNS };

static void failed(const char *what)
{
	fprintf(stderr, "bpf_loop: %s: %s\n", what, strerror(errno));
	__atomic_add_fetch(&errors, 1, __ATOMIC_RELAXED);
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static uint32_t step(uint32_t v, unsigned int i, struct bpf_insn *insn)
{
	uint32_t imm = (i * 0x9e3779b9U) | 1;

	insn->dst_reg = BPF_REG_0;
	insn->imm = imm;
	switch (i % 3) {
	case 0:
		insn->code = BPF_ALU | BPF_K | BPF_ADD;
		return v + imm;
	case 1:
		insn->code = BPF_ALU | BPF_K | BPF_XOR;
		return v ^ imm;
	default:
		insn->code = BPF_ALU | BPF_K | BPF_MUL;
		return v * imm;
	}
}

/* A program of @n instructions. Returns its file, with what it will return in @left. */
static int load(unsigned int n, uint32_t seed, uint32_t *left)
{
	struct bpf_insn *insn = calloc(n, sizeof(*insn));
	union bpf_attr attr;
	uint32_t v = seed % PACKET + 1;
	unsigned int i;
	int fd;

	if (!insn) {
		failed("calloc");
		return -1;
	}
	insn[0] = (struct bpf_insn){ .code = BPF_ALU | BPF_K | BPF_MOV, .imm = v };
	if (n > 4) {
		for (i = 1; i < n - 3; i++)
			v = step(v, i + seed, &insn[i]);
		insn[i++] = (struct bpf_insn){ .code = BPF_ALU | BPF_K | BPF_AND, .imm = 63 };
		insn[i++] = (struct bpf_insn){ .code = BPF_ALU | BPF_K | BPF_ADD, .imm = 1 };
		v = (v & 63) + 1;
	}
	insn[n - 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uintptr_t)insn;
	attr.insn_cnt = n;
	attr.license = (uintptr_t)"GPL";
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		failed("BPF_PROG_LOAD");
	else
		__atomic_add_fetch(&programs, 1, __ATOMIC_RELAXED);
	free(insn);
	*left = v;
	return fd;
}

static unsigned long jited_size(int fd)
{
	struct bpf_prog_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr)) {
		failed("BPF_OBJ_GET_INFO_BY_FD");
		return 0;
	}
	return info.jited_prog_len;
}

/* Sends a packet through the program. */
static void run(int fd, uint32_t left)
{
	char packet[PACKET] = "", got[PACKET];
	ssize_t n;
	int s[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s)) {
		failed("socketpair");
		return;
	}
	if (setsockopt(s[1], SOL_SOCKET, SO_ATTACH_BPF, &fd, sizeof(fd))) {
		failed("SO_ATTACH_BPF");
	} else if (send(s[0], packet, sizeof(packet), 0) != sizeof(packet)) {
		failed("send");
	} else {
		n = recv(s[1], got, sizeof(got), MSG_DONTWAIT);
		if (n != left) {
			fprintf(stderr, "bpf_loop: %zd bytes are left of a packet, expected %u\n",
				n, left);
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		}
	}
	close(s[0]);
	close(s[1]);
}

static void fill(const char *command)
{
	uint32_t left[MOST_HELD];
	int fd[MOST_HELD], n, i;

	for (n = 0; n < MOST_HELD && jited < ENOUGH; n++) {
		fd[n] = load(MOST_INSNS - n % 7, n, &left[n]);
		if (fd[n] < 0)
			break;
		jited += jited_size(fd[n]);
		if (!jited)
			break;
	}
	if (command && system(command))
		failed(command);
	for (i = 0; i < n; i++) {
		run(fd[i], left[i]);
		close(fd[i]);
	}
}

static void *thread(void *arg)
{
	unsigned long nr = *(unsigned long *)arg, i;
	uint32_t left;
	int fd;

	for (i = 0; i < loops && !errors; i++) {
		fd = load(sizes[(i + nr) % 3], i * 2 + nr, &left);
		if (fd < 0)
			break;
		run(fd, left);
		close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct rlimit many = { MOST_HELD + 64, MOST_HELD + 64 };
	unsigned long nr[2] = { 0, 1 };
	union bpf_attr attr;
	pthread_t t[2];
	char *end;
	int i;

	loops = argc > 1 ? strtoul(argv[1], &end, 10) : 0;
	if (argc < 2 || argc > 3 || *end || !loops) {
		bool help = argc == 2 && !strcmp(argv[1], "--help");

		fprintf(help ? stdout : stderr,
			"Usage: bpf_loop LOOPS [COMMAND]\nThe head of the source says what it does.\n");
		return !help;
	}
	memset(&attr, 0, sizeof(attr));
	if (bpf(BPF_PROG_LOAD, &attr) < 0 && errno == ENOSYS) {
		fputs("bpf_loop: the kernel has no bpf(2)\n", stderr);
		return 4;
	}
	setrlimit(RLIMIT_NOFILE, &many);
	fill(argc > 2 ? argv[2] : NULL);
	for (i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, thread, &nr[i])) {
			fputs("bpf_loop: no second thread\n", stderr);
			return 1;
		}
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("programs\t%lu\njited\t%lu\nwrong\t%lu\nerrors\t%lu\n", programs, jited, wrong,
	       errors);
	return errors || wrong;
}
