// SPDX-License-Identifier: GPL-2.0-only
/*
 * probes/lttng-probe-trap.c
 *
 * LTTng trap probes.
 */

#include <linux/module.h>
#include <lttng/tracer.h>

/* The kernel's declarations, which those of LTTng's probes have to agree with */
#include <trace/events/trap.h>

#include <wrapper/tracepoint.h>

/* With these, the header defines the probes */
#define LTTNG_PACKAGE_BUILD
#define CREATE_TRACE_POINTS
#define TRACE_INCLUDE_PATH instrumentation/events

#include <instrumentation/events/trap.h>

/*
 * LTTng finds a tracepoint by its name, and waits for one that is not there. So that
 * a kernel without these events refuses this module, and says what it lacks, it asks
 * for their symbols.
 */
static const struct tracepoint * const lttng_trap_needs[] __used = {
	&__tracepoint_trap_entry,
	&__tracepoint_trap_exit,
};

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Trap Trace Events <trap-trace-events@example.invalid>");
MODULE_DESCRIPTION("LTTng trap probes");
MODULE_VERSION(__stringify(LTTNG_MODULES_MAJOR_VERSION) "."
	__stringify(LTTNG_MODULES_MINOR_VERSION) "."
	__stringify(LTTNG_MODULES_PATCHLEVEL_VERSION)
	LTTNG_MODULES_EXTRAVERSION);
