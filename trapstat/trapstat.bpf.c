// SPDX-License-Identifier: GPL-2.0
/*
 * The BPF side of trapstat: counts traps and page faults where they happen. Each source has
 * programs of its own; sources.c picks those that this kernel takes.
 */
#include <stdbool.h>
#include <asm/errno.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel.h"
#include "trapstat.h"
#include "arch.bpf.h"
#include "counts.bpf.h"
#include "perf.bpf.h"

/* include/linux/mm_types.h: enum fault_flag and enum vm_fault_reason */
#define FAULT_TRIED		0x20
#define FAULT_USER		0x40
#define FAULT_VMA_LOCK		0x1000
#define VM_FAULT_OOM		0x1
#define VM_FAULT_MAJOR		0x4
#define VM_FAULT_ERROR		0x873
#define VM_FAULT_RETRY		0x400

/* Traps other than page faults, on x86. The layout of struct pt_regs is that of <asm/ptrace.h> */

static __always_inline __u32 mode_of(const struct pt_regs *regs)
{
	__u64 status = 0;

	read_kernel(&status, sizeof(status), &REGS_STATUS(regs));
	return mode_in(status);
}

/* A task has one trap of user mode at a time; those of kernel mode may be nested */
static __always_inline __u64 key_of_trap(const struct pt_regs *regs, __u32 mode)
{
	return mode == MODE_USER ? bpf_get_current_task() : (__u64)regs;
}

SEC("raw_tp/trap_entry")
int trap_entry(struct bpf_raw_tracepoint_args *ctx)
{
	const struct pt_regs *regs = (void *)ctx->args[0];
	__u32 vector = ctx->args[1], mode = mode_of(regs);
	__u64 key = key_of_trap(regs, mode);
	struct begin begin = { .vector = vector, .task = bpf_get_current_task() };

	if (!is_wanted())
		return 0;
	begin.row = row_of(regs, vector, mode, ctx->args[2]);
	count_trap(begin.row, mode, 1, 0);
	read_kernel(&begin.ip, sizeof(begin.ip), &PT_REGS_IP(regs));
	begin.start = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&begun, &key, &begin, BPF_ANY))
		lose(LOST_TIMES);
	return 0;
}

SEC("raw_tp/trap_exit")
int trap_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 vector = ctx->args[1], mode = mode_of((void *)ctx->args[0]);
	__u64 key = key_of_trap((void *)ctx->args[0], mode), now = bpf_ktime_get_ns();
	struct begin *begin = bpf_map_lookup_elem(&begun, &key);
	struct fault trap = { .error = ctx->args[2] + 1, .mode = mode };

	if (!begin)
		return 0;
	if (begin->vector != vector || begin->task != bpf_get_current_task()) {
		/* The end of that one and the beginning of this one were missed */
		bpf_map_delete_elem(&begun, &key);
		lose(LOST_TIMES);
		return 0;
	}
	trap.row = begin->row;
	trap.ip = begin->ip;
	trap.ns = now - begin->start;
	trap.end = now;		/* so that what is nested stays within */
	bpf_map_delete_elem(&begun, &key);
	count_trap(trap.row, mode, 0, trap.ns);
	if (config.record && is_wanted_trap(trap.row, mode)) {
		take_stacks(ctx, &trap);
		send_event(&trap);
	}
	return 0;
}

SEC("raw_tp/nmi_handler")
int nmi_handler(struct bpf_raw_tracepoint_args *ctx)
{
	if ((int)ctx->args[2] && is_wanted())
		count_trap(ROW_NMI, MODE_KERNEL, 1, ctx->args[1]);
	return 0;
}

SEC("raw_tp/mce_record")
int mce_record(struct bpf_raw_tracepoint_args *ctx)
{
	if (is_wanted())
		count_trap(ROW_MCE, MODE_KERNEL, 1, 0);
	return 0;
}

static const int signal_numbers[SIGNALS] = SIGNAL_NUMBERS;

/* Registers of user mode, if the signal is of a trap */
static __always_inline const struct pt_regs *regs_of_trap(__u64 receiver)
{
	const struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());

	return receiver == bpf_get_current_task() && is_of_trap(regs) ? regs : NULL;
}

/* Nobody handles the signal */
static __always_inline bool is_fatal(__u32 number)
{
	struct sighand_struct *sighand = BPF_CORE_READ(bpf_get_current_task_btf(), sighand);
	void *handler = NULL;

	read_kernel(&handler, sizeof(handler), (void *)sighand +
		    bpf_core_field_offset(sighand->action) +
		    (number - 1) * bpf_core_type_size(struct k_sigaction));
	return !handler;
}

