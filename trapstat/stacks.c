// SPDX-License-Identifier: GPL-2.0
/*
 * The stacks of -S: numbers of the map "stacks" in events. The mappings of user mode are looked up
 * when the event comes, as the process may end. If it has ended, BPF has noted where the
 * instruction is, and the program: what else is in these two files is known by that.
 */
#define _GNU_SOURCE
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "symbols.h"
#include "text.h"
#include "trapstat.skel.h"

struct stack {
	unsigned int pid;		/* 0: of the kernel */
	int number, frames;
	struct {
		unsigned long long ip;
		struct place place;
	} frame[];
};

enum { MOST_STACKS = 20000 };

static void *all_stacks;
static int stacks;

static int by_number(const void *a, const void *b)
{
	const struct stack *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->number > right->number) - (left->number < right->number);
}

/* @side: 0 is that of the kernel, 1 that of user mode */
static const struct stack *find_stack(const struct event *event, int side,
				      const struct sources *s)
{
	struct stack want = {
		.pid = side ? event->pid : 0, .number = event->stack[side],
	}, *stack, **at;
	unsigned int key = want.number - 1;
	unsigned long long ip[MOST_FRAMES] = {};
	int n = 0;

	if (!want.number)
		return NULL;
	at = tfind(&want, &all_stacks, by_number);
	if (at)
		return *at;
	if (stacks == MOST_STACKS)
		stacks_free();
	if (bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.stacks), &key, ip))
		return NULL;
	while (n < MOST_FRAMES && ip[n])
		n++;
	stack = calloc(1, sizeof(*stack) + n * sizeof(*stack->frame));
	if (!stack)
		return NULL;
	*stack = want;
	stack->frames = n;
	for (int i = 0; i < stack->frames; i++) {
		/* But for the innermost one, it is behind the call */
		stack->frame[i].ip = ip[i] - !!i;
		/* Without a frame pointer, anything may be taken for a caller */
		if (side && !locate(event, stack->frame[i].ip, &stack->frame[i].place) && i)
			stack->frames = i;
	}
	tsearch(stack, &all_stacks, by_number);
	stacks++;
	return stack;
}

/**
 * stack_note - Look up the stacks of an event, as long as its process is there
 * @event:	the event
 * @s:		the sources
 */
void stack_note(const struct event *event, const struct sources *s)
{
	find_stack(event, 0, s);
	find_stack(event, 1, s);
}

/* The place of a frame, by what BPF has noted if the process is gone */
static struct place place_of(const struct event *event, unsigned long long ip,
			     const struct place *found, const struct sources *s)
{
	struct place place = event->code;
	struct file_path path;

	if (ip == event->ip && place.name[0])
		return place;
	if (found->name[0])
		return *found;
	place.offset += ip - event->ip;
	if (place.file.ino && is_code(&place, event->pid, s))
		return place;
	place.file = event->program;
	place.offset = ip - event->program_code;
	if (bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.files), &place.file, &path))
		copy(place.name, NAME_SIZE, event->comm);
	else
		copy(place.name, NAME_SIZE, path.part[0]);
	return place.file.ino && find_code(&place, event->pid, s) ? place : *found;
}

/**
 * stack_frames - The frames of an event's stacks
 * @event:	the event
 * @s:		the sources
 * @frame:	gets them, the innermost first: MOST_STACK
 *
 * Return: how many there are
 */
int stack_frames(const struct event *event, const struct sources *s, struct frame *frame)
{
	int frames = 0, known = 0;

	for (int i = 0; i < 2; i++) {
		const struct stack *stack = find_stack(event, i, s);

		for (int j = 0; stack && j < stack->frames && frames < MOST_STACK; j++) {
			unsigned long long ip = stack->frame[j].ip;
			struct place place = stack->frame[j].place;
			const struct symbol *symbol;
			char *to = frame[frames++].name;

			if (i)
				place = place_of(event, ip, &place, s);
			symbol = symbol_of(ip, &place, event->pid, s);
			if (symbol)
				snprintf(to, sizeof(frame->name), "%s", symbol->function);
			else if (place.name[0])
				snprintf(to, sizeof(frame->name), "%s", text_place(&place).text);
			else
				snprintf(to, sizeof(frame->name), "%#llx", ip);
			if (symbol || place.name[0])
				known = frames;
		}
	}
	/* Nobody can tell what an address of a process that is gone was: it may be no code */
	return known ? known : frames;
}

/**
 * stacks_free - Free what stack_note() has found
 */
void stacks_free(void)
{
	tdestroy(all_stacks, free);
	all_stacks = NULL;
	stacks = 0;
}
