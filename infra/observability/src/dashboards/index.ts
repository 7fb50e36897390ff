import type { Dashboard } from '../dashboard.ts';
import { actions } from './actions.ts';
import { deliveries } from './deliveries.ts';
import { events } from './events.ts';
import { infrastructure } from './infrastructure.ts';
import { overview } from './overview.ts';

/** Every dashboard, the one to begin with first. */
export const DASHBOARDS: readonly Dashboard[] = [overview, actions, events, deliveries, infrastructure];