/*
 * Keep a signal until it is delivered, or until the task is gone. A debugger may hold it for long
 * or take it away; then the mappings stay, and locate_event() finds them.
 */
static __noinline int keep_event(const struct fault *f)
{
	__u64 task = bpf_get_current_task();
	struct event *event;

	if (!config.find_vma || bpf_get_current_task_btf()->ptrace ||
	    bpf_map_update_elem(&undelivered, &task, &new_event, BPF_NOEXIST))
		return 0;
	event = bpf_map_lookup_elem(&undelivered, &task);
	if (event)
		fill_event(event, f);
	return !!event;
}

static __always_inline void send_kept(__u64 task, bool is_here)
{
	struct event *event = bpf_map_lookup_elem(&undelivered, &task);

	if (!event)
		return;
	if (is_here)
		find_place(&event->place, event->address);
	if (bpf_ringbuf_output(&events, event, sizeof(*event), 0))
		lose(LOST_EVENTS);
	bpf_map_delete_elem(&undelivered, &task);
}

/* Soon after signal_generate, in the same task, which has its mappings still */
SEC("raw_tp/signal_deliver")
int signal_deliver(struct bpf_raw_tracepoint_args *ctx)
{
	send_kept(bpf_get_current_task(), true);
	return 0;
}

/* The beginning of a siginfo: si_signo, si_errno, si_code */
SEC("raw_tp/signal_generate")
int signal_generate(struct bpf_raw_tracepoint_args *ctx)
{
	struct cpu_counts *here = counts_here();
	__u32 key, number = ctx->args[0];
	struct fault event = {
		.row = ROW_SIGNAL, .mode = MODE_NONE, .signal = number, .vector = NO_VECTOR,
	};
	const struct pt_regs *regs = NULL;
	struct fault trap = {};
	int info[3] = {};

	for (key = 0; key < SIGNALS; key++)
		if (signal_numbers[key] == number)
			break;
	if (key == SIGNALS)
		return 0;
	/* 0 and 1 stand for a kill() and for the kernel */
	if (!ctx->args[1] || !is_wanted())
		return 0;
	if (ctx->args[1] > 1)
		read_kernel(info, sizeof(info), (void *)ctx->args[1]);
	else
		info[2] = 128;
	if (info[2] <= 0)
		return 0;
	if (config.has_regs) {
		regs = regs_of_trap(ctx->args[2]);
		if (!regs)
			return 0;
	}
	event.si_code = info[2] < SIGNAL_CODES ? info[2] : 0;
	key = key * SIGNAL_CODES + event.si_code;
	if (here && key < SIGNALS * SIGNAL_CODES)
		__sync_fetch_and_add(&here->signal[key], 1);
	if (config.has_regs && find_trap(&trap, regs, number, event.si_code)) {
		read_kernel(&trap.ip, sizeof(trap.ip), &PT_REGS_IP(regs));
		trap.mode = MODE_USER;
		event.mode = MODE_USER;
		event.address = trap.address;
		event.ip = trap.ip;
		event.error = trap.error;
		event.vector = trap.vector;
		if (traps_by_signal && trap.row != ROW_PF) {
			count_trap(trap.row, MODE_USER, 1, 0);
			if (config.record && is_wanted_trap(trap.row, MODE_USER)) {
				take_stacks(ctx, &trap);
				send_event(&trap);
			}
		}
	}
	if (config.has_regs)
		event.is_fatal = is_fatal(number);
	if ((config.crashes && (config.vector == WANT_ANY || config.vector == event.vector)) ||
	    (config.record && config.vector == WANT_ANY && config.outcome == WANT_ANY &&
	     config.mode == WANT_ANY)) {
		take_stacks(ctx, &event);
		if (!config.crashes || event.vector != ROW_PF || !keep_event(&event))
			send_event(&event);
	}
	return 0;
}

/* Page faults, by exceptions:page_fault_*, which fire at their beginning */

static __always_inline int fault_begun(struct bpf_raw_tracepoint_args *ctx, __u32 mode)
{
	struct fault f = { .outcome = OUTCOME_BEGUN, .mode = mode, .address = ctx->args[0] };
	const struct pt_regs *regs = (void *)ctx->args[1];

	if (!is_wanted())
		return 0;
	count_trap(ROW_PF, mode, 1, 0);
	if (config.ends_by_perf)
		perf_begins(f.address, regs, mode);
	else
		count_begin(&f);
	if (!config.record)
		return 0;
	note_error(f.address, mode, ctx->args[2]);
	if (!config.ends_by_perf && !config.ends_by_mm) {
		f.error = ctx->args[2] + 1;
		read_kernel(&f.ip, sizeof(f.ip), &PT_REGS_IP(regs));
		take_stacks(ctx, &f);
		send_event(&f);
	}
	return 0;
}

