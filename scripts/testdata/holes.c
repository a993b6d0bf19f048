// Tries what nothing in a box can do, and prints a line for each attempt: its name, and 0 or the
// errno that it got. "holes keys CMD" starts a program with a key in its session keyring.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void said(const char *name, long got) { printf("%s %d\n", name, got < 0 ? errno : 0); fflush(stdout); }

static long opened(const char *path, int flags) {
	int fd = open(path, flags);
	if (fd >= 0) close(fd);
	return fd;
}

// foreign makes a call by the numbers of another architecture, in a process that may not outlive it.
static void foreign(const char *name, int i386) {
	int status;
	pid_t child = fork();
	if (child == 0) {
		long got = 0;
#ifdef __x86_64__
		if (i386)
			__asm__ volatile("int $0x80" : "=a"(got) : "a"(20L) : "memory");
		else
			got = syscall(0x40000000 | 39) < 0 ? -errno : 0;
#endif
		_exit(got < 0 ? (int)-got : 0);
	}
	waitpid(child, &status, 0);
	printf("%s %d\n", name, WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void sockets(void) {
	for (int family = 0; family < 46; family++) {
		char name[32];
		int fd = socket(family, SOCK_STREAM, 0);
		if (fd < 0 && errno != EPERM) fd = socket(family, SOCK_RAW, 0);
		sprintf(name, "family-%d", family);
		said(name, fd);
		if (fd >= 0) close(fd);
	}
	said("mptcp", socket(AF_INET, SOCK_STREAM, 262));
	int pair[2];
	said("tipc-pair", socketpair(AF_TIPC, SOCK_STREAM, 0, pair));
}

static void terminal(void) {
	int master, slave, modem = 17; // a line discipline that does not exist
	char c = 'x';
	if (openpty(&master, &slave, NULL, NULL, NULL) < 0) return said("openpty", -1);
	said("TIOCSTI", ioctl(slave, TIOCSTI, &c));
	said("TIOCSTI-high", syscall(SYS_ioctl, slave, 0x100000000 | TIOCSTI, &c));
	said("TIOCLINUX", ioctl(slave, TIOCLINUX, &c));
	said("TIOCSETD", ioctl(slave, TIOCSETD, &modem));
}

static void other(pid_t pid) {
	char path[64], byte = 0;
	struct iovec v = {&byte, 1};
	const char *files[] = {"mem", "environ", "exe", "fd", "maps", "root"};
	said("ptrace", ptrace(PTRACE_SEIZE, pid, 0, 0));
	said("process_vm_readv", process_vm_readv(pid, &v, 1, &v, 1, 0));
	said("process_vm_writev", process_vm_writev(pid, &v, 1, &v, 1, 0));
	said("kcmp", syscall(SYS_kcmp, pid, getpid(), 0, 0, 0));
	said("pidfd_getfd", syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, pid, 0), 0, 0));
	for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
		sprintf(path, "/proc/%d/%s", pid, files[i]);
		char *name = strrchr(path, '/') + 1, link[256];
		int is_link = !strcmp(name, "exe") || !strcmp(name, "root");
		printf("process-");
		said(name, is_link ? readlink(path, link, sizeof link) : opened(path, !strcmp(name, "mem") ? O_RDWR : O_RDONLY));
	}
}

static long cloned(unsigned long flags) {
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) _exit(0);
	if (pid > 0) waitpid(pid, NULL, 0);
	return pid;
}

static void kernel(void) {
	char zeros[256] = {0};
	said("io_uring", syscall(SYS_io_uring_setup, 4, zeros));
	said("userfaultfd", syscall(SYS_userfaultfd, 1));
	said("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
	said("add_key", syscall(SYS_add_key, "user", "holes", "x", 1, KEY_SPEC_PROCESS_KEYRING));
	said("request_key", syscall(SYS_request_key, "user", "holes", NULL, 0));
	memset(zeros, 0, sizeof zeros);
	said("bpf", syscall(SYS_bpf, 0, zeros, 72));
	said("perf_event_open", syscall(SYS_perf_event_open, zeros, 0, -1, -1, 0));
	said("unshare", unshare(CLONE_NEWUSER));
	said("setns", setns(opened("/proc/self/ns/net", O_RDONLY), 0));
	said("clone-newuser", cloned(CLONE_NEWUSER));
	said("clone-newnet", cloned(CLONE_NEWNET));
	long third = syscall(SYS_clone3, zeros, 88);
	if (third == 0) _exit(0);
	said("clone3", third);
	said("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
	said("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	said("open_tree", syscall(SYS_open_tree, -100, "/", 1));
	said("chroot", chroot("/tmp"));
	said("personality", syscall(SYS_personality, 0x0040000));
	said("core_pattern", opened("/proc/sys/kernel/core_pattern", O_WRONLY));
	foreign("i386", 1);
	foreign("x32", 0);
}

int main(int argc, char **argv) {
	if (argc > 2 && !strcmp(argv[1], "keys")) {
		syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
		long key = syscall(SYS_add_key, "user", "key-of-a-test", "x", 1, KEY_SPEC_SESSION_KEYRING);
		if (key < 0 || syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f000000) < 0) return 1; // only for those that possess it
		execvp(argv[2], argv + 2);
		return 1;
	}
	sockets();
	terminal();
	other(argc > 1 ? atoi(argv[1]) : 1);
	kernel();
	return 0;
}
