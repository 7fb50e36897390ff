import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { addDatabaseLogins, newAppLogins, removeDatabaseLogins } from './app-logins.ts';
import { environment, stateFolder } from './config.ts';
import { provideServices } from './provide.ts';
import { createTemplate, dropTemplate } from './template.ts';
import type { ProvidedServices } from './vitest.ts';

interface Shared {
  users: number;
  started: Promise<{ provided: ProvidedServices; stop: () => Promise<void> }>;
}

// Vitest loads this file once for each project that names it, so only the process can hold what they share.
const holder = globalThis as { [key: symbol]: Shared | undefined };
const key = Symbol.for('dueline.local-services');

/** Gives the integration tests of a vitest run their services and a migrated template database, started once for all projects. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  holder[key] ??= { users: 0, started: start() };
  const shared = holder[key];
  shared.users += 1;
  const { provided, stop } = await shared.started;
  for (const name of Object.keys(provided) as (keyof ProvidedServices)[]) project.provide(name, provided[name]);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    holder[key] = undefined;
    await stop();
  };
}

async function start() {
  const services = await provideServices({ stateFolder, env: environment(), log: (line) => console.error(line) });
  const { databaseUrl, ...urls } = services.urls;
  const isShared = services.source === 'environment';
  const name = isShared ? `dueline_template_${randomBytes(4).toString('hex')}` : 'dueline_template';
  const template = { url: databaseUrl, name };
  const appLogins = newAppLogins(`test_${randomBytes(4).toString('hex')}`);
  try {
    await createTemplate(template);
    await addDatabaseLogins(databaseUrl, appLogins);
  } catch (error) {
    await services.stop();
    throw error;
  }
  return {
    provided: { postgresUrl: databaseUrl, templateDatabase: name, appLogins, ...urls },
    stop: async () => {
      if (isShared) await dropTemplate(template);
      if (isShared) await removeDatabaseLogins(databaseUrl, appLogins);
      await services.stop();
    },
  };
}