SEC("raw_tp/page_fault_user")
int page_fault_user(struct bpf_raw_tracepoint_args *ctx)
{
	return fault_begun(ctx, MODE_USER);
}

SEC("raw_tp/page_fault_kernel")
int page_fault_kernel(struct bpf_raw_tracepoint_args *ctx)
{
	return fault_begun(ctx, MODE_KERNEL);
}

/* Page faults, by pagefault:pagefault_* */

/* As the kernel has them; kind: NO_FIELD if the flags have it */
struct numbers {
	__u32 outcome, kind, flags;
};

/* The kernel's numbers become ours */
static __always_inline int fault_ended(void *ctx, struct fault *f, const struct numbers *n)
{
	__u32 outcome = n->outcome, kind = n->kind, flags = 0;

	if (kind != NO_FIELD)
		flags = kind < KIND_NUMBERS ? config.kinds[kind] : FLAG_KIND_UNKNOWN;
	/* Most faults have none */
	for (int i = 0; n->flags && i < FLAG_BITS; i++)
		if (n->flags & 1U << i)
			flags |= config.flags[i];
	f->flags = flags;
	f->outcome = outcome < OUTCOME_NUMBERS ? config.outcomes[outcome] : OUTCOME_UNKNOWN;
	count_trap(ROW_PF, f->mode, 1, f->ns);
	count_fault(ctx, f);
	return 0;
}

/* Older events have no order */
static __always_inline __u32 order_in(const struct pagefault *pf)
{
	return bpf_core_field_exists(pf->order) ? pf->order + 1 : 0;
}

static __always_inline struct numbers numbers_in(const struct pagefault *pf)
{
	return (struct numbers){
		.outcome = pf->outcome, .flags = pf->flags,
		.kind = bpf_core_field_exists(pf->kind) ? pf->kind : NO_FIELD,
	};
}

SEC("tp_btf/pagefault_exit")
int BPF_PROG(pagefault_exit, const struct pagefault *pf)
{
	struct numbers numbers;
	struct fault f = {};

	if (!is_wanted())
		return 0;
	f.address = pf->address;
	f.ip = pf->ip;
	f.ns = pf->duration;
	f.mode = pf->user_mode ? MODE_USER : MODE_KERNEL;
	f.order = order_in(pf);
	f.error = pf->error_code + 1;
	numbers = numbers_in(pf);
	return fault_ended(ctx, &f, &numbers);
}

SEC("tp_btf/pagefault_noregs")
int BPF_PROG(pagefault_noregs, const struct pagefault *pf)
{
	struct fault f = { .mode = MODE_NONE };
	struct numbers numbers;

	if (!is_wanted())
		return 0;
	f.address = pf->address;
	f.ns = pf->duration;
	f.order = order_in(pf);
	numbers = numbers_in(pf);
	return fault_ended(ctx, &f, &numbers);
}

/* The same of the record of the event, where the kernel has no BTF. names.c knows the sizes */
#define READ(to, ctx, event, field)	\
	read_kernel(&(to), sizeof(to), (void *)(ctx) + config.at[event][field])

static __always_inline struct numbers read_record(struct fault *f, void *ctx, int event)
{
	struct numbers numbers = { .kind = NO_FIELD };
	__u32 order;

	READ(f->ns, ctx, event, FIELD_DURATION);
	READ(f->address, ctx, event, FIELD_ADDRESS);
	READ(numbers.outcome, ctx, event, FIELD_OUTCOME);
	READ(numbers.flags, ctx, event, FIELD_FLAGS);
	if (config.at[event][FIELD_KIND] != NO_FIELD)
		READ(numbers.kind, ctx, event, FIELD_KIND);
	if (config.at[event][FIELD_ORDER] != NO_FIELD) {
		READ(order, ctx, event, FIELD_ORDER);
		f->order = order + 1;
	}
	return numbers;
}

