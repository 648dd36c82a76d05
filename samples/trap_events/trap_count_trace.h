/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM trap_count

#if !defined(_TRAP_COUNT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRAP_COUNT_TRACE_H

#include <linux/tracepoint.h>

/*
 * Fires in the probe of trap_entry, when the number of traps has become a
 * multiple of the module's parameter "every":
 *
 * @count:	traps of @vector on this CPU since the module was loaded
 * @vector:	number of the trap, as in trap_entry
 */
TRACE_EVENT(trap_count_reached,
	    TP_PROTO(unsigned int vector, unsigned long count),
	    TP_ARGS(vector, count),

	    TP_STRUCT__entry(__field(unsigned long, count)
			     __field(unsigned int, vector)
	    ),

	    TP_fast_assign(__entry->count = count;
			   __entry->vector = vector;
	    ),

	    TP_printk("vector=%u count=%lu", __entry->vector, __entry->count)
);

#endif /* _TRAP_COUNT_TRACE_H */

/* Not in include/trace/events/, so say where this is: see the Makefile */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trap_count_trace

/* This part must be outside protection */
#include <trace/define_trace.h>
