import { CAMPAIGN } from './campaign.ts';
import type { Case } from './cases.ts';
import { CYCLE } from './cycle.ts';
import { DELIVERY } from './delivery.ts';
import { DISPATCH } from './dispatch.ts';
import { WAIT } from './wait.ts';

export const CASES: readonly Case[] = [...DISPATCH, ...DELIVERY, ...CAMPAIGN, ...WAIT, ...CYCLE];