SEC("tp/pagefault/pagefault_exit")
int exit_record(void *ctx)
{
	struct numbers numbers;
	struct fault f = {};
	__u64 error_code;
	__u32 user_mode;

	if (!is_wanted())
		return 0;
	numbers = read_record(&f, ctx, 0);
	READ(f.ip, ctx, 0, FIELD_IP);
	READ(user_mode, ctx, 0, FIELD_MODE);
	READ(error_code, ctx, 0, FIELD_ERROR);
	f.mode = user_mode ? MODE_USER : MODE_KERNEL;
	f.error = error_code + 1;
	return fault_ended(ctx, &f, &numbers);
}

SEC("tp/pagefault/pagefault_noregs")
int noregs_record(void *ctx)
{
	struct fault f = { .mode = MODE_NONE };
	struct numbers numbers;

	if (!is_wanted())
		return 0;
	numbers = read_record(&f, ctx, 1);
	return fault_ended(ctx, &f, &numbers);
}

/* Page faults, by handle_mm_fault() */

static __always_inline void call_file(struct call *call, struct vm_area_struct *vma)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct file_key key = {};

	if (file)
		key = note_file(file);
	call->ino = key.ino;
	call->dev = key.dev;
}

static __always_inline void call_ended(void *ctx, const struct call *call, __u32 outcome)
{
	struct fault f = {
		.address = call->address, .ip = call->ip, .ns = call->ns, .ino = call->ino,
		.dev = call->dev, .outcome = outcome, .flags = call->flags,
	};

	if (call->retried)
		f.flags |= FLAG_RETRIED;
	f.mode = call->no_regs ? MODE_NONE :
		 call->fault_flags & FAULT_USER ? MODE_USER : MODE_KERNEL;
	count_trap(ROW_PF, f.mode, traps_by_mm, call->ns);
	count_fault(ctx, &f);
}

static __noinline int count_reached(__u32 mode)
{
	struct fault f = { .outcome = OUTCOME_REACHED, .mode = mode };

	count_begin(&f);
	return 0;
}

static __always_inline int mm_begins(void *ctx, struct vm_area_struct *vma, __u64 address,
				     __u32 flags, bool no_regs, __u64 ip, __u32 kind, __u64 stack)
{
	__u64 task = bpf_get_current_task();
	struct call *call;

	if (!is_wanted())
		return 0;
	/*
	 * The last fault of this task had to be tried again. That is this call, or a
	 * signal came first. A fault that is tried again has FAULT_TRIED, or has lost the
	 * lock of the VMA.
	 */
	call = bpf_map_lookup_elem(&calls, &task);
	if (!call) {
		bpf_map_update_elem(&calls, &task, &new_call, BPF_ANY);
		call = bpf_map_lookup_elem(&calls, &task);
		if (!call) {
			lose(LOST_FAULTS);
			return 0;
		}
	}
	if (call->start) {
		/* Its end was missed, as it may be by a kretprobe */
		lose(LOST_FAULTS);
		call->retried = 0;
	} else if (call->retried &&
		   (call->address != address || no_regs ||
		    !(flags & FAULT_TRIED || (call->fault_flags & ~flags & FAULT_VMA_LOCK)))) {
		call_ended(ctx, call, OUTCOME_INTERRUPTED);
		call->retried = 0;
	}
	if (!call->retried) {
		call->ns = 0;
		if (config.why && (no_regs || waits_by_mm))
			waits_begin(address);
		if (!no_regs)
			count_reached(flags & FAULT_USER ? MODE_USER : MODE_KERNEL);
	}
	call->address = address;
	call->stack = stack;
	call->fault_flags = flags;
	call->no_regs = no_regs;
	call->ip = ip;
	call->flags = kind;
	if (config.by == BY_FILE)
		call_file(call, vma);
	call->start = bpf_ktime_get_ns();
	return 0;
}

/* The begin and the end of a call have the same address, or the same place on the stack */
static __always_inline int mm_ends(void *ctx, __u64 address, __u64 stack, __u32 ret)
{
	__u64 now = bpf_ktime_get_ns(), task = bpf_get_current_task();
	struct call *call = bpf_map_lookup_elem(&calls, &task);
	__u32 outcome;

	if (!call || !call->start)
		return 0;
	if (stack ? stack != call->stack : address != call->address) {
		/* The end of that call and the beginning of this one were missed */
		call->start = 0;
		call->retried = 0;
		lose(LOST_FAULTS);
		return 0;
	}
	call->ns += now - call->start;
	call->start = 0;
	if (config.why)
		call->ns = waits_since(call->address, now, call->ns);
	if (ret & VM_FAULT_RETRY && !call->no_regs) {
		call->retried = 1;
		return 0;
	}
	/* As mm_account_fault() of the kernel has it */
	if (ret & VM_FAULT_RETRY)
		outcome = OUTCOME_RETRY;
	else if (!(ret & VM_FAULT_ERROR))
		outcome = ret & VM_FAULT_MAJOR || call->fault_flags & FAULT_TRIED ?
			  OUTCOME_MAJOR : OUTCOME_MINOR;
	else if (call->no_regs)
		outcome = OUTCOME_FAILED;
	else if (ret & VM_FAULT_OOM)
		outcome = OUTCOME_OOM;
	else
		outcome = call->fault_flags & FAULT_USER ? OUTCOME_SIGNAL : OUTCOME_ERROR;
	call_ended(ctx, call, outcome);
	call->retried = 0;
	return 0;
}

