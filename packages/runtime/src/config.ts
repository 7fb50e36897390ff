import { hostname } from 'node:os';
import { ServiceError } from '@dueline/kernel';
import { z } from 'zod';
import { describeConfig, limitsOf } from './config-describe.ts';
import { variable } from './config-fields.ts';

/** The environment does not fit the schema. The message lists every variable, what is wrong and what is expected. */
export class ConfigError extends ServiceError {}

/** What every process of ours is told. Apps extend it with `baseConfig.extend({ … })`. */
export const baseConfig = z.object({
  DUELINE_ENV: z
    .enum(['production', 'test'])
    .default('production')
    .describe('`production` refuses the short leases, intervals and test seams that `test` allows.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Log lines below this level are not written.'),
  HTTP_HOST: z
    .string()
    .default('0.0.0.0')
    .describe('Address that health and metrics listen on; all of them by default, as probes come from outside.'),
  HTTP_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8080)
    .describe('Port of health and metrics; 0 takes any free one.'),
  SHUTDOWN_TIMEOUT_SECONDS: z.coerce
    .number()
    .positive()
    .max(3_600)
    .default(25)
    .describe(
      'Time for an ordered stop; after it the process ends with 1. Keep it below the grace of the orchestrator.',
    ),
  INSTANCE_NAME: variable(
    z
      .string()
      .max(200)
      .default(() => hostname()),
    {
      description:
        'Name of this process in logs, traces and claims: the same after a restart, and unlike that of any other living replica of the app, because a new boot takes back what its name had claimed.',
      defaultText: 'the host name',
    },
  ),
  DUELINE_VERSION: z
    .string()
    .max(100)
    .default('source')
    .describe('Version of this build, for metrics. The images say theirs; set it only where you run the sources.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Collector for traces (OTLP over HTTP); without it nothing is traced.'),
  DUELINE_PARENT_PID: z.coerce
    .number()
    .int()
    .positive()
    .optional()
    .describe('Process id of the starter: when that process is gone, this one ends within two seconds.'),
});

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The values of `schema`, read from `env`. Variables that the schema does not name are ignored; an empty or blank string
 * counts as not given. Unless DUELINE_ENV is `test`, limits that fields set for production hold (see `seconds`, `testOnly`).
 *
 * @throws ConfigError with all problems at once; it repeats no value, as some are secrets.
 */
export function parseConfig<Schema extends z.ZodObject>(schema: Schema, env: Env): z.output<Schema> {
  const given = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => name in schema.shape && value?.trim()),
  );
  const parsed = schema.safeParse(given);

  const problems = new Map<string, string>();
  for (const issue of parsed.error?.issues ?? []) {
    const name = String(issue.path[0] ?? 'configuration');
    const text = name in schema.shape && !(name in given) ? 'is missing' : issue.message;
    problems.set(name, problems.has(name) ? `${problems.get(name)}; ${text}` : text);
  }
  if (given.DUELINE_ENV !== 'test') {
    for (const [name, text] of productionProblems(schema, given)) if (!problems.has(name)) problems.set(name, text);
  }

  if (parsed.success && problems.size === 0) return parsed.data;
  throw new ConfigError(problemReport(schema, problems));
}

/** What fits the schema but not production. Fields are judged alone: one bad variable must not hide the others. */
function productionProblems(schema: z.ZodObject, given: Env): [string, string][] {
  return Object.entries(schema.shape).flatMap(([name, field]): [string, string][] => {
    const { testOnly, productionMinimum } = limitsOf(field);
    if (testOnly && name in given) return [[name, 'is allowed only where DUELINE_ENV is test']];
    const value = z.safeParse(field, given[name]).data;
    return productionMinimum !== undefined && typeof value === 'number' && value < productionMinimum
      ? [[name, `is below ${productionMinimum}, the minimum unless DUELINE_ENV is test`]]
      : [];
  });
}

function problemReport(schema: z.ZodObject, problems: ReadonlyMap<string, string>): string {
  const rows = new Map(describeConfig(schema).map((row) => [row.name, row]));
  const lines = [...problems].map(([name, text]) => {
    const row = rows.get(name);
    return row === undefined ? `  ${name}: ${text}` : `  ${name}: ${text}. Expected: ${row.type}. ${row.description}`;
  });
  return ['the configuration is not valid:', ...lines].join('\n');
}

/**
 * For the first lines of a main.ts: what `load(env)` returns; when that is a ConfigError, its text is printed without a
 * stack and the process ends with 1.
 */
export function configOrExit<Config>(load: (env: Env) => Config, env: Env): Config {
  try {
    return load(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
