// SPDX-License-Identifier: GPL-2.0
// Uses a page of "trapstat record" as a reader does. What went wrong, or "all well", is in the body
'use strict';
{
	const wrong = [], check = (is, what) => { if (!is) wrong.push(what); };
	const every = (id, what) => [...get(id).querySelectorAll(what)];
	const rows = id => every(id, 'tr').slice(1).map(row => [...row.cells].map(c => c.textContent));
	const total = id => rows(id).reduce((n, row) => n + +row[1], 0);
	const point = (svg, type, x) => {
		const box = svg.getBoundingClientRect();
		const clientX = box.left + x * box.width / 1000, clientY = box.top + 20;
		svg.dispatchEvent(new PointerEvent(type, { clientX, clientY }));
	};
	const svg = () => Object.assign(get('rates').firstChild, { setPointerCapture: () => {} });
	const step_anon = () => every('flames', 'rect').find(r => r.dataset.tip.startsWith('step_anon\n'));
	const all = total('processes'), flames = every('flames', 'rect').length;
	const shown = () => get('tip').textContent;

	check(all > 1000, `${all} events of processes`);
	check(every('heat', 'rect[data-tip]').length > 5, 'no cells');
	check(flames > 5 && get('flames').textContent.includes('step_anon'), `${flames} flames`);
	check(total('waits') > 2 && !get('why').hidden, `${total('waits')} waits`);
	point(svg(), 'pointermove', 500);
	check(/^#?\w+: \d+, .*\/s\nat /.test(shown()), `no value: ${shown()}`);
	const [cell] = every('heat', 'rect[data-tip]');
	cell.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
	check(shown() === cell.dataset.tip && get('tip').style.display === 'block', 'no value of a cell');
	const same = svg();
	for (const [type, x] of [['down', 200], ['move', 500], ['up', 500]])
		point(same, 'pointer' + type, x);
	check(/^From .* to /.test(get('range').textContent), `no range: ${get('range').textContent}`);
	const some = total('processes');
	check(some > 0 && some < all, `${some} of ${all} in the range`);
	check(from > 0 && to < used, `range ${from} to ${to} of ${used}`);
	get('reset').click();
	check(total('processes') === all, 'the reset leaves events out');
	check(+step_anon().getAttribute('width') < 999, 'step_anon has all of the time');
	step_anon().dispatchEvent(new MouseEvent('click'));
	check(+step_anon().getAttribute('width') === 1000, 'a click does not zoom');
	get('processes').querySelectorAll('th')[1].click();
	const counts = rows('processes').map(row => +row[1]);
	check(counts.every((n, i) => !i || n <= counts[i - 1]), 'not sorted by count');
	const { color, backgroundColor } = getComputedStyle(document.body);
	const [light, dark] = [color, backgroundColor].map(c => c.match(/\d+/g).reduce(
		(sum, part, i) => sum + [.2126, .7152, .0722][i] * (part / 255) ** 2.2, .05));
	check(Math.max(light / dark, dark / light) > 7, `${color} on ${backgroundColor}`);
	document.body.textContent = `page test: ${wrong.join('; ') || 'all well'} on ${backgroundColor}`;
}
