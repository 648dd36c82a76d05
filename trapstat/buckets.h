/* SPDX-License-Identifier: GPL-2.0 */
/* The buckets of the histograms of durations */
#ifndef BUCKETS_H
#define BUCKETS_H

#include "trapstat.h"

static inline unsigned int bucket_of(unsigned long long ns)
{
	unsigned long long n = ns;
	unsigned int log = 0;

	if (ns < 4)
		return ns;
#pragma GCC unroll 5
	for (int shift = 32; shift > 1; shift /= 2) {
		if (n >> shift) {
			log += shift;
			n >>= shift;
		}
	}
	if (n >> 1)
		log++;
	log = (log - 1) * 4 + ((ns >> (log - 2)) & 3);
	return log < BUCKETS ? log : BUCKETS - 1;
}

/* Within an eighth of each duration in the bucket, but for the last one */
static inline unsigned long long middle_of(unsigned int bucket)
{
	unsigned int log = bucket / 4 + 1;

	if (bucket < 4)
		return bucket;
	return ((4ULL + bucket % 4) << (log - 2)) + (1ULL << (log - 2)) / 2;
}

#endif
