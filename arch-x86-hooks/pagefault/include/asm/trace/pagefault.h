/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TRACE_PAGEFAULT_H
#define _ASM_X86_TRACE_PAGEFAULT_H

/*
 * The error code of #PF, enum x86_pf_error_code: Intel SDM volume 3, "Page-Fault
 * Exceptions". arch/x86/mm/fault.c asserts that the numbers are right.
 */
#define show_pagefault_error_code(error_code)				\
	__print_flags(error_code, "|",					\
		{ 0x1,	"PROT" },					\
		{ 0x2,	"WRITE" },					\
		{ 0x4,	"USER" },					\
		{ 0x8,	"RSVD" },					\
		{ 0x10,	"INSTR" },					\
		{ 0x20,	"PK" },						\
		{ 0x40,	"SHSTK" },					\
		{ 0x8000,	"SGX" },				\
		{ 0x80000000,	"RMP" })

#endif /* _ASM_X86_TRACE_PAGEFAULT_H */
