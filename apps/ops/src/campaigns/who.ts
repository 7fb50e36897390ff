import type { AccountName } from '@dueline/accounts';
import { findPerson, type LeftOut, type PersonAnswer, type PersonRequest } from '@dueline/campaigns';
import { PermanentError } from '@dueline/kernel';
import { UsageError } from '../actions/command-line.ts';
import { timeIn } from '../actions/table.ts';
import { idOf, type Subcommand } from './subcommand.ts';

export const whoSubcommand: Subcommand = {
  takes: '<id> <LINE user id>',
  about: 'whether this person got it: when, with which request of LINE, under which key; if not, why',
  workOf(typed) {
    const [id, userId, ...others] = typed.ids;
    const campaignId = idOf({ ...typed, ids: id === undefined ? [] : [id] });
    if (userId === undefined || others.length > 0) throw new UsageError('who needs one campaign and one person');
    return async (db, account) => {
      const answer = await findPerson(db, account, { campaignId, userId });
      if (answer === undefined)
        throw new PermanentError(`there is no campaign ${campaignId} in account ${account.lineOaId}`);
      return { json: answer, lines: answerLines(account, answer), isWhole: true };
    };
  },
};

const SAYS: Readonly<Record<PersonAnswer['outcome'], string>> = {
  accepted: 'yes: LINE took it for this person',
  invalid: 'no: LINE takes the message, but not this person',
  refused: 'no: LINE refused the request that this person is in',
  unknown: 'nobody knows: LINE may have taken the request that this person is in',
  expired: 'no: the request that this person is in was too late',
  cancelled: 'no: the request that this person is in was cancelled',
  open: 'not yet: the request that this person is in is not at its end',
  left_out: 'no: this person is in none of its requests',
  not_started: 'not yet: it has not begun',
};

const WHY: Readonly<Record<LeftOut, string>> = {
  stranger: 'the account knows no such person',
  excluded: 'the campaign leaves this person out, by name or by an audience',
  not_in_audience: 'this person is not in its audience',
  joined_later: 'this person joined its audience after the start',
  blocked: 'this person has blocked the account, or is no friend of it',
  not_then: 'at the start this person was no friend, or in an audience that was left out; now it is otherwise',
};

function answerLines(account: AccountName, answer: PersonAnswer): string[] {
  const { outcome, why, castType, isFriend, request } = answer;
  const says =
    outcome === 'not_started' && why !== null
      ? `${SAYS.not_started}, and would not reach this person now`
      : SAYS[outcome];
  return [
    `campaign ${answer.campaignId}, ${answer.userId}: ${says}`,
    ...(why === null ? [] : [`why: ${WHY[why]}`]),
    ...(castType === 'broadcast' && request !== null
      ? ['a broadcast goes to whoever is a friend: whether this person was one, LINE alone knows']
      : []),
    ...(outcome === 'accepted' && !isFriend
      ? ['as far as we know this person is no friend now, and may not have seen it']
      : []),
    ...(request === null ? [] : requestLines(account, request)),
  ];
}

function requestLines({ timezone }: AccountName, request: PersonRequest): string[] {
  const part = request.splitPath === '' ? '' : `, part ${request.splitPath}`;
  const reason = request.reasonCode === null ? '' : `: ${request.reasonCode}`;
  const facts: [string, string | null][] = [
    ['request', `${request.chunkNo}${part} (${request.endpoint}), ${request.status}${reason}`],
    ['key', request.retryKey],
    ['accepted', request.acceptedAt === null ? null : timeIn(timezone, request.acceptedAt)],
    ['LINE request', request.lineRequestId],
    ['of before', request.lineAcceptedRequestId],
    ...request.attempts.map(({ attemptNo, outcome, startedAt, lineRequestId, retryKey }): [string, string] => [
      `attempt ${attemptNo}`,
      [
        timeIn(timezone, startedAt),
        outcome ?? 'nobody knows',
        lineRequestId ?? '-',
        retryKey === request.retryKey ? '' : `key ${retryKey}`,
      ]
        .join('  ')
        .trimEnd(),
    ]),
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [`  ${name.padEnd(14)}${value}`]));
}
