import type { Answer } from './compare.ts';
import {
  type Clock,
  compareWhen,
  dayOf,
  isAnniversary,
  isWithin,
  momentOf,
  type When,
  whenOf,
  zoneOf,
} from './date.ts';
import { type AnniversaryLeaf, MAX_TEXT_LENGTH, type MomentLeaf, type SpanLeaf } from './language.ts';

export function compareDate(leaf: MomentLeaf | SpanLeaf | AnniversaryLeaf, actual: unknown, clock: Clock): Answer {
  if (typeof actual !== 'string') return 'wrong_type';
  if (actual.length > MAX_TEXT_LENGTH) return 'too_long';
  const zone = zoneOf(clock, leaf.zone);
  const when = whenOf(actual, zone);
  if (when === undefined) return 'not_a_date';
  const today = { now: clock.now, zone };
  switch (leaf.op) {
    case 'in_last':
      return isWithin(when, leaf.value, { ...today, sign: -1 });
    case 'in_next':
      return isWithin(when, leaf.value, { ...today, sign: 1 });
    case 'anniversary':
      return isAnniversary(when, today);
    case 'before':
    case 'after':
    case 'on': {
      const moment = momentOf(leaf.value, today);
      return moment === undefined ? 'not_a_date' : compareMoment(leaf.op, { when, moment, zone });
    }
  }
}

function compareMoment(
  op: MomentLeaf['op'],
  { when, moment, zone }: { when: When; moment: When; zone: string },
): boolean {
  switch (op) {
    case 'before':
      return compareWhen(when, moment, zone) < 0;
    case 'after':
      return compareWhen(when, moment, zone) > 0;
    case 'on':
      return dayOf(when, zone).equals(dayOf(moment, zone));
  }
}
