import { column, sql } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';

test('a column reaches the server as it is, whatever its texts hold', async () => {
  await using own = await testDb();
  const texts = [
    '',
    'NULL',
    'null',
    'a,b',
    '{x}',
    '"',
    '\\',
    '\\"\\\\',
    ' edge ',
    'line\nfeed\ttab',
    'こんにちは 🎉',
    null,
  ];
  const numbers = [0, -1, 1.5e-7, 1e21, null];
  const { rows } = await own.db.execute(
    sql`select ${column(texts, 'text')} as texts, ${column(numbers, 'float8')} as numbers,
               ${column(['9223372036854775807', null], 'bigint')}::text[] as ids, ${column([], 'text')} as none`,
  );
  expect(rows).toEqual([{ texts, numbers, ids: ['9223372036854775807', null], none: [] }]);
});
