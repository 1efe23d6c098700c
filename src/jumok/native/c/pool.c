/* Threads that park. One pool for the process, made when it is first needed; a child of fork makes
 * its own.
 *
 * jm_parallel hands out numbers of a task (sub-batches of a search). A team is for one search of
 * few rows: its helpers take blocks of a matrix. They wait for the next matrix a few microseconds,
 * then park. The caller takes blocks too and waits only for those that a helper has begun.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

enum { MOST_THREADS = 64, SPINS = 400, WAIT_SPINS = 800 };

typedef struct job {
    jm_task task;
    void *argument;
    int32_t count, wanted, joined, active; /* joined, active: under the pool's lock */
    atomic_int next;
    pthread_cond_t done;
    struct job *link;
    jm_team *orphan; /* the last to leave frees it */
} job;

/* What is handed out stands in one word: a generation, how many tasks there are, which is next. So
 * a helper that comes late can never take a task of another generation. */
struct jm_team {
    job joined;
    _Atomic uint64_t word;
    jm_task task;
    void *argument;
    atomic_int finished, parked, waiting, closed;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    int alone; /* this step is computed by the caller only */
    int32_t steps;
    double began, taken[2]; /* mean nanoseconds of a step: shared, alone */
};

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    job *jobs;
    int32_t threads; /* helpers there are */
    int guarded; /* the handler of fork is there */
    _Atomic float
        ratio; /* what sharing a step gained lately: time alone / time shared; 0: not known */
} pool;

static pool the_pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0, 0};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#ifndef _WIN32
/* In the child of a fork no thread of the pool is left. */
static void after_fork(void) {
    pthread_mutex_init(&the_pool.lock, NULL);
    pthread_cond_init(&the_pool.work, NULL);
    the_pool.jobs = NULL;
    the_pool.threads = 0;
}
#endif

static void work_on(job *j, jm_scratch *scratch) {
    for (;;) {
        const int i = atomic_fetch_add(&j->next, 1);
        if (i >= j->count) return;
        j->task(j->argument, i, scratch);
    }
}

static job *open_job(void) {
    for (job *j = the_pool.jobs; j; j = j->link)
        if (j->joined < j->wanted && atomic_load(&j->next) < j->count) return j;
    return NULL;
}

