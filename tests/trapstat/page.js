// SPDX-License-Identifier: GPL-2.0
// Uses a page of "trapstat record" as a reader does. What went wrong, or "all well", is in the body
'use strict';
{
	const wrong = [], check = (is, what) => { if (!is) wrong.push(what); };
	const rows = id => [...get(id).querySelectorAll('tr')].slice(1).map(row => [...row.cells].map(c => c.textContent));
	const total = id => rows(id).reduce((n, row) => n + +row[1], 0);
	const point = (svg, type, x) => {
		const box = svg.getBoundingClientRect();
		svg.dispatchEvent(new PointerEvent(type, { clientX: box.left + x * box.width / 1000, clientY: box.top + 20 }));
	};
	const svg = () => { const s = get('rates').firstChild; s.setPointerCapture = () => {}; return s; };
	const all = total('processes'), flames = get('flames').querySelectorAll('rect').length;

	check(all > 1000, `${all} events of processes`);
	check(get('heat').querySelectorAll('rect[data-tip]').length > 5, 'no cells');
	check(flames > 5 && get('flames').textContent.includes('step_anon'), `${flames} flames`);
	check(total('waits') > 2 && !get('why').hidden, `${total('waits')} waits`);
	point(svg(), 'pointermove', 500);
	check(/^#?\w+: \d+, .*\/s\nat /.test(get('tip').textContent), `no value: ${get('tip').textContent}`);
	const cell = get('heat').querySelector('rect[data-tip]');
	cell.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
	check(get('tip').textContent === cell.dataset.tip && get('tip').style.display === 'block', 'no value of a cell');
	const same = svg();
	point(same, 'pointerdown', 200);
	point(same, 'pointermove', 500);
	point(same, 'pointerup', 500);
	check(/^From .* to /.test(get('range').textContent), `no range: ${get('range').textContent}`);
	check(total('processes') > 0 && total('processes') < all, `${total('processes')} of ${all} in the range`);
	check(from > 0 && to < used, `range ${from} to ${to} of ${used}`);
	get('reset').click();
	check(total('processes') === all, 'the reset leaves events out');
	const flame = [...get('flames').querySelectorAll('rect')].find(r => r.dataset.tip.startsWith('step_anon\n'));
	check(+flame.getAttribute('width') < 999, 'step_anon has all of the time');
	flame.dispatchEvent(new MouseEvent('click'));
	const wide = [...get('flames').querySelectorAll('rect')].find(r => r.dataset.tip.startsWith('step_anon\n'));
	check(+wide.getAttribute('width') === 1000, 'a click does not zoom');
	get('processes').querySelectorAll('th')[1].click();
	const counts = rows('processes').map(row => +row[1]);
	check(counts.every((n, i) => !i || n <= counts[i - 1]), 'not sorted by count');
	const { color, backgroundColor } = getComputedStyle(document.body);
	const light = of => [.2126, .7152, .0722].reduce((sum, w, i) => sum + w * (of.match(/\d+/g)[i] / 255) ** 2.2, .05);
	const lights = [light(color), light(backgroundColor)];
	check(Math.max(...lights) / Math.min(...lights) > 7, `${color} on ${backgroundColor}`);
	document.body.textContent = `page test: ${wrong.join('; ') || 'all well'} on ${backgroundColor}`;
}
