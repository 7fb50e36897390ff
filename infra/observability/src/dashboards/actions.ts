import { type Dashboard, OF, perSecond, quantile } from '../dashboard.ts';

/** Work that waits, comes due and is decided. */
export const actions: Dashboard = {
  uid: 'dueline-actions',
  title: 'Dueline: actions',
  description: 'Work that waits, comes due and is decided.',
  rows: [
    {
      title: 'On time',
      panels: [
        {
          title: 'Lateness',
          description: 'How long after its time an action was decided: half of them, 99 and 999 in 1,000.',
          kind: 'timeseries',
          unit: 's',
          queries: [
            { expr: quantile(0.5, 'dueline_action_lateness_seconds'), legend: 'half' },
            { expr: quantile(0.99, 'dueline_action_lateness_seconds'), legend: '99 in 100' },
            { expr: quantile(0.999, 'dueline_action_lateness_seconds'), legend: '999 in 1,000' },
          ],
        },
        {
          title: 'Oldest due action',
          description: 'For how long the oldest due action of a working account has waited to be taken.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: `max(dueline_actions_oldest_due_seconds{${OF}})`, legend: 'oldest' }],
        },
        {
          title: 'Due, in hand, stuck',
          description:
            'Actions that are due and not taken (of paused accounts too), claimed and not decided, and claimed past their lease. Each counts up to 10,000.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `max(dueline_actions_due{${OF}})`, legend: 'due' },
            { expr: `max(dueline_actions_processing{${OF}})`, legend: 'in hand' },
            { expr: `max(dueline_actions_stuck{${OF}})`, legend: 'stuck' },
          ],
        },
        {
          title: 'Decisions about what was due',
          description:
            'What became of actions that were due: done (fired), cancelled because a condition turned false, put off, failed.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            {
              expr: perSecond('dueline_decisions_total', 'decision', ',kind="scheduled_action"'),
              legend: '{{decision}}',
            },
          ],
        },
      ],
    },
    {
      title: 'How it is found',
      panels: [
        {
          title: 'Claimed for the queue',
          description:
            'Due actions that a scheduler claimed and announced; what trigger-worker takes by itself is not among them.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_actions_claimed_total', 'job'), legend: '{{job}}' }],
        },
        {
          title: 'Hints',
          description: 'Notifications and reconnects that said that something may be there, by channel.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_wakeups_total', 'channel, source'), legend: '{{channel}} {{source}}' }],
        },
        {
          title: 'Rows taken back',
          description:
            'Rows that were taken back from workers which died or were too slow, by kind. A restart brings a few.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_rows_recovered_total', 'what'), legend: '{{what}}' }],
        },
        {
          title: 'Tickets that were lost',
          description:
            'Claimed actions given back because their tickets were gone from the broker, by how that was known.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_actions_released_total', 'why'), legend: '{{why}}' }],
        },
      ],
    },
  ],
};
