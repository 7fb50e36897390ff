import { recordDeed, type Signed } from '@dueline/accounts';
import { inTenant } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import {
  cancelEnrolment,
  confirmEnrolment,
  type Enrolment,
  listEnrolments,
  type RuleSummary,
  startEnrolment,
} from '@dueline/trigger-rules';
import { UsageError } from '../actions/command-line.ts';
import { oneLine, tableOf } from '../actions/table.ts';
import { ID } from '../id.ts';
import type { Work } from '../person-command.ts';

/** People a minute unless somebody says otherwise: ten a second. */
const PER_MINUTE = 600;

/** People a minute. @throws UsageError when that is no number. */
export function paceOf(perMinute: string | undefined): number {
  if (perMinute !== undefined && !/^[1-9]\d{0,5}$/.test(perMinute))
    throw new UsageError('--per-minute is a number of people');
  return Number(perMinute ?? PER_MINUTE);
}

/** Begins to count who matches a rule already. */
export function startWork(rule: RuleSummary, { pace, signed }: { pace: number; signed: Signed }): Work {
  return (db, account) =>
    inTenant(db, account, async (tx) => {
      const id = await startEnrolment(tx, account, { ruleId: rule.id, perMinute: pace, startedBy: signed.by });
      await recordDeed(tx, account, {
        operation: 'rule_enrol',
        before: {},
        after: { id, ruleId: rule.id, pace },
        ...signed,
      });
      const lines = [
        `enrolment ${id}: who matches rule ${rule.id} is counted; ./dueline rules enrolments tells how many,`,
        `and ./dueline rules enrol-confirm ${id} lets them enter, ${pace} a minute`,
      ];
      return { json: { id, ruleId: rule.id, perMinute: pace }, lines, isWhole: true };
    });
}

export const enrolmentsWork: Work = async (db, account) => {
  const enrolments = await listEnrolments(db, account);
  const head = ['id', 'rule', 'version', 'status', 'looked at', 'match', 'entered', 'a minute'];
  const lines = enrolments.length === 0 ? ['nobody was ever enrolled'] : tableOf(head, enrolments.map(rowOf));
  return { json: { enrolments }, lines, isWhole: true };
};

const rowOf = (enrolment: Enrolment): string[] => {
  const { id, triggerRuleId, ruleVersion, reasonCode, examined, matched, entered, perMinute } = enrolment;
  const status = reasonCode === null ? enrolment.status : `${enrolment.status}, ${reasonCode}`;
  return [id, triggerRuleId, String(ruleVersion), status, ...[examined, matched, entered, perMinute].map(String)];
};

/** Lets those enter who were counted, or ends an enrolment. */
export function changeEnrolment(
  command: 'enrol-confirm' | 'enrol-cancel',
  { id, signed }: { id: string; signed: Signed },
): Work {
  if (!ID.test(id)) throw new UsageError(`${oneLine(id, 40)} is not the id of an enrolment`);
  const isConfirmed = command === 'enrol-confirm';
  return (db, account) =>
    inTenant(db, account, async (tx) => {
      const isDone = await (isConfirmed ? confirmEnrolment : cancelEnrolment)(tx, account, id);
      if (!isDone)
        throw new PermanentError(
          `enrolment ${id}: ${isConfirmed ? 'it is not counted' : 'there is none that goes on'}`,
        );
      await recordDeed(tx, account, { operation: command.replace('-', '_'), before: {}, after: { id }, ...signed });
      const says = isConfirmed ? 'people enter' : 'nobody else enters';
      return { json: { id, command }, lines: [`enrolment ${id}: ${says}`], isWhole: true };
    });
}
