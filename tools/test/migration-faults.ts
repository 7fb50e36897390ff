import type { Fault } from './faults.ts';

const FOLDER = 'packages/db/migrations';

const migration = (number: number, sql: string, says: string): Fault => {
  const path = `${FOLDER}/99${number}_planted.sql`;
  return { name: sql, plants: [{ path, change: () => `${sql};\n` }], says: [path, says] };
};

const released = `${FOLDER}/0002_accounts.sql`;

export const MIGRATION_FAULTS: readonly Fault[] = [
  migration(10, 'drop table campaign_pace', 'drops what the release before may use'),
  migration(11, 'create function f() returns int language sql as $$ select 1 $$; drop function f', 'drops what'),
  migration(12, 'alter table delivery drop column body', 'drops a column'),
  migration(13, 'alter table delivery\n  add column note text,\n  drop if exists body', 'drops a column'),
  migration(14, 'alter table delivery rename column body to content', 'renames'),
  migration(15, 'alter table delivery alter column body type jsonb using body::jsonb', 'changes the type'),
  migration(16, 'alter table line_user alter display_name set not null', 'makes a column mandatory'),
  migration(17, 'alter table line_user add column age int not null', 'adds a mandatory column'),
  migration(18, 'alter table event_outbox drop constraint event_outbox_topic_known', 'drops a constraint'),
  migration(19, 'drop index scheduled_action_open_key', 'drops a unique index'),
  migration(20, '-- contract after 0.1.0: nobody reads it\ndrop table campaign_pace', 'keep a later release first'),
  {
    name: 'a released migration that is edited',
    plants: [{ path: released, change: (before) => `${before}-- one more word\n` }],
    says: [released, 'is changed'],
  },
];
