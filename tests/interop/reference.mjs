// The reference implementation, asked by the test `interop`: one JSON document a line in, one a line out.
//
// In: {document, input, runId, steps: [{now?, event?}], ours: [{step, snapshot}]}. The run is made undisturbed, one call
// of `run` a step, and each snapshot of ours is resumed at its step, over a store that holds it.
// Out: {run: Told, resumed: [Told]} with Told = {saves: [{step, snapshot}], ends: [{status, result} | {error}]}.

import { createInterface } from 'node:readline';
import { compileWorkflow } from '@jarenjs/flow';

const handlers = {
  echo: ({ input }) => input,
  with: (props) => props.with ?? null,
  both: (props) => ({ with: props.with ?? null, input: props.input ?? null }),
  add1: ({ input }) => {
    if (typeof input !== 'number') throw new Error('not a number');
    return input + 1;
  },
  fail: () => {
    throw new Error('boom');
  },
  null: () => null,
};

const tasks = Object.fromEntries(
  Object.entries(handlers).map(([name, run]) => [name, { version: '1', run: async (props) => run(props) }]),
);

function told(error) {
  const { code, docPath, nodeId } = error;
  return { error: { code: code ?? String(error), docPath: docPath ?? null, nodeId: nodeId ?? null } };
}

async function make({ document, input, runId, steps }, from) {
  const saves = [];
  let stored = from?.snapshot ?? null;
  let step = from?.step ?? 0;
  const store = {
    load: () => stored,
    save: (_, snapshot, expected) => {
      if ((stored?.generation ?? 0) !== expected) return false;
      stored = JSON.parse(JSON.stringify(snapshot));
      saves.push({ step, snapshot: stored });
      return true;
    },
  };
  const ends = [];
  const workflow = compileWorkflow(document, { tasks, store });
  for (; step < steps.length; step += 1) {
    try {
      const { status, result } = await workflow.run(input, { runId, ...steps[step] });
      ends.push({ status, result });
    } catch (error) {
      ends.push(told(error));
    }
  }
  return { saves, ends };
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const run = await make(asked, null);
  const resumed = [];
  for (const from of asked.ours) resumed.push(await make(asked, from));
  process.stdout.write(`${JSON.stringify({ run, resumed })}\n`);
}
