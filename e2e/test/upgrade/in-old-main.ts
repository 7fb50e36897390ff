import { readFileSync } from 'node:fs';
import { createCampaign } from '@dueline/campaigns';
import { scheduleAsSeen } from '@dueline/campaigns/testing';
import { openDatabase } from '@dueline/db';
import { unreadable } from './read-messages.ts';

// What the kept release makes of things, run from its sources, where this file is copied to.
const [command, first = '', second = ''] = process.argv.slice(2);

/** A broadcast to the friends of an account, scheduled for now. */
async function broadcast(channelId: string, lid: string): Promise<void> {
  const { db, close } = openDatabase({
    ...{ url: process.env.DATABASE_URL ?? '', applicationName: 'old', maxConnections: 1, onError: () => undefined },
  });
  const { rows } = await db.$client.query<{ organizationId: string; lineOaId: string; now: string }>(
    `select organization_id::text as "organizationId", id::text as "lineOaId",
            to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as now from line_oa where channel_id = $1`,
    [channelId],
  );
  const [account] = rows;
  if (account === undefined) throw new Error(`there is no account ${channelId}`);
  const { now, ...tenant } = account;
  const messages = [{ type: 'text' as const, text: `hello [[lid:${lid}]]` }];
  const campaign = await createCampaign(db, tenant, { name: lid, castType: 'broadcast', messages });
  await scheduleAsSeen(db, tenant, { campaign, startDate: now });
  await close();
}

if (command === 'broadcast') await broadcast(first, second);
else process.stdout.write(JSON.stringify(unreadable(JSON.parse(readFileSync(first, 'utf8')))));
