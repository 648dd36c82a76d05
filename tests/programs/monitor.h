/* SPDX-License-Identifier: GPL-2.0 */
/* The monitor of QEMU, if the environment has QEMU_MONITOR: see monitor.c */
#ifndef TESTS_MONITOR_H
#define TESTS_MONITOR_H

#include "common.h"

void start_monitor(void);
void restore_interrupts(void);
int open_monitor(void);
bool monitor_command(int fd, const char *fmt, ...) __printf(2, 3);
/* Open the monitor, run one command, and close it */
#define on_qemu_monitor(...)	monitor_command(-1, __VA_ARGS__)
bool machine_check_from_qemu(void);

#endif