/*
 * At fentry, a program may read what the types of its arguments lead to. The file of System V
 * shared memory is a wrapper of that of shmem, which its mapping has.
 */
SEC("fentry/handle_mm_fault")
int BPF_PROG(mm_enter, struct vm_area_struct *vma, unsigned long address, unsigned int flags,
	     struct pt_regs *regs)
{
	struct file *file = vma->vm_file;
	__u64 magic = file ? file->f_mapping->host->i_sb->s_magic : 0;

	return mm_begins(ctx, vma, address, flags, !regs, regs ? PT_REGS_IP(regs) : 0,
			 kind_of(vma->vm_ops, file, magic), 0);
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(mm_leave, struct vm_area_struct *vma, unsigned long address, unsigned int flags,
	     struct pt_regs *regs, unsigned int ret)
{
	return mm_ends(ctx, address, 0, ret);
}

SEC("kprobe/handle_mm_fault")
int BPF_KPROBE(mm_kprobe, struct vm_area_struct *vma, unsigned long address, unsigned int flags,
	       struct pt_regs *regs)
{
	__u32 kind = FLAG_KIND_UNKNOWN;
	struct file *file;
	__u64 ip = 0;

	if (config.has_btf) {
		file = BPF_CORE_READ(vma, vm_file);
		kind = kind_of(BPF_CORE_READ(vma, vm_ops), file,
			       BPF_CORE_READ(file, f_mapping, host, i_sb, s_magic));
	}
	if (regs)
		read_kernel(&ip, sizeof(ip), &PT_REGS_IP(regs));
	return mm_begins(ctx, vma, address, flags, !regs, ip, kind, PT_REGS_SP(ctx));
}

SEC("kretprobe/handle_mm_fault")
int BPF_KRETPROBE(mm_kretprobe, unsigned int ret)
{
	/* The return address is off the stack */
	return mm_ends(ctx, 0, PT_REGS_SP(ctx) - RETURN_SIZE, ret);
}

static __always_inline void forget(__u64 task)
{
	bpf_map_delete_elem(&begun, &task);
	bpf_map_delete_elem(&calls, &task);
	bpf_map_delete_elem(&perf_tasks, &task);
	bpf_map_delete_elem(&waits, &task);
	bpf_map_delete_elem(&followed, &task);
	if (config.crashes)
		send_kept(task, false);
}

/*
 * The tasks to follow. sched_wakeup_new fires for each new task before it runs, for workers of
 * io_uring and vhost too, and its probes are not preempted: none is skipped. While somebody else
 * attaches to sched_process_free, the kernel may leave out process_free() for the task that had
 * this address before.
 */
SEC("raw_tp/sched_wakeup_new")
int wakeup_new(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = bpf_get_current_task(), child = ctx->args[0];
	__u8 one = 1;

	forget(child);
	if (!bpf_map_lookup_elem(&followed, &task) && !(spawner && (__u32)pid_tgid() == spawner))
		return 0;
	if (bpf_map_update_elem(&followed, &child, &one, BPF_ANY))
		lose(LOST_TASKS);
	return 0;
}

/* A task may fault up to here, and only now another task may get its address */
SEC("raw_tp/sched_process_free")
int process_free(struct bpf_raw_tracepoint_args *ctx)
{
	forget(ctx->args[0]);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = bpf_get_current_task();
	struct call *call;

	if (config.ends_by_perf) {
		perf_exits(task);
		return 0;
	}
	call = bpf_map_lookup_elem(&calls, &task);
	if (!call)
		return 0;
	/* The end of its last fault was missed, as in mm_begins() */
	if (call->start)
		lose(LOST_FAULTS);
	else if (call->retried)
		call_ended(ctx, call, OUTCOME_INTERRUPTED);
	call->start = 0;
	call->retried = 0;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
