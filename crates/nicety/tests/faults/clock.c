/* Moves CLOCK_REALTIME of the programs that load this, and no other clock, by as many seconds as stand in the file that
 * NICETY_TEST_CLOCK names. Programs read clocks in the kernel's vDSO (vdso(7)), past the C library: so it is that code
 * which is led here. Stamps that the kernel itself puts on frames stay as they are. x86-64 only. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *ahead;

static long asked(long number, long a, long b) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return result;
}

static int moved_gettime(clockid_t clock, struct timespec *now) {
    long result = asked(SYS_clock_gettime, clock, (long)now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        now->tv_sec += *ahead;
    return (int)result;
}

static int moved_timeofday(struct timeval *now, void *zone) {
    long result = asked(SYS_gettimeofday, (long)now, (long)zone);
    if (result == 0 && now)
        now->tv_sec += *ahead;
    return (int)result;
}

static time_t moved_time(time_t *where) {
    time_t now = asked(SYS_time, 0, 0) + *ahead;
    if (where)
        *where = now;
    return now;
}

/* movabs rax, to; jmp rax */
static void lead(uint8_t *from, void *to) {
    uint8_t code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    memcpy(code + 2, &to, sizeof to);
    memcpy(from, code, sizeof code);
}

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("NICETY_TEST_CLOCK");
    uint8_t *base = (uint8_t *)getauxval(AT_SYSINFO_EHDR);
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (!base || file < 0)
        return;
    ahead = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (ahead == MAP_FAILED)
        _exit(97);
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)base;
    const Elf64_Phdr *parts = (const Elf64_Phdr *)(base + head->e_phoff);
    const Elf64_Dyn *dynamic = NULL;
    size_t length = 0;
    for (int i = 0; i < head->e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD)
            length = parts[i].p_offset + parts[i].p_memsz;
        if (parts[i].p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)(base + parts[i].p_offset);
    }
    const Elf64_Sym *symbols = NULL;
    const char *names = NULL;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = (const Elf64_Sym *)(base + dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_STRTAB)
            names = (const char *)(base + dynamic->d_un.d_ptr);
    }
    if (!symbols || !names)
        _exit(98);
    length = (length + 4095) & ~4095UL;
    if (mprotect(base, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        _exit(99);
    /* The table of names follows that of symbols. */
    for (const Elf64_Sym *symbol = symbols; (const char *)symbol < names; symbol++) {
        const char *word = names + symbol->st_name;
        uint8_t *code = base + symbol->st_value;
        if (symbol->st_value == 0)
            continue;
        if (!strcmp(word, "__vdso_clock_gettime") || !strcmp(word, "clock_gettime"))
            lead(code, moved_gettime);
        else if (!strcmp(word, "__vdso_gettimeofday") || !strcmp(word, "gettimeofday"))
            lead(code, moved_timeofday);
        else if (!strcmp(word, "__vdso_time") || !strcmp(word, "time"))
            lead(code, moved_time);
    }
    mprotect(base, length, PROT_READ | PROT_EXEC);
}
