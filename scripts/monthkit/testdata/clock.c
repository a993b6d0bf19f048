/* Sets the clock of a database server: LD_PRELOAD=clock.so. The file MONTH_CLOCK holds by how
   many seconds it is ahead, as one number of 64 bits, which may change while the server runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile int64_t *ahead;
static int (*clock_)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("MONTH_CLOCK");
	int fd = name ? open(name, O_RDONLY) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(0, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
	*(void **)&clock_ = dlsym(RTLD_NEXT, "clock_gettime");
	if (p == MAP_FAILED || !clock_)
		abort();
	ahead = p;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int r = clock_(id, t);
	if (!r && id == CLOCK_REALTIME)
		t->tv_sec += *ahead;
	return r;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec s;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &s))
		return -1;
	t->tv_sec = s.tv_sec;
	t->tv_usec = s.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t)
{
	struct timespec s;
	clock_gettime(CLOCK_REALTIME, &s);
	if (t)
		*t = s.tv_sec;
	return s.tv_sec;
}
