/* Loaded before the C library: fails the n-th call of a kind on files below a folder, or all from the n-th on.
   SETPOINT_FAULT="read 3", SETPOINT_FAULT_BELOW=folder. Says so on stderr when it does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int fails(const char *call, int file, const char *path, int stays)
{
    static atomic_int calls;
    const char *fault = getenv("SETPOINT_FAULT"), *below = getenv("SETPOINT_FAULT_BELOW");
    size_t length = strlen(call);
    if (!fault || !below || strncmp(fault, call, length) || fault[length] != ' ')
        return 0;
    char name[64], found[PATH_MAX];
    if (!path) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", file);
        ssize_t size = readlink(name, found, sizeof found - 1);
        /* Pipes have names, and no place. */
        if (size < 1 || found[0] != '/')
            return 0;
        found[size] = 0;
        path = found;
    }
    if (path[0] == '/' && strncmp(path, below, strlen(below)))
        return 0;
    int now = ++calls, which = atoi(fault + length);
    if (now != which && !(stays && now > which))
        return 0;
    static const char said[] = "a fault was injected\n";
    ssize_t (*plain)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    plain(2, said, sizeof said - 1);
    return 1;
}

#define REAL(name) __typeof__(&name) real = dlsym(RTLD_NEXT, #name)
#define REFUSE(call, file, path, stays, number) \
    if (fails(call, file, path, stays)) { errno = number; return -1; }

ssize_t read(int file, void *to, size_t size)
{
    REAL(read);
    REFUSE("read", file, 0, 0, EIO)
    return real(file, to, size);
}

ssize_t pread64(int file, void *to, size_t size, off64_t at)
{
    REAL(pread64);
    REFUSE("read", file, 0, 0, EIO)
    return real(file, to, size, at);
}

/* A full disk stays full. */
ssize_t write(int file, const void *from, size_t size)
{
    REAL(write);
    REFUSE("write", file, 0, 1, ENOSPC)
    return real(file, from, size);
}

ssize_t pwrite64(int file, const void *from, size_t size, off64_t at)
{
    REAL(pwrite64);
    REFUSE("write", file, 0, 1, ENOSPC)
    return real(file, from, size, at);
}

ssize_t writev(int file, const struct iovec *from, int count)
{
    REAL(writev);
    REFUSE("write", file, 0, 1, ENOSPC)
    return real(file, from, count);
}

int fsync(int file)
{
    REAL(fsync);
    REFUSE("fsync", file, 0, 0, EIO)
    return real(file);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    REFUSE("rename", -1, to, 0, EACCES)
    return real(from, to);
}

int open64(const char *path, int flags, ...)
{
    REAL(open64);
    va_list more;
    va_start(more, flags);
    unsigned mode = va_arg(more, unsigned);
    va_end(more);
    REFUSE("open", -1, path, 0, EMFILE)
    return real(path, flags, mode);
}
