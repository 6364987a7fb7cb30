// A disk that takes its time: loaded before libc, it makes every sync and every write at a place wait while the file
// that BURSAR_SLOW_DISK names exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define SYNC_US 30000
#define WRITE_US 1000

static void wait_while_slow(unsigned microseconds) {
    int before = errno;
    const char *mark = getenv("BURSAR_SLOW_DISK");
    if (mark && access(mark, F_OK) == 0) usleep(microseconds);
    errno = before;
}

#define REAL(result, name, ...)                          \
    static result (*real)(__VA_ARGS__);                  \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, name);

int fsync(int file) {
    REAL(int, "fsync", int)
    wait_while_slow(SYNC_US);
    return real(file);
}

int fdatasync(int file) {
    REAL(int, "fdatasync", int)
    wait_while_slow(SYNC_US);
    return real(file);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t)
    wait_while_slow(WRITE_US);
    return real(file, bytes, count, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t)
    wait_while_slow(WRITE_US);
    return real(file, bytes, count, at);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
    REAL(ssize_t, "pwritev", int, const struct iovec *, int, off_t)
    wait_while_slow(WRITE_US);
    return real(file, parts, count, at);
}
