/* A disk that is full, read-only or slow, and a clock that was set back, for a process that preloads this.
 *
 * What is wrong stands in a shared file that JUMOK_FAULTS names (tests/run/faults.py writes it), so that
 * it can change while the process runs. Only plain files are concerned: pipes and terminals work on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    int64_t limited, free, read_only, delay_us, clock_shift_s;
} Faults;

static Faults nothing, *faults = &nothing;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("JUMOK_FAULTS");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0) return;
    void *map = mmap(NULL, sizeof(Faults), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) faults = map;
    close(file);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void wait_a_little(void) {
    if (faults->delay_us > 0) {
        struct timespec t = {faults->delay_us / 1000000, faults->delay_us % 1000000 * 1000};
        nanosleep(&t, NULL);
    }
}

static int plain(int file) {
    struct stat about;
    return fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

/* How many of `size` bytes the disk still takes; 0 with errno set if none. */
static size_t room(int file, size_t size) {
    if (!plain(file)) return size;
    wait_a_little();
    if (!faults->limited || size == 0) return size;
    int64_t left = __atomic_fetch_sub(&faults->free, (int64_t)size, __ATOMIC_RELAXED);
    if (left >= (int64_t)size) return size;
    __atomic_store_n(&faults->free, 0, __ATOMIC_RELAXED);
    if (left > 0) return (size_t)left; /* a part is written, as real disks do */
    errno = ENOSPC;
    return 0;
}

ssize_t write(int file, const void *data, size_t size) {
    size_t fits = room(file, size);
    return size && !fits ? -1 : REAL(write)(file, data, fits);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    size_t fits = room(file, size);
    return size && !fits ? -1 : REAL(pwrite64)(file, data, fits, at);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at) { return pwrite64(file, data, size, at); }

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (!plain(file) || count < 1) return REAL(writev)(file, parts, count);
    return write(file, parts[0].iov_base, parts[0].iov_len); /* a short write: the caller goes on */
}

int fsync(int file) {
    wait_a_little();
    return REAL(fsync)(file);
}

static int refused(const char *path) {
    if (!faults->read_only || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return 0;
    errno = EROFS;
    return 1;
}

static int opened(int folder, const char *path, int flags, mode_t mode) {
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) && refused(path)) return -1;
    return REAL(openat)(folder, path, flags, mode);
}

static mode_t mode_of(int flags, va_list more) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; }

#define OPEN(name, folder, ...)                              \
    int name(__VA_ARGS__, int flags, ...) {                  \
        va_list more;                                        \
        va_start(more, flags);                               \
        mode_t mode = mode_of(flags, more);                  \
        va_end(more);                                        \
        return opened(folder, path, flags, mode);            \
    }
OPEN(open, AT_FDCWD, const char *path)
OPEN(open64, AT_FDCWD, const char *path)
OPEN(openat, at, int at, const char *path)
OPEN(openat64, at, int at, const char *path)

int mkdir(const char *path, mode_t mode) { return refused(path) ? -1 : REAL(mkdir)(path, mode); }
int rmdir(const char *path) { return refused(path) ? -1 : REAL(rmdir)(path); }
int unlink(const char *path) { return refused(path) ? -1 : REAL(unlink)(path); }
int unlinkat(int at, const char *path, int flags) { return refused(path) ? -1 : REAL(unlinkat)(at, path, flags); }

int rename(const char *from, const char *to) {
    wait_a_little();
    return refused(from) ? -1 : REAL(rename)(from, to);
}

int statvfs64(const char *path, struct statvfs64 *about) {
    int code = REAL(statvfs64)(path, about);
    if (code == 0 && faults->limited) about->f_bavail = about->f_bfree = (fsblkcnt64_t)faults->free / about->f_frsize;
    return code;
}

int statvfs(const char *path, struct statvfs *about) { return statvfs64(path, (struct statvfs64 *)about); }

int clock_gettime(clockid_t clock, struct timespec *now) {
    int code = REAL(clock_gettime)(clock, now);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec -= faults->clock_shift_s;
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int code = REAL(gettimeofday)(now, zone);
    if (code == 0) now->tv_sec -= faults->clock_shift_s;
    return code;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
