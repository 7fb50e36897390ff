import type { TextMessage } from '@dueline/contracts';
import { type Alongside, arrayLiteral, given, kindsOf, sql } from '@dueline/db';
import { DELIVER_WITHIN_HOURS, requestBody } from './insert.ts';
import { retryKey } from './retry-key.ts';

/** What one row of scheduled_action sends: a push to its person, in one request. */
export interface SendOfAction {
  readonly channelId: string;
  readonly scheduledActionId: string;
  readonly epoch: number;
  /** As the person gets them, nothing left to fill in; at most as many as one request takes. */
  readonly messages: readonly TextMessage[];
  readonly traceparent: string | undefined;
}

/**
 * The same as {@link createDeliveries} for rows of scheduled_action that are finished in the statement which it goes along with: reads
 * `moved (n, id, organization_id, line_oa_id, trigger_rule_id, event_id, root_id, user_id)`, and gives `(scheduled_action_id, id, fence)`.
 * What the row says of itself does not travel. Whoever moves a row holds it, and it ends, so that nobody else makes the same send, now or
 * before: one that is there already is an error, which the unique key raises, where to look for it first would cost each row more than the check.
 *
 * @param sends For each row by its place `n`, from 1 on; undefined: it sends nothing.
 */
export function createAlongside(sends: readonly (SendOfAction | undefined)[]): Alongside {
  const ends = new Map<SendOfAction['messages'], string>();
  const endOf = (messages: SendOfAction['messages']): string => {
    const end = ends.get(messages) ?? requestBody({ to: null, messages }).shared;
    ends.set(messages, end); // what says the same to everybody is mostly the very same object
    return end;
  };
  const { places, kinds } = kindsOf(sends, (send) => send && endOf(send.messages));
  const isTraced = sends.some((send) => send?.traceparent !== undefined);
  return {
    template: INSERT_ALONGSIDE,
    values: {
      send_end_of: places,
      send_ends: kinds,
      send_keys: arrayLiteral(sends.map((send) => (send === undefined ? null : retryKey(logicalSendOf(send))))),
      send_epochs: arrayLiteral(sends.map((send) => send?.epoch ?? null)),
      send_traces: isTraced ? arrayLiteral(sends.map((send) => send?.traceparent ?? null)) : '{}',
      send_hours: String(DELIVER_WITHIN_HOURS),
    },
  };
}

const logicalSendOf = ({ channelId, scheduledActionId, epoch }: SendOfAction) => ({
  ...({ channelId, kind: 'action', logicalId: scheduledActionId, epoch, endpoint: 'push' } as const),
  ...{ ordinal: 0, splitPath: '' },
});

/** The places that are null are rows that send nothing. The body is that of `requestBody`. */
const INSERT_ALONGSIDE = sql`
  insert into delivery (organization_id, line_oa_id, kind, logical_id, epoch, endpoint, user_id, trigger_rule_id, scheduled_action_id,
                        event_id, root_id, retry_key, body, body_sha256, traceparent, published_at, next_attempt_at, deliver_until)
  select organization_id, line_oa_id, 'action', id::text, epoch, 'push', user_id, trigger_rule_id, id, event_id, root_id, retry_key, body,
         encode(sha256(convert_to(body, 'UTF8')), 'hex'), traceparent, published_at, app_now(),
         app_now() + make_interval(hours => ${given('send_hours')}::integer)
    from (select clock_timestamp() as published_at offset 0) as moment
   cross join (
     select moved.*, (${given('send_epochs')}::integer[])[n] as epoch, (${given('send_keys')}::uuid[])[n] as retry_key,
            (${given('send_traces')}::text[])[n] as traceparent,
            '{"to":' || to_json(user_id)::text || ',' || (${given('send_ends')}::jsonb ->> (${given('send_end_of')}::integer[])[n]) as body
       from moved
      where (${given('send_end_of')}::integer[])[n] is not null
     offset 0) as send
  returning scheduled_action_id, id, fence`;
