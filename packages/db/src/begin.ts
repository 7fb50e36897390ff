import pg from 'pg';

/** The name under which a connection knows BEGIN from its first transaction on. */
const BEGIN = 'dueline_begin';
const NOTHING = { rows: [], rowCount: 0 };

interface Config {
  readonly text: string;
}
type Query = (config: unknown, values?: unknown, ...rest: unknown[]) => unknown;

/**
 * Lets BEGIN travel with the first statement of its transaction instead of alone: of the four round trips of a short transaction
 * one is saved on both sides. Both stand before the same Sync, or in the same simple query, so that the server skips the
 * statement when BEGIN failed. A transaction without statements sends nothing. Only for BEGIN as {@link inTransaction} says it.
 */
export function beginWithFirst(client: pg.PoolClient): void {
  const query = client.query.bind(client) as unknown as Query;
  let isPrepared = false;
  let isPending = false;
  const begin = async (config: Config) => {
    if (isPrepared) isPending = true;
    else await query({ ...config, name: BEGIN }, []);
    isPrepared = true;
    return NOTHING;
  };
  const deferred: Query = (config, values, ...rest) => {
    if (!isConfig(config) || !Array.isArray(values)) return query(config, values, ...rest);
    if (config.text === 'begin') return begin(config);
    if (!isPending) return query(config, values, ...rest);
    isPending = false;
    if (config.text === 'commit' || config.text === 'rollback') return Promise.resolve(NOTHING);
    return values.length === 0 ? simply(query, config) : together(query, config, values);
  };
  client.query = deferred as unknown as pg.PoolClient['query'];
}

const isConfig = (config: unknown): config is Config =>
  typeof config === 'object' && config !== null && 'text' in config && typeof config.text === 'string';

/** The driver gives the results of several statements as an array. */
const withoutFirst = (results: unknown): unknown => {
  if (!Array.isArray(results)) return results;
  return results.length === 2 ? results[1] : results.slice(1);
};

const simply = async (query: Query, config: Config) =>
  withoutFirst(await query({ ...config, text: `begin; ${config.text}` }, []));

function together(query: Query, config: Config, values: unknown[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const first = new pg.Query(config, values, (error, result) => {
      if (error) reject(error);
      else resolve(withoutFirst(result));
    });
    const submit = first.submit.bind(first);
    first.submit = (connection) => {
      connection.stream.cork();
      try {
        connection.bind({ statement: BEGIN }, true);
        connection.execute(null, true);
        return submit(connection);
      } finally {
        connection.stream.uncork();
      }
    };
    query(first);
  });
}
