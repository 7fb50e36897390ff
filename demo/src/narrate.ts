import type { ReceiptRow } from '@dueline/line-simulator';
import type { Verdict } from './judge.ts';
import type { CampaignResult } from './observe.ts';
import type { Stack } from './stack/stack.ts';
import { ALL_ACCOUNTS, type Cause } from './story.ts';

export interface Narrator {
  line(text: string): void;
  /** From now on nothing is told any more. */
  hush(): void;
  cause(cause: Cause): void;
  /** Time has moved ahead. */
  time(now: string): void;
  receipts(receipts: readonly ReceiptRow[]): void;
  result(verdict: Verdict, ledger: Ledger): void;
}

/** What the database says of the story. */
interface Ledger {
  readonly decisions: readonly { decision: string; reason: string; count: number }[];
  readonly campaigns: readonly CampaignResult[];
}

const nameOf = new Map(ALL_ACCOUNTS.map(({ channelId, name }) => [channelId, name]));

/** Tells the story to people, one line per happening, with the seconds since `begin` in front. */
export function createNarrator(write: (text: string) => void, { colours }: { colours: boolean }): Narrator {
  const begin = performance.now();
  const paint = (code: number, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
  const stamp = () => paint(90, `${((performance.now() - begin) / 1_000).toFixed(1).padStart(5)} s`);
  let hushed = false;
  const line = (text: string) => {
    if (!hushed) write(`${stamp()}  ${text}\n`);
  };
  return {
    line,
    hush: () => {
      hushed = true;
    },
    cause: ({ tell }) => line(paint(36, `· ${tell}`)),
    time: (now) => line(paint(35, `» the time machine moves on: it is ${now.replace('T', ' ').replace('Z', ' UTC')}`)),
    receipts: (receipts) => {
      for (const [what, count] of countBy(receipts, (receipt) => `${receipt.lid ?? 'unmarked'} ${receipt.channelId}`)) {
        const [lid = '', channelId = ''] = what.split(' ');
        line(
          `  ${paint(32, `LINE delivered ${String(count).padStart(4)} × ${lid.padEnd(13)}`)} ${nameOf.get(channelId) ?? channelId}`,
        );
      }
    },
    result: (verdict, { decisions, campaigns }) => {
      write('\n');
      for (const row of resultRows(verdict)) write(`  ${row}\n`);
      for (const { name, status, requests, doneAfterMs } of campaigns)
        write(
          `  ${name.padEnd(11)} ${status} in ${requests} requests, the last one ${doneAfterMs} ms after its time\n`,
        );
      write(`\n  What trigger_log says:\n`);
      for (const { decision, reason, count } of decisions)
        write(`    ${String(count).padStart(5)}  ${decision} (${reason})\n`);
      write(
        `\n  ${verdict.ok ? paint(32, 'Everything arrived exactly once, on time.') : paint(31, 'This is not what was planned.')}\n`,
      );
    },
  };
}

function countBy(receipts: readonly ReceiptRow[], keyOf: (receipt: ReceiptRow) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const receipt of receipts) counts.set(keyOf(receipt), (counts.get(keyOf(receipt)) ?? 0) + 1);
  return counts;
}

function resultRows(verdict: Verdict): string[] {
  const { latenessMs, waits, loops } = verdict;
  return [
    `planned     ${verdict.planned} messages, and ${verdict.cancelledPlanned} reminders to be cancelled`,
    `received    ${verdict.received}    lost ${verdict.lost}    duplicates ${verdict.duplicates}    unexpected ${verdict.unexpected}`,
    `cancelled   ${verdict.cancelled} reminders, because the cart was paid when they came due`,
    `waits       ${waits.unlocked} ended by a click, ${waits.expired} expired after three days, ${waits.late} clicks too late`,
    `loops       ${loops} of ${verdict.loopsPlanned} stopped: rules that fed each other, after ten turns`,
    `lateness    p50 ${latenessMs.p50} ms    p99 ${latenessMs.p99} ms    early ${verdict.early}`,
    `violations  ${verdict.violations} of LINE's contract`,
  ];
}

/** What people can do while the demo stays up. */
export function invitation(stack: Stack): string {
  return `
  The demo stays up until Ctrl-C. Try it yourself, with psql or any other client: make one user of each account Gold and watch.
  (Once per user: their frequency is 'once'.)

    psql '${stack.databaseUrl}' -c \\
      "update line_user set attributes = attributes || '{\\"tier\\": \\"gold\\"}' where display_name = 'User 900'"

  From another terminal, ./dueline time +3d moves the product's clock and LINE's: whatever waits for a later day comes due. The other
  commands find the database of this demo after:

    eval "$(./dueline demo --env)"

  docs/tour.md goes on from here.

  Health and metrics: ${[...stack.apps.values()].map(({ name, url }) => `${name} ${url()}/metrics`).join('\n                      ')}
`;
}
