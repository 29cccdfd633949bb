/* Lets one call that changes something below a directory fail, or the process die at it.
 *
 * It stands between a program and the C library (LD_PRELOAD), so that SQLite's own calls fail as
 * well. The program says what goes wrong by calling `faults_arm`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAKES = 1, WRITES = 2, OTHER = 4 };

static char root[PATH_MAX];
static int armed, at, fault, part, lasting, count;
static const char *failed = "";
static unsigned char kinds[4096];

void faults_arm(const char *below, int number, int error, int in_part, int and_all_after)
{
    strncpy(root, below, sizeof root - 1);
    at = number, fault = error, part = in_part, lasting = and_all_after, count = 0, failed = "", armed = 1;
}

int faults_disarm(void)
{
    armed = 0;
    return count;
}

const char *faults_failed(void)
{
    return failed;
}

/* Whether a call of the last run wrote something, of which a part may be written. */
int faults_wrote(int number)
{
    return number < (int)sizeof kinds && kinds[number] == WRITES;
}

static int is_below(const char *path)
{
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int is_open_below(int descriptor)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return is_below(path);
}

static int is_named_below(int directory, const char *path)
{
    if (path == NULL)
        return is_open_below(directory);
    return path[0] == '/' || directory == AT_FDCWD ? is_below(path) : is_open_below(directory);
}

/* Whether the call that is about to be made goes wrong; `half` is set when a part of it is done. */
static int fails(const char *name, int kind, int *half)
{
    int here = count++;
    if (here < (int)sizeof kinds)
        kinds[here] = kind;
    int later = lasting && here > at && !(fault == ENOSPC && kind == OTHER);
    if (here != at && !later)
        return 0;
    if (here == at)
        failed = name;
    if (part && kind == WRITES && here == at && half) {
        *half = 1;
        at++;
        return 0;
    }
    if (fault == 0)
        syscall(SYS_exit_group, 9);
    errno = fault;
    return 1;
}

/* A part that was written right before the process dies. */
static void die_if_told(int half)
{
    if (half && fault == 0)
        syscall(SYS_exit_group, 9);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define GUARD(there, kind) if (armed && (there) && fails(__func__, kind, NULL)) return -1

#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = va_arg(rest, mode_t);                                                        \
        va_end(rest);                                                                              \
        GUARD((flags & (O_WRONLY | O_RDWR)) && is_below(path), flags & O_CREAT ? MAKES : OTHER);   \
        return REAL(name)(path, flags, mode);                                                      \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                             \
    int name(int directory, const char *path, int flags, ...)                                      \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = va_arg(rest, mode_t);                                                        \
        va_end(rest);                                                                              \
        GUARD((flags & (O_WRONLY | O_RDWR)) && is_named_below(directory, path),                    \
              flags & O_CREAT ? MAKES : OTHER);                                                    \
        return REAL(name)(directory, path, flags, mode);                                           \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

ssize_t write(int descriptor, const void *data, size_t size)
{
    int half = 0;
    if (armed && is_open_below(descriptor) && fails(__func__, WRITES, &half))
        return -1;
    ssize_t done = REAL(write)(descriptor, data, half ? (size + 1) / 2 : size);
    die_if_told(half);
    return done;
}

#define PWRITES(name, place)                                                                       \
    ssize_t name(int descriptor, const void *data, size_t size, place offset)                      \
    {                                                                                              \
        int half = 0;                                                                              \
        if (armed && is_open_below(descriptor) && fails(__func__, WRITES, &half))                            \
            return -1;                                                                             \
        ssize_t done = REAL(name)(descriptor, data, half ? (size + 1) / 2 : size, offset);         \
        die_if_told(half);                                                                         \
        return done;                                                                               \
    }
PWRITES(pwrite, off_t)
PWRITES(pwrite64, off64_t)

#define ON_FILE(name, kind, types, ...)                                                            \
    int name types                                                                                 \
    {                                                                                              \
        GUARD(is_open_below(descriptor), kind);                                                    \
        return REAL(name)(__VA_ARGS__);                                                            \
    }
ON_FILE(fsync, OTHER, (int descriptor), descriptor)
ON_FILE(fdatasync, OTHER, (int descriptor), descriptor)
ON_FILE(ftruncate, OTHER, (int descriptor, off_t size), descriptor, size)
ON_FILE(ftruncate64, OTHER, (int descriptor, off64_t size), descriptor, size)
ON_FILE(fallocate, WRITES, (int descriptor, int mode, off_t start, off_t size),
        descriptor, mode, start, size)
ON_FILE(fchmod, OTHER, (int descriptor, mode_t mode), descriptor, mode)
ON_FILE(futimens, OTHER, (int descriptor, const struct timespec times[2]), descriptor, times)

#define ON_NAME(name, kind, directory, types, ...)                                                 \
    int name types                                                                                 \
    {                                                                                              \
        GUARD(is_named_below(directory, path), kind);                                              \
        return REAL(name)(__VA_ARGS__);                                                            \
    }
ON_NAME(mkdir, MAKES, AT_FDCWD, (const char *path, mode_t mode), path, mode)
ON_NAME(mkdirat, MAKES, in, (int in, const char *path, mode_t mode), in, path, mode)
ON_NAME(unlink, OTHER, AT_FDCWD, (const char *path), path)
ON_NAME(unlinkat, OTHER, in, (int in, const char *path, int flags), in, path, flags)
ON_NAME(rmdir, OTHER, AT_FDCWD, (const char *path), path)
ON_NAME(chmod, OTHER, AT_FDCWD, (const char *path, mode_t mode), path, mode)
ON_NAME(rename, OTHER, AT_FDCWD, (const char *path, const char *to), path, to)
ON_NAME(renameat, OTHER, in, (int in, const char *path, int of, const char *to), in, path, of, to)
ON_NAME(renameat2, OTHER, in,
        (int in, const char *path, int of, const char *to, unsigned flags), in, path, of, to, flags)
ON_NAME(link, MAKES, AT_FDCWD, (const char *path, const char *to), path, to)
ON_NAME(linkat, MAKES, in, (int in, const char *path, int of, const char *to, int flags),
        in, path, of, to, flags)
ON_NAME(utimensat, OTHER, in,
        (int in, const char *path, const struct timespec times[2], int flags), in, path, times, flags)

int msync(void *start, size_t length, int flags)
{
    GUARD(1, OTHER);
    return REAL(msync)(start, length, flags);
}