static void free_team(jm_team *team) {
    pthread_cond_destroy(&team->joined.done);
    pthread_cond_destroy(&team->wake);
    pthread_cond_destroy(&team->done);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

static void *helper(void *nothing) {
    jm_scratch scratch = {0};
    (void)nothing;
    pthread_mutex_lock(&the_pool.lock);
    for (;;) {
        job *j = open_job();
        if (!j) {
            pthread_cond_wait(&the_pool.work, &the_pool.lock);
            continue;
        }
        j->joined++;
        j->active++;
        pthread_mutex_unlock(&the_pool.lock);
        work_on(j, &scratch);
        pthread_mutex_lock(&the_pool.lock);
        if (--j->active > 0) continue;
        if (j->orphan)
            free_team(j->orphan);
        else
            pthread_cond_signal(&j->done);
    }
    return NULL;
}

/* As many helpers as all jobs that are there want, if the system gives them. Under the lock. One that is late
 * from an earlier job is not replaced: whoever asks works too. */
static void have_helpers(void) {
    if (!the_pool.guarded) {
        the_pool.guarded = 1;
#ifndef _WIN32 /* which has no fork */
        pthread_atfork(NULL, NULL, after_fork);
#endif
    }
    pthread_attr_t detached;
    int64_t wanted = 0;
    for (const job *j = the_pool.jobs; j; j = j->link) wanted += j->wanted;
    if (the_pool.threads >= wanted || pthread_attr_init(&detached)) return;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (the_pool.threads < wanted && the_pool.threads < MOST_THREADS) {
        pthread_t thread;
        if (pthread_create(&thread, &detached, helper, NULL)) break;
        the_pool.threads++;
    }
    pthread_attr_destroy(&detached);
}

static void post(job *j) {
    pthread_cond_init(&j->done, NULL);
    pthread_mutex_lock(&the_pool.lock);
    j->link = the_pool.jobs;
    the_pool.jobs = j;
    have_helpers();
    for (int32_t i = 0; i < j->wanted; i++) pthread_cond_signal(&the_pool.work);
    pthread_mutex_unlock(&the_pool.lock);
}

static void unlink_job(job *j) {
    job **at = &the_pool.jobs;
    while (*at && *at != j) at = &(*at)->link;
    if (*at) *at = j->link;
}

static void withdraw(job *j) {
    pthread_mutex_lock(&the_pool.lock);
    unlink_job(j);
    while (j->active > 0) pthread_cond_wait(&j->done, &the_pool.lock);
    pthread_mutex_unlock(&the_pool.lock);
    pthread_cond_destroy(&j->done);
}

void jm_parallel(int32_t threads, int32_t count, jm_task task, void *argument,
                 jm_scratch *scratch) {
    const int32_t most = threads < MOST_THREADS ? threads : MOST_THREADS;
    job j = {.task = task, .argument = argument, .count = count};
    j.wanted = (most < count ? most : count) - 1;
    atomic_init(&j.next, 0);
    if (j.wanted <= 0) {
        work_on(&j, scratch);
        return;
    }
    post(&j);
    work_on(&j, scratch);
    withdraw(&j);
}

/* ---- teams ---- */

static uint64_t tasks_left(uint64_t word) {
    const uint64_t next = word & 0xffff, count = word >> 16 & 0xffff;
    return next < count ? count - next : 0;
}

/* Do one task that nobody has taken; 0: there is none. */
static int do_one(jm_team *team, jm_scratch *scratch) {
    uint64_t word = atomic_load(&team->word);
    do {
        if (!tasks_left(word)) return 0;
    } while (!atomic_compare_exchange_weak(&team->word, &word, word + 1));
    /* The caller waits for this task, so what it has set stays. */
    const int count = (int)(word >> 16 & 0xffff);
    team->task(team->argument, (int32_t)(word & 0xffff), scratch);
    if (atomic_fetch_add(&team->finished, 1) + 1 == count && atomic_load(&team->waiting)) {
        pthread_mutex_lock(&team->lock);
        pthread_cond_signal(&team->done);
        pthread_mutex_unlock(&team->lock);
    }
    return 1;
}

static int may_park(jm_team *team) {
    return !tasks_left(atomic_load(&team->word)) && !atomic_load(&team->closed);
}

static void help(void *argument, int32_t number, jm_scratch *scratch) {
    jm_team *team = argument;
    (void)number;
    for (int spins = 0; !atomic_load(&team->closed);) {
        if (do_one(team, scratch)) {
            spins = 0;
        } else if (++spins < SPINS) {
            relax();
        } else {
            spins = 0;
            pthread_mutex_lock(&team->lock);
            atomic_fetch_add(&team->parked, 1);
            if (may_park(team)) pthread_cond_wait(&team->wake, &team->lock);
            atomic_fetch_sub(&team->parked, 1);
            pthread_mutex_unlock(&team->lock);
        }
    }
}

jm_team *jm_team_new(int32_t threads) {
    const int32_t wanted = (threads < MOST_THREADS ? threads : MOST_THREADS) - 1;
    jm_team *team = wanted > 0 ? calloc(1, sizeof *team) : NULL;
    if (!team) return NULL;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    pthread_cond_init(&team->done, NULL);
    team->joined = (job){.task = help, .argument = team, .count = wanted, .wanted = wanted};
    const float ratio = atomic_load(&the_pool.ratio);
    team->alone = ratio > 0 && ratio < 1;
    post(&team->joined);
    return team;
}

void jm_team_free(jm_team *team) {
    if (!team) return;
    if (team->taken[0] > 0 && team->taken[1] > 0)
        atomic_store(&the_pool.ratio, (float)(team->taken[1] / team->taken[0]));
    pthread_mutex_lock(&team->lock);
    atomic_store(&team->closed, 1);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    pthread_mutex_lock(&the_pool.lock);
    unlink_job(&team->joined);
    const int deserted = team->joined.active == 0;
    team->joined.orphan = team;
    pthread_mutex_unlock(&the_pool.lock);
    if (deserted) free_team(team);
}

static int is_shared(const jm_worker *worker) { return worker->team && !worker->team->alone; }

void jm_share(jm_worker *worker, int32_t count, jm_task task, void *argument) {
    jm_team *team = worker->team;
    if (!is_shared(worker) || count < 2 || count > 0xffff) {
        for (int32_t i = 0; i < count; i++) task(argument, i, &worker->scratch);
        return;
    }
    team->task = task;
    team->argument = argument;
    atomic_store(&team->waiting, 0);
    atomic_store(&team->finished, 0);
    const uint64_t generation = (atomic_load(&team->word) >> 32) + 1;
    atomic_store(&team->word, generation << 32 | (uint64_t)count << 16);
    if (atomic_load(&team->parked) > 0) {
        pthread_mutex_lock(&team->lock);
        pthread_cond_broadcast(&team->wake);
        pthread_mutex_unlock(&team->lock);
    }
    while (do_one(team, &worker->scratch)) {
    }
    for (int i = 0; i < WAIT_SPINS && atomic_load(&team->finished) < count; i++) relax();
    if (atomic_load(&team->finished) < count) {
        pthread_mutex_lock(&team->lock);
        atomic_store(&team->waiting, 1);
        while (atomic_load(&team->finished) < count) pthread_cond_wait(&team->done, &team->lock);
        pthread_mutex_unlock(&team->lock);
    }
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

void jm_step_begins(jm_worker *worker) {
    jm_team *team = worker->team;
    if (!team) return;
    const float ratio = team->taken[0] > 0 && team->taken[1] > 0
                            ? (float)(team->taken[1] / team->taken[0])
                            : atomic_load(&the_pool.ratio);
    const int better = ratio > 0 && ratio < 1.05f; /* 1: alone */
    const int often = ratio > 0.8f || ratio == 0; /* where sharing is bad, it is tried less often */
    team->alone = team->steps % (often ? 12 : 48) == 3 ? !better : better;
    team->began = now_ns();
}

void jm_step_ends(jm_worker *worker) {
    jm_team *team = worker->team;
    if (!team) return;
    const double taken = now_ns() - team->began;
    double *mean = &team->taken[team->alone];
    if (team->steps++ > 0) *mean = *mean > 0 ? *mean + 0.3 * (taken - *mean) : taken;
}

/* ---- matrices ---- */

typedef struct {
    const jm_matrix *w;
    const float *x, *scale;
    const int8_t *codes;
    const int32_t *sums;
    float *y;
    int64_t ldx, ldy;
    int32_t R, relu, blocks, size; /* blocks of one task */
} product;

static void do_blocks(void *argument, int32_t number, jm_scratch *scratch) {
    const product *p = argument;
    const int32_t begin = number * p->size;
    const int32_t end = begin + p->size < p->blocks ? begin + p->size : p->blocks;
    (void)scratch;
    if (p->w->type == JM_I8)
        jm_linear_quantised(p->w, p->codes, p->scale, p->sums, p->R, p->y, p->ldy, p->relu, begin,
                            end);
    else
        jm_linear_blocks(p->w, p->x, p->ldx, p->R, p->y, p->ldy, p->relu, begin, end);
}

void jm_apply(jm_worker *worker, const jm_matrix *w, const float *x, int64_t ldx, int32_t R,
              float *y, int64_t ldy, int32_t relu) {
    const int64_t work = (int64_t)w->rows * w->columns * (w->type == JM_I8 ? 1 : 4);
    if (!is_shared(worker) || work < 1 << 16) {
        if (jm_linear(w, x, ldx, R, y, ldy, relu, &worker->scratch)) worker->failed = 1;
        return;
    }
    product p = {.w = w, .x = x, .y = y, .ldx = ldx, .ldy = ldy, .R = R, .relu = relu};
    p.blocks = jm_blocks(w->rows);
    p.size = (p.blocks + 15) / 16;
    if (w->type == JM_I8) {
        const int64_t stride = jm_codes_stride(w->columns);
        const size_t floats = (size_t)R * sizeof(float);
        char *memory = jm_scratch_get(&worker->quantised, 2 * floats + (size_t)(R * stride));
        if (!memory) {
            worker->failed = 1;
            return;
        }
        p.scale = (float *)memory;
        p.sums = (int32_t *)(memory + floats);
        p.codes = (int8_t *)(memory + 2 * floats);
        jm_quantise(x, ldx, R, w->columns, (int8_t *)p.codes, (float *)p.scale, (int32_t *)p.sums);
    }
    jm_share(worker, (p.blocks + p.size - 1) / p.size, do_blocks, &p);
}
