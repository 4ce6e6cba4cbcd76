'use strict';
(function () {
  var root = document.documentElement, tip = document.getElementById('tip');
  function all(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }

  // Theme: the system's, unless one is chosen. Printing is always light.
  var dark = window.matchMedia('(prefers-color-scheme: dark)'), choices = ['system', 'light', 'dark'], chosen = 'system';
  try { chosen = localStorage.getItem('warpwatt-theme') || 'system'; } catch (error) { chosen = 'system'; }
  function paint(printing) {
    var name = chosen === 'system' ? (dark.matches ? 'dark' : 'light') : chosen;
    root.dataset.theme = printing ? 'light' : name;
    document.getElementById('theme').textContent = 'Theme: ' + chosen;
  }
  document.getElementById('theme').addEventListener('click', function () {
    chosen = choices[(choices.indexOf(chosen) + 1) % choices.length];
    try { localStorage.setItem('warpwatt-theme', chosen); } catch (error) { /* a page of a file may not store */ }
    paint();
  });
  dark.addEventListener('change', function () { paint(); });
  window.addEventListener('beforeprint', function () { paint(true); });
  window.addEventListener('afterprint', function () { paint(); });
  document.getElementById('print').addEventListener('click', function () { window.print(); });
  paint();

  // What a mark shows: its place in the table behind the chart.
  function describe(mark) {
    var plot = mark.closest('.plot'), table = plot && document.getElementById(plot.dataset.table);
    if (!table) { return ''; }
    var place = mark.dataset.i.split(','), row = table.tBodies[0].rows[+place[1]];
    if (!row) { return ''; }
    // Rows may have been sorted.
    var rows = table.initial || table.tBodies[0].rows;
    row = rows[+place[1]] || row;
    var heads = table.tHead.rows[0].cells, name = row.cells[0].textContent;
    if (place[0] !== '*') {
      var column = +place[0] + 1;
      return name + '\n' + heads[column].textContent + ': ' + row.cells[column].textContent;
    }
    var lines = [name];
    for (var i = 1; i < row.cells.length && i < 14; i++) { lines.push(heads[i].textContent + ': ' + row.cells[i].textContent); }
    return lines.join('\n');
  }
  function show(text, x, y) {
    if (!text) { tip.hidden = true; return; }
    tip.textContent = text; tip.hidden = false;
    var box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 8)) + 'px';
  }
  document.addEventListener('pointermove', function (event) {
    var mark = event.target.closest && event.target.closest('[data-i]');
    if (mark) { show(describe(mark), event.clientX, event.clientY); } else if (!tip.hidden) { tip.hidden = true; }
  });
  document.addEventListener('scroll', function () { tip.hidden = true; }, { passive: true });
  document.addEventListener('keydown', function (event) {
    var chart = document.activeElement;
    if (!chart || !chart.classList.contains('chart') || ['ArrowLeft', 'ArrowRight', 'Escape'].indexOf(event.key) < 0) { return; }
    var marks = all('[data-i]', chart), at = marks.indexOf(chart.querySelector('.on'));
    if (at >= 0) { marks[at].classList.remove('on'); }
    if (event.key === 'Escape' || !marks.length) { tip.hidden = true; return; }
    at = (at + (event.key === 'ArrowRight' ? 1 : -1) + marks.length) % marks.length;
    marks[at].classList.add('on');
    var box = marks[at].getBoundingClientRect();
    show(describe(marks[at]), box.right, box.top);
    event.preventDefault();
  });

  // Sorting: rows, or, where a row has more to it, bodies. Numbers by their value, the rest by text; what is missing comes last.
  function key(cell) { return cell ? (cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent) : ''; }
  function unitsOf(table) { return table.tBodies.length > 1 ? Array.prototype.slice.call(table.tBodies) : all('tr:not(.detail)', table.tBodies[0]); }
  function sort(table, column, head) {
    var units = unitsOf(table), parent = units.length ? units[0].parentNode : null;
    if (!parent) { return; }
    if (!table.initial && table.tBodies.length === 1) { table.initial = units.slice(); }
    all('.detail', table).forEach(function (row) { row.remove(); });
    all('[data-line][aria-expanded=true]', table).forEach(function (button) { button.setAttribute('aria-expanded', 'false'); });
    // The first click brings large numbers, the beginning of the alphabet, or the first line to the top; the next one turns it round.
    var numeric = head.classList.contains('n'), first = numeric && !(table.classList.contains('src') && column === 0) ? 'descending' : 'ascending';
    var order = head.getAttribute('aria-sort') === first ? (first === 'ascending' ? 'descending' : 'ascending') : first, sign = order === 'ascending' ? 1 : -1;
    function cell(unit) { var row = unit.rows ? unit.rows[0] : unit; return row.cells[column]; }
    units = units.map(function (unit, place) { return [key(cell(unit)), place, unit]; });
    units.sort(function (a, b) {
      if (a[0] === '' || b[0] === '') { return (a[0] === '') - (b[0] === '') || a[1] - b[1]; }
      var less = numeric ? parseFloat(a[0]) - parseFloat(b[0]) : a[0].localeCompare(b[0], undefined, { numeric: true });
      return less ? less * sign : a[1] - b[1];
    });
    units.forEach(function (unit) { parent.appendChild(unit[2]); });
    all('th[aria-sort]', table.tHead).forEach(function (other) { other.removeAttribute('aria-sort'); });
    head.setAttribute('aria-sort', order);
  }
  all('table.sortable').forEach(function (table) {
    all('thead th', table).forEach(function (head, column) {
      var button = head.querySelector('button');
      if (button) { button.addEventListener('click', function () { sort(table, column, head); }); }
    });
  });

  // Filters: a text, and verdicts.
  function filter(id) {
    var table = document.getElementById(id), input = document.querySelector('[data-filter="' + id + '"]'), words = input ? input.value.trim().toLowerCase().split(/\s+/) : [];
    var boxes = document.querySelector('[data-verdicts="' + id + '"]'), verdicts = null, left = 0;
    if (boxes) { verdicts = all('input', boxes).filter(function (box) { return box.checked; }).map(function (box) { return box.value; }); }
    unitsOf(table).forEach(function (unit) {
      var text = unit.textContent.toLowerCase();
      var keep = words.every(function (word) { return text.indexOf(word) >= 0; }) && (!verdicts || verdicts.indexOf(unit.dataset.verdict) >= 0);
      unit.hidden = !keep; left += keep ? 1 : 0;
    });
    var count = document.querySelector('[data-count="' + id + '"]');
    if (count) { count.textContent = left + ' rows'; }
  }
  all('[data-filter]').forEach(function (input) { input.addEventListener('input', function () { filter(input.dataset.filter); }); });
  all('[data-verdicts]').forEach(function (boxes) { boxes.addEventListener('change', function () { filter(boxes.dataset.verdicts); }); });

  // The ledger's rows open.
  function open(button, state) {
    var more = document.getElementById(button.getAttribute('aria-controls'));
    if (more) { more.hidden = !state; button.setAttribute('aria-expanded', String(state)); }
  }
  all('.fold').forEach(function (button) { button.addEventListener('click', function () { open(button, button.getAttribute('aria-expanded') !== 'true'); }); });
  all('[data-open]').forEach(function (button) {
    button.addEventListener('click', function () {
      var state = button.textContent === 'Open all';
      all('.fold', document.getElementById(button.dataset.open)).forEach(function (fold) { open(fold, state); });
      button.textContent = state ? 'Close all' : 'Open all';
    });
  });

  // The source view: shading, and machine instructions of a line.
  all('[data-shade]').forEach(function (choice) {
    var view = document.getElementById(choice.dataset.shade);
    function shade() { view.dataset.by = choice.querySelector('input:checked').value; }
    choice.addEventListener('change', shade); shade();
  });
  var cache = {};
  function instructions(view) {
    if (!cache[view]) {
      var script = document.querySelector('script[data-instructions="' + view + '"]');
      cache[view] = script ? JSON.parse(script.textContent) : {};
    }
    return cache[view];
  }
  document.addEventListener('click', function (event) {
    var button = event.target.closest && event.target.closest('[data-line]');
    if (!button) { return; }
    var row = button.closest('tr'), table = row.closest('table'), next = row.nextElementSibling;
    if (next && next.classList.contains('detail')) { next.remove(); button.setAttribute('aria-expanded', 'false'); return; }
    var view = table.closest('[data-by]'), list = instructions(view.id)[table.dataset.file + ':' + button.dataset.line] || [];
    var detail = document.createElement('tr'), cell = document.createElement('td');
    detail.className = 'detail'; cell.colSpan = 7; detail.appendChild(cell);
    if (list.length) {
      var inner = document.createElement('table'), head = inner.createTHead().insertRow(), body = inner.createTBody();
      ['pc', 'operation', 'issued', 'energy', 'launch'].forEach(function (name) { var th = document.createElement('th'); th.textContent = name; th.scope = 'col'; head.appendChild(th); });
      list.forEach(function (entry) { var line = body.insertRow(); entry.forEach(function (value, place) { var td = line.insertCell(); td.textContent = value === null ? '' : value; if (place !== 1) { td.className = 'n'; } }); });
      cell.appendChild(inner);
    } else { cell.textContent = 'No machine instructions of this line are in the record.'; }
    row.after(detail); button.setAttribute('aria-expanded', 'true');
  });

  // Choices between charts.
  all('[data-choose]').forEach(function (select) {
    select.addEventListener('change', function () {
      all('#' + select.dataset.choose + '>div').forEach(function (part, place) { part.hidden = String(place) !== select.value; });
    });
  });

  // Contents: find, and where the reader is. A link into a folded part opens it.
  var links = all('#nav li a');
  document.getElementById('find').addEventListener('input', function (event) {
    var text = event.target.value.trim().toLowerCase();
    links.forEach(function (link) { link.parentNode.hidden = text !== '' && link.textContent.toLowerCase().indexOf(text) < 0; });
  });
  function reveal() {
    var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) { return; }
    for (var part = target; part; part = part.parentElement) { if (part.tagName === 'DETAILS') { part.open = true; } }
    var fold = target.tagName === 'TBODY' && target.querySelector('.fold');
    if (fold) { open(fold, true); }
    target.scrollIntoView();
  }
  window.addEventListener('hashchange', reveal); reveal();
  if ('IntersectionObserver' in window) {
    var byId = {}; links.forEach(function (link) { byId[link.getAttribute('href').slice(1)] = link; });
    var watch = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) { var link = byId[entry.target.id]; if (link) { link.classList.toggle('here', entry.isIntersecting); } });
    }, { rootMargin: '-60px 0px -70% 0px' });
    Object.keys(byId).forEach(function (id) { var target = document.getElementById(id); if (target) { watch.observe(target); } });
  }
  root.dataset.ready = 'yes';
})();
