import { APPS_WITH_ROLES, type AppWithRole, makeLogins } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { grantBrokerUsers, ROUTED_APPS } from '@dueline/mq';
import {
  amqpUrlOf,
  databaseUrlOf,
  loadLoginsConfig,
  loadMigrateConfig,
  loadTopologyConfig,
  loginsSchema,
} from './config.ts';

interface Login<App extends AppWithRole> {
  readonly app: App;
  readonly user: string;
  readonly password: string;
}

/** Makes the login of each app at the database and at the broker what the URL of the app says, with the rights of the app and no others. */
export async function applyLogins(env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<void> {
  const { DATABASE_URL, DATABASE_URL_DIRECT: url = DATABASE_URL } = loadMigrateConfig(env);
  const { AMQP_URL, AMQP_MANAGEMENT_URL: managementUrl } = loadTopologyConfig(env);
  const urls = loadLoginsConfig(env);
  const database = loginsIn(APPS_WITH_ROLES, (app) => urls[databaseUrlOf(app)]);
  const broker = loginsIn(ROUTED_APPS, (app) => urls[amqpUrlOf(app)]);
  if (database.length + broker.length === 0)
    throw new PermanentError(`no app's URL is given: ${Object.keys(loginsSchema.shape).join(', ')}`);
  refuseShared('the database', database, [url]);
  refuseShared('the broker', broker, [AMQP_URL, managementUrl]);
  await makeLogins({ url, logins: database });
  await grantBrokerUsers({ url: AMQP_URL, managementUrl }, broker);
  print(`the database knows ${listed(database)}; the broker knows ${listed(broker)}`);
}

function loginsIn<App extends AppWithRole>(
  apps: readonly App[],
  urlOf: (app: App) => string | undefined,
): readonly Login<App>[] {
  return apps.flatMap((app) => {
    const url = urlOf(app);
    return url === undefined ? [] : [{ app, ...loginOf(url) }];
  });
}

const loginOf = (url: string) => {
  const { username, password } = new URL(url);
  return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
};

/** Each app has a name of its own, so that what one may do is not what another one may; and none is whoever makes them. */
function refuseShared(where: string, logins: readonly Login<AppWithRole>[], makers: readonly string[]): void {
  const taken = new Map(makers.map((url) => [loginOf(url).user, 'whoever prepares it']));
  for (const { app, user } of logins) {
    const other = taken.get(user);
    if (other !== undefined)
      throw new PermanentError(`at ${where}, ${app} and ${other} are both "${user}": give ${app} a login of its own`);
    taken.set(user, app);
  }
}

const listed = (logins: readonly Login<AppWithRole>[]): string =>
  logins.length === 0 ? 'no app' : logins.map(({ app }) => app).join(', ');
