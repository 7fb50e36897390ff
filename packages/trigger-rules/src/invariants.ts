import { type Invariant, sql } from '@dueline/db';

/** Longer than any transaction lives: one that began before a rule was deleted may end after. */
const DECISION_SECONDS = 60;

/** What must be true of rules and their history. */
export const TRIGGER_RULE_INVARIANTS: readonly Invariant[] = [
  {
    id: 'I23',
    says: 'a rule that was deleted before the decision has no effect',
    offending: ({ historyDays }) => sql`
      select format('trigger_log %s: rule %s, deleted %s, %s %s', log.id, rule.id, rule.deleted_date, log.decision, log.created_date) as what
        from trigger_log as log join trigger_rule as rule on rule.id = log.trigger_rule_id
       where log.decision in ('fired', 'scheduled')
         and log.created_date > app_now() - make_interval(days => ${historyDays})
         and log.created_date > rule.deleted_date + make_interval(secs => ${DECISION_SECONDS})`,
  },
  {
    id: 'I33',
    says: 'a rule that only observed, or was a draft, has no effect',
    offending: ({ historyDays }) => sql`
      select format('trigger_log %s: rule %s, version %s, %s, %s', log.id, log.trigger_rule_id, log.rule_version, version.snapshot ->> 'mode', log.decision) as what
        from trigger_log as log
        join trigger_rule_version as version on version.trigger_rule_id = log.trigger_rule_id and version.version = log.rule_version
       where log.decision in ('fired', 'scheduled')
         and log.created_date > app_now() - make_interval(days => ${historyDays})
         and version.snapshot ->> 'mode' <> 'live'`,
  },
];
