import type { ExportRecord, RecipientState } from '@dueline/line-simulator';
import { type CampaignPlan, PREFIXES } from './plan.ts';
import { CHANNEL_IDS, peopleIn, type StagedCampaign } from './stage.ts';

/** Digits of a user id that tell the one from the other, in hex. */
const DIGITS = 8;

/**
 * Who of a campaign is in which state, by what the product says: a byte for a person. Knows the people from the plan, so that whoever
 * was never frozen is missed.
 */
export interface RollCall {
  readonly campaigns: readonly Roll[];
  note(record: ExportRecord): void;
  /** Everybody who was to be reached, as the checker of histories takes it. */
  planned(): Generator<ExportRecord>;
}

/** What is known of the people of one campaign. */
export interface Roll {
  readonly lid: string;
  readonly channelId: string;
  /** Undefined of a broadcast: those LINE alone knows. */
  readonly people: number | undefined;
  /** How many are in each state that ends. */
  readonly states: Partial<Record<RecipientState, number>>;
  /** People in no state that ends, by their number. */
  unexplained(): Generator<number>;
  /** People who are called invalid, and whom LINE takes. */
  readonly blamed: readonly number[];
  /** People in two requests that ended: they would have got it twice, had both been accepted. */
  readonly twice: readonly number[];
}

export function createRollCall(
  plan: Pick<CampaignPlan, 'recipients' | 'poisoned'>,
  staged: readonly StagedCampaign[],
): RollCall {
  const rolls = new Map(staged.map((campaign) => [campaign.lid, createRoll(plan, campaign)]));
  return {
    campaigns: [...rolls.values()].map(({ roll }) => roll),
    note: (record) => {
      if (record.kind === 'state') rolls.get(record.lid)?.note(record);
    },
    *planned() {
      for (const { roll, userAt } of rolls.values()) {
        const { lid, channelId, people } = roll;
        if (people === undefined) yield { kind: 'planned', channelId, lid, user: '*' };
        for (let n = 0; n < (people ?? 0); n += 1) yield { kind: 'planned', channelId, lid, user: userAt(n) };
      }
    },
  };
}

function createRoll(plan: Pick<CampaignPlan, 'recipients' | 'poisoned'>, { lid, to, castType }: StagedCampaign) {
  const people = castType === 'broadcast' ? undefined : peopleIn(plan)[to];
  const known = new Uint8Array(people ?? 0);
  const head = `U${PREFIXES[to]}`.padEnd(33 - DIGITS, '0');
  const states: Partial<Record<RecipientState, number>> = {};
  const poisoned = new Set(plan.poisoned);
  const blamed: number[] = [];
  const twice: number[] = [];
  return {
    userAt: (n: number) => head + n.toString(16).padStart(DIGITS, '0'),
    note: ({ user, state }: Extract<ExportRecord, { kind: 'state' }>) => {
      if (state === 'planned') return;
      states[state] = (states[state] ?? 0) + 1;
      const n = Number.parseInt(user.slice(-DIGITS), 16);
      if (user === '*') return;
      if (state === 'invalid' && !poisoned.has(user)) blamed.push(n);
      if (known[n] !== 0) twice.push(n);
      known[n] = 1;
    },
    roll: {
      ...{ lid, people, states, blamed, twice, channelId: CHANNEL_IDS[to] },
      *unexplained() {
        for (let n = 0; n < known.length; n += 1) if (known[n] === 0) yield n;
      },
    } satisfies Roll,
  };
}
