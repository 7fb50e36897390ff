import { expect, test } from 'vitest';
import { createGate } from '../src/gate.ts';

/** Work that says when it begins and ends, and ends when it is told to. */
function recorded() {
  const story: string[] = [];
  const work = (name: string) => {
    const end = Promise.withResolvers<void>();
    return {
      end: end.resolve,
      fail: end.reject,
      run: async () => {
        story.push(`${name}+`);
        await end.promise;
        story.push(`${name}-`);
        return name;
      },
    };
  };
  return { story, work };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('what is decided together runs side by side', async () => {
  const gate = createGate();
  const { story, work } = recorded();
  const [a, b] = [work('a'), work('b')];
  const both = Promise.all([gate.together(a.run), gate.together(b.run)]);
  await settle();
  expect(story).toEqual(['a+', 'b+']);
  a.end();
  b.end();
  expect(await both).toEqual(['a', 'b']);
});

test('what is decided alone waits for all that came before it, and all that comes after waits for it', async () => {
  const gate = createGate();
  const { story, work } = recorded();
  const [a, b, c, d] = [work('a'), work('b'), work('c'), work('d')];
  const all = Promise.all([gate.together(a.run), gate.alone(b.run), gate.alone(c.run), gate.together(d.run)]);
  for (const { end } of [a, b, c, d]) {
    await settle();
    end();
  }
  await all;
  expect(story).toEqual(['a+', 'a-', 'b+', 'b-', 'c+', 'c-', 'd+', 'd-']);
});

test('work that fails holds nobody up, and its error is its caller’s', async () => {
  const gate = createGate();
  const { work } = recorded();
  const [a, b] = [work('a'), work('b')];
  const failing = [gate.together(a.run), gate.alone(b.run)];
  a.fail(new Error('a'));
  b.fail(new Error('b'));
  expect(await Promise.allSettled(failing)).toMatchObject([{ reason: { message: 'a' } }, { reason: { message: 'b' } }]);
  expect(await gate.together(async () => 'c')).toBe('c');
});
