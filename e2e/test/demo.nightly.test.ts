import { expect, test } from 'vitest';
import { demo } from './demo-support.ts';

test.for([
  ['duplicate', { duplicates: 1, lost: 0, early: 0 }],
  ['early', { duplicates: 0, lost: 0, early: 1 }],
] as const)('the check of the demo notices a planted %s', async ([plant, expected]) => {
  const { code, verdict } = await demo('--plant', plant);

  expect(verdict).toMatchObject({ ok: false, ...expected });
  expect(code).toBe(1);
});
