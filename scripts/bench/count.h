/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COUNT_H
#define COUNT_H

/*
 * What scripts/bench/count.c takes of the plugin interface of QEMU 4.2 to 8.2. Debian has no
 * package with the header of it.
 */
#include <stdbool.h>
#include <stddef.h>

typedef unsigned long long u64;

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_W = 2 };

typedef void (*on_tb)(u64 id, struct qemu_plugin_tb *tb);
typedef void (*on_insn)(unsigned int cpu, void *data);
typedef void (*on_store)(unsigned int cpu, unsigned int info, u64 address, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(u64 id, on_tb cb);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, on_insn cb,
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
						enum qemu_plugin_op op, void *at,
						u64 add);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, on_store cb,
				      enum qemu_plugin_cb_flags flags,
				      enum qemu_plugin_mem_rw rw, void *data);
void qemu_plugin_register_atexit_cb(u64 id, void (*cb)(u64 id, void *data),
				    void *data);
bool qemu_plugin_mem_is_store(unsigned int info);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
u64 qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

#endif /* COUNT_H */
