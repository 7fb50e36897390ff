import type { AlertCase } from './alert-cases/alert-case.ts';
import { AROUND } from './alert-cases/around.ts';
import { DECIDING } from './alert-cases/deciding.ts';
import { LINE_DELIVERY } from './alert-cases/doing.ts';
import { EVERY_SERVICE } from './alert-cases/every-service.ts';

/** Each alert once, by topic. */
export const ALERT_CASES: readonly AlertCase[] = [...EVERY_SERVICE, ...DECIDING, ...LINE_DELIVERY, ...AROUND];
