// Steps and compiles of the JavaScript reference and of XState, on the same documents as crates/jaren-flow/benches/step.rs:
// the first guard reads the payload and refuses, the second reads the context and leads on. usage: node bench.mjs
import { createMachine, createActor, initialTransition, transition } from 'xstate';
import { compileFsm, compileStatechart } from '@jarenjs/flow';

const SIZES = [5, 50, 500];
const first = { $lt: ['$.payload.n', 0] };
const second = { $ge: ['$.context.count', 0] };
const payload = { n: 5 };
const context = { count: 1 };

function best(times, run) {
  run(Math.max(1, times / 10));
  let ns = Infinity;
  for (let round = 0; round < 7; round++) {
    const start = process.hrtime.bigint();
    run(times);
    ns = Math.min(ns, Number(process.hrtime.bigint() - start) / times);
  }
  return ns;
}

const steps = (peer, states, times, run) =>
  console.log(JSON.stringify({ peer, states, ns_per_step: +best(times, run).toFixed(1) }));
const compiles = (peer, states, run) =>
  console.log(JSON.stringify({ peer, states, us_per_compile: +(best(states === 500 ? 3 : 30, run) / 1e3).toFixed(1) }));

const edges = (from, back, next) => [
  { from, event: 'go', guard: first, to: back },
  { from, event: 'go', guard: second, to: next },
];
const range = (count) => Array.from({ length: count }, (_, index) => index);
const document = ($fsm, initial, states, transitions) => ({ $fsm, initial, states, transitions });

function ring(version, size) {
  const id = (index) => `s${index % size}`;
  return document(version, 's0', range(size).map((i) => ({ id: id(i) })), range(size).flatMap((i) => edges(id(i), 's0', id(i + 1))));
}
function nested(size) {
  const flat = ring('0.2', size);
  const above = [{ id: 'a', initial: 'b' }, { id: 'b', parent: 'a', initial: 'c' }, { id: 'c', parent: 'b', initial: 's0' }];
  return { ...flat, initial: 'a', states: [...above, ...flat.states.map((state) => ({ ...state, parent: 'c' }))] };
}
function parallel(size) {
  const states = [{ id: 'all', type: 'parallel' }];
  const transitions = [];
  for (const region of range(size / 5)) {
    const id = (index) => `r${region}s${index % 5}`;
    states.push({ id: `r${region}`, parent: 'all', initial: id(0) }, ...range(5).map((i) => ({ id: id(i), parent: `r${region}` })));
    transitions.push(...range(5).flatMap((i) => edges(id(i), id(0), id(i + 1))));
  }
  return document('0.2', 'all', states, transitions);
}
function history(size) {
  const flat = ring('0.2', size);
  const around = [{ id: 'in', initial: 's0' }, { id: 'memory', parent: 'in', history: 'deep' }, { id: 'out' }];
  const ways = [
    { from: 'in', event: 'out', guard: second, to: 'out' },
    { from: 'out', event: 'back', guard: second, to: 'memory' },
  ];
  return document('0.2', 'in', [...around, ...flat.states.map((state) => ({ ...state, parent: 'in' }))], [...ways, ...flat.transitions]);
}

// The same for XState.
const go = (back, next) => [
  { guard: ({ event }) => event.n < 0, target: back },
  { guard: ({ context }) => context.count >= 0, target: next },
];
const ringStates = (size, id) =>
  Object.fromEntries(range(size).map((i) => [id(i), { on: { go: go(id(0), id(i + 1)) } }]));
function xstate(shape, size) {
  const id = (index) => `s${index % size}`;
  switch (shape) {
    case 'nested': return { initial: 'a', states: { a: { initial: 'b', states: { b: { initial: 'c', states: { c: { initial: 's0', states: ringStates(size, id) } } } } } } };
    case 'parallel': return { type: 'parallel', states: Object.fromEntries(range(size / 5).map((region) => [`r${region}`, { initial: `r${region}s0`, states: ringStates(5, (i) => `r${region}s${i % 5}`) }])) };
    case 'history': return { initial: 'in', states: {
      in: { initial: 's0', states: { ...ringStates(size, id), memory: { type: 'history', history: 'deep' } }, on: { out: [{ guard: ({ context }) => context.count >= 0, target: 'out' }] } },
      out: { on: { back: [{ guard: ({ context }) => context.count >= 0, target: '#m.in.memory' }] } },
    } };
    default: return { initial: 's0', states: ringStates(size, id) };
  }
}

for (const size of SIZES) {
  const machineDocument = ring('0.1', size);
  const machine = compileFsm(machineDocument);
  let state = 's0';
  steps('reference-machine.step', size, 200000, (k) => {
    for (let i = 0; i < k; i++) state = machine.step(state, 'go', { payload, context }).state;
  });
  compiles('reference-compile-machine', size, (k) => { for (let i = 0; i < k; i++) compileFsm(machineDocument); });
  compiles('reference-compile-statechart', size, (k) => { for (let i = 0; i < k; i++) compileStatechart(ring('0.2', size)); });
  for (const [shape, document] of [['', ring('0.2', size)], ['-nested', nested(size)], ['-parallel', parallel(size)], ['-history', history(size)]]) {
    const events = shape === '-history' ? ['out', 'back'] : ['go', 'go'];
    const chart = compileStatechart(document);
    let snapshot = chart.start({ now: 0 }).state;
    let turn = 0;
    const many = shape === '-parallel' ? 10000 / size ** 1.5 : 100000 / size;
    steps(`reference-statechart${shape}.step`, size, Math.max(10, Math.round(many)), (k) => {
      for (let i = 0; i < k; i++) { snapshot = chart.step(snapshot, events[turn], { payload, context }).state; turn ^= 1; }
    });
    const config = createMachine({ id: 'm', context, ...xstate(shape.slice(1), size) });
    const actor = createActor(config).start();
    turn = 0;
    steps(`xstate${shape}.send`, size, Math.max(10, Math.round(many)), (k) => {
      for (let i = 0; i < k; i++) { actor.send({ type: events[turn], n: 5 }); turn ^= 1; }
    });
    if (shape) continue;
    let [pure] = initialTransition(config);
    steps('xstate.transition', size, 5000, (k) => { for (let i = 0; i < k; i++) [pure] = transition(config, pure, { type: 'go', n: 5 }); });
  }
}
