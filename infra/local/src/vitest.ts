import 'vitest';

declare module 'vitest' {
  /** What the global setup gives to every integration test by `inject`. */
  export interface ProvidedContext {
    /** The database `postgres`, as a role that may create databases. */
    postgresUrl: string;
    /** A migrated database to clone; nobody may connect to it. */
    templateDatabase: string;
    /** The virtual host `/`; make one per test file. */
    amqpUrl: string;
    amqpManagementUrl: string;
    redisUrl: string;
    /** By what each app logs in at the database; its rights are those of its role. */
    appLogins: Readonly<Record<string, { readonly user: string; readonly password: string }>>;
  }
}

/** The keys that the global setup provides. */
export type ProvidedServices = Pick<
  import('vitest').ProvidedContext,
  'postgresUrl' | 'templateDatabase' | 'amqpUrl' | 'amqpManagementUrl' | 'redisUrl' | 'appLogins'
>;
