// SPDX-License-Identifier: GPL-2.0-only
/*
 * probes/lttng-probe-pagefault.c
 *
 * LTTng pagefault probes.
 */

#include <linux/module.h>
#include <lttng/tracer.h>

/* The kernel's declarations, which those of LTTng's probes have to agree with */
#include <trace/events/pagefault.h>

#include <wrapper/tracepoint.h>

/* With these, the header defines the probes */
#define LTTNG_PACKAGE_BUILD
#define CREATE_TRACE_POINTS
#define TRACE_INCLUDE_PATH instrumentation/events

#include <instrumentation/events/pagefault.h>

MODULE_LICENSE("GPL");
MODULE_AUTHOR("Trap Trace Events <trap-trace-events@example.invalid>");
MODULE_DESCRIPTION("LTTng pagefault probes");
MODULE_VERSION(__stringify(LTTNG_MODULES_MAJOR_VERSION) "."
	__stringify(LTTNG_MODULES_MINOR_VERSION) "."
	__stringify(LTTNG_MODULES_PATCHLEVEL_VERSION)
	LTTNG_MODULES_EXTRAVERSION);
