// Queries and stylesheets of the JavaScript reference, of other query languages and by hand, on the documents of
// crates/jaren-query/benches/query.rs and crates/jaren-jslt/benches/stylesheet.rs.
// usage: node bench.mjs QUERIES.json SHEETS.json [word…] (only rows that have every word in their names)
import { readFileSync } from 'node:fs';
import { compileJsonQuery } from '@jarenjs/json/query';
import { compileJsltStylesheet } from '@jarenjs/json/jslt';
import jsonata from 'jsonata';
import jmespath from 'jmespath';
import { JSONPath } from 'jsonpath-plus';

const WARM_NS = 100_000_000n;
const TIME_NS = 400_000_000n;
const [queriesFile, sheetsFile, ...words] = process.argv.slice(2);
const now = process.hrtime.bigint;
const isAsked = (work, by) => words.every((word) => `${work} ${by}`.includes(word));
const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];

// Length and FNV-1a hash of the text with sorted member names; groups come in any order, so theirs are sorted.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}
function check(work, result) {
  const groups = (all) => [...all].sort((a, b) => (a.region < b.region ? -1 : 1));
  const text = canonical(work === 'group' ? groups(result) : result);
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return `${text.length}-${(hash >>> 0).toString(16).padStart(8, '0')}`;
}
const line = (work, by, ns, checked) => console.log(JSON.stringify({ work, by, ns, check: checked }));

async function measure(work, by, run, shape = (result) => result) {
  if (!isAsked(work, by)) return;
  const checked = check(work, shape(await run()));
  // What answers a promise is awaited; what does not pays nothing for it.
  const one = run() instanceof Promise
    ? async () => { const start = now(); await run(); return Number(now() - start); }
    : () => { const start = now(); run(); return Number(now() - start); };
  for (const started = now(); now() - started < WARM_NS;) await one();
  const times = [];
  for (const started = now(); times.length < 5 || now() - started < TIME_NS;) times.push(await one());
  line(work, by, median(times), checked);
}
async function measureGuard(work, by, run, runs = 100_000) {
  if (!isAsked(work, by)) return;
  if ((await run()) !== true) throw new Error('the guard holds');
  const round = run() instanceof Promise
    ? async () => { const start = now(); for (let i = 0; i < runs; i++) await run(); return Number(now() - start) / runs; }
    : () => { const start = now(); for (let i = 0; i < runs; i++) run(); return Number(now() - start) / runs; };
  await round();
  const rounds = [];
  for (let i = 0; i < (runs === 100_000 ? 51 : 5); i++) rounds.push(await round());
  line(work, by, median(rounds), 'true');
}

const regions = ['north', 'south', 'east', 'west', 'centre'];
const rows = Array.from({ length: 10000 }, (_, i) => {
  const x = (i * 2654435761) % 1000003;
  return {
    id: i, region: regions[x % 5], qty: x % 1000, price: (x % 97) + 0.5, tags: ['a', 'b'],
    customer: { name: `c${x % 500}`, vip: x % 7 === 0 },
  };
});
const tables = { a: rows.slice(0, 2000), b: Array.from({ length: 2000 }, (_, i) => ({ ref: (i * 7) % 2000, n: i })) };
const scope = { state: 's1', event: 'go', payload: { fresh: true, n: 5 }, context: { count: 3, limit: 10 } };
const tree = {
  cur: 'EUR',
  rows: Array.from({ length: 2500 }, (_, n) => ({ no: `n${n}`, price: n, meta: { owner: `Io${n % 7}`, on: n % 2 === 0 } })),
};

const queries = JSON.parse(readFileSync(queriesFile, 'utf8'));
const sheets = JSON.parse(readFileSync(sheetsFile, 'utf8'));
const compiled = (document) => { const query = compileJsonQuery(document); return query.evaluate ? (data) => query.evaluate(data) : query; };

const guard = compiled(queries.guard);
await measureGuard('guard', 'reference', () => guard(scope));
await measureGuard('guard', 'hand, JavaScript', () => scope.context.count < scope.context.limit);
const text = JSON.stringify(rows);
await measure('parse', 'reference', () => JSON.parse(text));
for (const [work, document] of Object.entries(queries)) {
  if (work === 'guard') continue;
  const query = compiled(document);
  const data = work === 'join' ? tables : rows;
  await measure(work, 'reference', () => query(data));
}
for (const [work, document] of Object.entries(sheets)) {
  const transform = compileJsltStylesheet(document);
  await measure(work, 'reference', () => transform(tree));
}

const hand = (work, run, shape) => measure(work, 'hand, JavaScript', run, shape);
const large = (row) => row.qty >= 500;
const asGroups = (totals) => Object.entries(totals).map(([region, total]) => ({ region, total }));
await hand('path', () => rows.map((row) => row.customer.name));
await hand('path-filter', () => rows.filter(large).map((row) => row.id));
await hand('filter', () => rows.filter(large).map((row) => ({ id: row.id, total: row.qty * row.price })));
await hand('filter-plain', () => rows.filter(large).map((row) => ({ id: row.id, qty: row.qty })));
await hand('group', () => {
  const totals = {};
  for (const row of rows) totals[row.region] = (totals[row.region] ?? 0) + row.qty * row.price;
  return totals;
}, asGroups);
await hand('order', () => [...rows].sort((a, b) => b.qty - a.qty || a.id - b.id).map((row) => row.id));
await hand('join', () => {
  const byId = new Map(tables.b.map((row) => [row.ref, row]));
  return tables.a.filter((row) => byId.has(row.id)).map((row) => ({ id: row.id, n: byId.get(row.id).n }));
});

const jsonataOf = (expression, data) => { const compiled = jsonata(expression); return () => compiled.evaluate(data); };
const plain = (result) => [...result];
await measureGuard('guard', 'jsonata', jsonataOf('context.count < context.limit', scope), 5_000);
await measure('filter', 'jsonata', jsonataOf('$[qty >= 500].{"id": id, "total": qty * price}', rows), plain);
await measure('group', 'jsonata', jsonataOf('${region: $sum($map($, function($r){$r.qty * $r.price}))}', rows), asGroups);
await measure('path-filter', 'jmespath.js', () => jmespath.search(rows, '[?qty >= `500`].id'));
await measure('path-filter', 'jsonpath-plus', () => JSONPath({ path: '$[?(@.qty >= 500)].id', json: rows }));
