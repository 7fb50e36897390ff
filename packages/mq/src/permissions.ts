import { EXCHANGES, ROUTES, type RoutedApp, type Routes } from '@dueline/contracts';
import { TransientError } from '@dueline/kernel';
import { type BrokerAddress, createManagement, type Management } from './management.ts';
import { RETRY_EXCHANGE } from './topology.ts';

/** What a user of the broker may do in a vhost; regular expressions on names, as RabbitMQ takes them. */
export interface BrokerPermissions {
  readonly configure: string;
  readonly write: string;
  readonly read: string;
  /** To which routing keys of a topic exchange it may publish. */
  readonly topics: readonly { readonly exchange: string; readonly write: string; readonly read: string }[];
}

export const ROUTED_APPS = Object.keys(ROUTES) as readonly RoutedApp[];

const NOTHING = '^$';
/** Exactly these names; of none, nothing. */
const only = (names: readonly string[]): string =>
  names.length === 0 ? NOTHING : `^(${names.map((name) => name.replaceAll('.', '\\.')).join('|')})$`;

/**
 * The permissions of an app: it publishes to its queues and consumes its queues, and makes, changes and deletes nothing. The topology is
 * declared by a user of its own; that it is there is looked at passively, which needs no permission.
 */
export function permissionsOf(app: RoutedApp): BrokerPermissions {
  const { publishes, consumes }: Routes = ROUTES[app];
  const exchanges = Object.values(EXCHANGES).filter((name) => publishes.some(({ exchange }) => exchange === name));
  const tier = consumes.some(({ tick }) => tick === undefined) ? [RETRY_EXCHANGE] : [];
  const keysOf = (exchange: string) => publishes.filter((queue) => queue.exchange === exchange).map(({ name }) => name);
  return {
    configure: NOTHING,
    write: only([...exchanges, ...tier]),
    read: only(consumes.map(({ name }) => name)),
    topics: exchanges.map((exchange) => ({ exchange, write: only(keysOf(exchange)), read: NOTHING })),
  };
}

export interface BrokerUser {
  readonly app: RoutedApp;
  readonly user: string;
  /** Left as it is when not given; then the user must be there. */
  readonly password?: string;
}

/**
 * Makes the users of apps in a broker, each with the permissions of its app in the vhost of `address` and no others; repeats change nothing
 * but passwords.
 *
 * @throws TransientError when the management API cannot be reached or refuses; its user must be an administrator.
 */
export async function grantBrokerUsers(address: BrokerAddress, users: readonly BrokerUser[]): Promise<void> {
  const management = createManagement(address);
  await Promise.all(users.map((user) => grantUser(management, user)));
}

async function grantUser(management: Management, { app, user, password }: BrokerUser): Promise<void> {
  if (password !== undefined) await management.put(['users', user], { password, tags: '' });
  const { topics, ...permissions } = permissionsOf(app);
  await management.put(['permissions', management.vhost, user], permissions);
  await deleteIfThere(management, ['topic-permissions', management.vhost, user]);
  for (const topic of topics) await management.put(['topic-permissions', management.vhost, user], topic);
}

/** Removes users of apps. @throws TransientError when the management API cannot be reached or refuses. */
export async function removeBrokerUsers(address: BrokerAddress, users: readonly string[]): Promise<void> {
  const management = createManagement(address);
  await Promise.all(users.map((user) => deleteIfThere(management, ['users', user])));
}

async function deleteIfThere(management: Management, path: readonly string[]): Promise<void> {
  try {
    await management.delete(path);
  } catch (error) {
    if (!(error instanceof TransientError) || error.context.status !== 404) throw error;
  }
}

/** Permissions of several users, as a definitions file has them. */
export interface PermissionDefinitions {
  readonly permissions: readonly object[];
  readonly topic_permissions: readonly object[];
}

/**
 * The same as a definitions file, which `rabbitmqctl import_definitions` and `load_definitions` add to what is there; without users, so
 * without passwords.
 *
 * @param userOf The user of each app; the app's name unless given.
 */
export const permissionsAsDefinitions = (
  vhost: string,
  userOf: (app: RoutedApp) => string = (app) => app,
): PermissionDefinitions => ({
  permissions: ROUTED_APPS.map((app) => {
    const { configure, write, read } = permissionsOf(app);
    return { user: userOf(app), vhost, configure, write, read };
  }),
  topic_permissions: ROUTED_APPS.flatMap((app) =>
    permissionsOf(app).topics.map((topic) => ({ user: userOf(app), vhost, ...topic })),
  ),
});
