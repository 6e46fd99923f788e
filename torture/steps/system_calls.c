/* Counts system calls on files of one folder, and lets one of them fail. Preloaded; see system_calls.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPEN, CREATE, READ, WRITE, SYNC, CUT, RENAME, UNLINK, LINK, MKDIR, MAP };
enum { NONE, EIO_ONCE, EIO_ALWAYS, FULL_ONCE, FULL_ALWAYS, AGAIN, SHORT, TORN, DEATH_BEFORE, DEATH_AFTER, NO_MEMORY };
enum { HANDLES = 4096, MOST = 1 << 20 };

static char folder[4096], is_watched[HANDLES];
static unsigned char kinds[MOST];
static long count, at;
static int fault, active;

void steps_start(const char *watched, long place, int what) {
    strncpy(folder, watched, sizeof folder - 1);
    count = 0, at = place, fault = what, active = 1;
}

void steps_stop(void) { active = 0; }

long steps_count(void) { return count; }

int steps_kind(long place) { return kinds[place]; }

static int inside(const char *path) { return active && path && strstr(path, folder) != NULL; }

static int open_inside(int handle) { return active && handle >= 0 && handle < HANDLES && is_watched[handle]; }

static void die(void) { kill(getpid(), SIGKILL); }

static int grows(int kind) { return kind == CREATE || kind == WRITE || kind == CUT || kind == LINK || kind == MKDIR; }

/* Counts a place, and returns what happens there: NONE, or a fault for the caller. */
static int reached(int kind) {
    long place = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (place < MOST) kinds[place] = (unsigned char)kind;
    if (at == 0 || place < at) return NONE;
    if (place > at) {
        if (fault == EIO_ALWAYS || (fault == FULL_ALWAYS && grows(kind))) return fault;
        return NONE;
    }
    if (fault == DEATH_BEFORE) die();
    return fault;
}

static int refused(int what) {
    switch (what) {
    case EIO_ONCE: case EIO_ALWAYS: errno = EIO; return 1;
    case FULL_ONCE: case FULL_ALWAYS: errno = ENOSPC; return 1;
    case AGAIN: errno = EINTR; return 1;
    case NO_MEMORY: errno = ENOMEM; return 1;
    }
    return 0;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define AFTER(what) do { if ((what) == DEATH_AFTER) die(); } while (0)

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
        int here = inside(path), what = here ? reached(flags & O_CREAT ? CREATE : OPEN) : NONE; \
        if (refused(what)) return -1; \
        int handle = real(path, flags, mode); \
        if (handle >= 0 && handle < HANDLES) is_watched[handle] = (char)here; \
        AFTER(what); \
        return handle; \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
    int name(int where, const char *path, int flags, ...) { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
        int here = inside(path), what = here ? reached(flags & O_CREAT ? CREATE : OPEN) : NONE; \
        if (refused(what)) return -1; \
        int handle = real(where, path, flags, mode); \
        if (handle >= 0 && handle < HANDLES) is_watched[handle] = (char)here; \
        AFTER(what); \
        return handle; \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

int close(int handle) {
    REAL(close);
    if (handle >= 0 && handle < HANDLES) is_watched[handle] = 0;
    return real(handle);
}

ssize_t read(int handle, void *into, size_t size) {
    REAL(read);
    int what = open_inside(handle) ? reached(READ) : NONE;
    if (refused(what)) return -1;
    return real(handle, into, what == SHORT && size > 1 ? size / 2 : size);
}

#define READS(name, offset_type) \
    ssize_t name(int handle, void *into, size_t size, offset_type from) { \
        REAL(name); \
        int what = open_inside(handle) ? reached(READ) : NONE; \
        if (refused(what)) return -1; \
        return real(handle, into, what == SHORT && size > 1 ? size / 2 : size, from); \
    }
READS(pread, off_t)
READS(pread64, off64_t)

static size_t length(int what, size_t size) { return (what == SHORT || what == TORN) && size > 1 ? size / 2 : size; }

ssize_t write(int handle, const void *from, size_t size) {
    REAL(write);
    int what = open_inside(handle) ? reached(WRITE) : NONE;
    if (refused(what)) return -1;
    ssize_t written = real(handle, from, length(what, size));
    if (what == TORN) die();
    AFTER(what);
    return written;
}

#define WRITES(name, offset_type) \
    ssize_t name(int handle, const void *from, size_t size, offset_type to) { \
        REAL(name); \
        int what = open_inside(handle) ? reached(WRITE) : NONE; \
        if (refused(what)) return -1; \
        ssize_t written = real(handle, from, length(what, size), to); \
        if (what == TORN) die(); \
        AFTER(what); \
        return written; \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

#define ON_HANDLE(name, kind, parameters, arguments) \
    int name parameters { \
        REAL(name); \
        int what = open_inside(handle) ? reached(kind) : NONE; \
        if (refused(what)) return -1; \
        int code = real arguments; \
        AFTER(what); \
        return code; \
    }
ON_HANDLE(fsync, SYNC, (int handle), (handle))
ON_HANDLE(fdatasync, SYNC, (int handle), (handle))
ON_HANDLE(ftruncate, CUT, (int handle, off_t size), (handle, size))
ON_HANDLE(ftruncate64, CUT, (int handle, off64_t size), (handle, size))

#define ON_PATH(name, kind, parameters, arguments) \
    int name parameters { \
        REAL(name); \
        int what = inside(path) ? reached(kind) : NONE; \
        if (refused(what)) return -1; \
        int code = real arguments; \
        AFTER(what); \
        return code; \
    }
ON_PATH(rename, RENAME, (const char *path, const char *to), (path, to))
ON_PATH(renameat, RENAME, (int from, const char *path, int where, const char *to), (from, path, where, to))
ON_PATH(unlink, UNLINK, (const char *path), (path))
ON_PATH(unlinkat, UNLINK, (int where, const char *path, int flags), (where, path, flags))
ON_PATH(link, LINK, (const char *path, const char *to), (path, to))
ON_PATH(linkat, LINK, (int from, const char *path, int where, const char *to, int flags), (from, path, where, to, flags))
ON_PATH(mkdir, MKDIR, (const char *path, mode_t mode), (path, mode))

#define MAPS(name, offset_type) \
    void *name(void *address, size_t size, int protection, int flags, int handle, offset_type from) { \
        REAL(name); \
        int what = open_inside(handle) ? reached(MAP) : NONE; \
        return refused(what) ? MAP_FAILED : real(address, size, protection, flags, handle, from); \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)
