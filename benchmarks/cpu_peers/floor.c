/* What this machine can do at most: bytes read from memory and int8 multiplications with sums, one thread's share.
 * Built by floor.py with -O3 -march=native. */
#include <stddef.h>
#include <stdint.h>
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

/* Reads `count` words; the sum keeps the compiler from leaving them out. */
uint64_t read_all(const uint64_t *words, size_t count)
{
    uint64_t sums[32] = {0};
    for (size_t n = 0; n + 32 <= count; n += 32)
        for (size_t lane = 0; lane < 32; lane++)
            sums[lane] += words[n + lane];
    uint64_t sum = 0;
    for (size_t lane = 0; lane < 32; lane++)
        sum += sums[lane];
    return sum;
}

enum { CHAINS = 12 };

/* Multiplies for `rounds` rounds without touching memory; returns the operations done (a product and a sum are two),
 * 0 if the compiler knows no int8 instructions of this CPU. */
uint64_t multiply(uint64_t rounds, int32_t *out)
{
#if defined(__AVX512VNNI__)
    __m512i sums[CHAINS], a = _mm512_set1_epi8((char)*out), b = _mm512_set1_epi8(3);
    for (int n = 0; n < CHAINS; n++)
        sums[n] = _mm512_setzero_si512();
    for (uint64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int n = 0; n < CHAINS; n++)
            sums[n] = _mm512_dpbusd_epi32(sums[n], a, b);
        __asm__ volatile("" : "+v"(a));
    }
    for (int n = 1; n < CHAINS; n++)
        sums[0] = _mm512_add_epi32(sums[0], sums[n]);
    *out = _mm512_reduce_add_epi32(sums[0]);
    return rounds * CHAINS * 128;
#elif defined(__AVX2__)
    __m256i sums[CHAINS], a = _mm256_set1_epi8((char)*out), b = _mm256_set1_epi8(3), one = _mm256_set1_epi16(1);
    for (int n = 0; n < CHAINS; n++)
        sums[n] = _mm256_setzero_si256();
    for (uint64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int n = 0; n < CHAINS; n++)
            sums[n] = _mm256_add_epi32(sums[n], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), one));
        __asm__ volatile("" : "+x"(a));
    }
    int32_t lanes[8];
    for (int n = 1; n < CHAINS; n++)
        sums[0] = _mm256_add_epi32(sums[0], sums[n]);
    _mm256_storeu_si256((__m256i *)lanes, sums[0]);
    for (int n = 0; n < 8; n++)
        *out += lanes[n];
    return rounds * CHAINS * 64;
#else
    (void)rounds, (void)out;
    return 0;
#endif
}
